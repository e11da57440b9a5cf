#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh SECONDS [PROGRAMS]: runs each fuzz target that long, from its committed seeds. PROGRAMS is the folder of the fuzz_*
# programs (build/fuzz/fuzz by default). What is found on the way is kept beside them; a finding stops the run and is
# left in PROGRAMS/findings. Make each finding a regression test before it is fixed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:?usage: run.sh SECONDS [PROGRAMS]}
programs=${2:-"$here/../../build/fuzz/fuzz"}
mkdir -p "$programs/findings"
for program in "$programs"/fuzz_*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=$(basename "$program" | sed 's/^fuzz_//')
  grown="$programs/corpus/$name"
  mkdir -p "$grown"
  dictionary=""
  [ -f "$here/$name.dict" ] && dictionary="-dict=$here/$name.dict"
  seeds=""
  [ -d "$here/corpus/$name" ] && seeds="$here/corpus/$name"
  echo "== $name: $seconds s"
  # shellcheck disable=SC2086
  "$program" -max_total_time="$seconds" -max_len="${FUZZ_LENGTH:-8192}" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$programs/findings/$name-" $dictionary "$grown" $seeds 2>&1 |
    { grep -E "^(stat::|==|SUMMARY|ERROR|does not hold|DONE|Done|INFO: seed)|ERROR:|Test unit written" || true; }
  if ls "$programs/findings/$name-"* >/dev/null 2>&1; then
    echo "finding in $name: $(ls "$programs/findings/$name-"*)"
    exit 1
  fi
done

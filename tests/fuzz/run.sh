#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh SECONDS [PROGRAMS]: runs each fuzz target that long, from its committed seeds, as many at a time as FUZZ_JOBS says
# (1 by default). PROGRAMS is the folder of the fuzz_* programs (build/fuzz/fuzz by default). What is found on the way is
# kept beside them; a finding fails the run and is left in PROGRAMS/findings. Make each finding a regression test before
# it is fixed. FUZZ_RUNS: executions of each target after which it ends earlier; FUZZ_LENGTH: bytes of the longest input.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:?usage: run.sh SECONDS [PROGRAMS]}
programs=${2:-"$here/../../build/fuzz/fuzz"}
mkdir -p "$programs/findings"

if [ -n "${FUZZ_ONE:-}" ]; then  # one target, as called below
  name=$FUZZ_ONE
  grown="$programs/corpus/$name"
  mkdir -p "$grown"
  dictionary=""
  [ -f "$here/$name.dict" ] && dictionary="-dict=$here/$name.dict"
  seeds=""
  [ -d "$here/corpus/$name" ] && seeds="$here/corpus/$name"
  log="$programs/$name.log"
  status=0
  # shellcheck disable=SC2086
  "$programs/fuzz_$name" -max_total_time="$seconds" -runs="${FUZZ_RUNS:--1}" -max_len="${FUZZ_LENGTH:-8192}" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$programs/findings/$name-" $dictionary "$grown" $seeds >"$log" 2>&1 || status=$?
  grep -E "^(stat::number|SUMMARY|ERROR|does not hold)|ERROR:|Test unit written" "$log" | sed "s/^/$name: /" || true
  exit "$status"
fi

ls "$programs"/fuzz_* >/dev/null  # fails where nothing was built
for program in "$programs"/fuzz_*; do
  [ -f "$program" ] && [ -x "$program" ] && basename "$program" | sed 's/^fuzz_//'
done | xargs -P "${FUZZ_JOBS:-1}" -I{} env FUZZ_ONE={} "$0" "$seconds" "$programs"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Asks the planner of caches of one version of vLLM about every configuration of cases.py, and writes what it says to
# ../data/vllm/VERSION.jsonl. No GPU needed.
#
#   run.sh VERSION [names of models.jsonl; then the rows are printed and nothing is written]
#
# Environment: PYTHON (3.12; default python3.12), CC. The virtual environment is build/validate-vllm/python; that of
# another version is removed first.
set -eu
version=${1:?expected a version of vLLM that requirements/ has}
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$root/build/validate-vllm
pins=$here/requirements/$version.txt
data=$here/../data/vllm
[ -f "$pins" ] || { echo "run.sh: no requirements/$version.txt; pin.sh $version DATE writes it" >&2; exit 2; }
for python in ${PYTHON:-python3.12 $HOME/.pyenv/versions/3.12*/bin/python}; do
    "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "run.sh: vLLM needs Python 3.12, which is not here; name one by PYTHON" >&2; exit 2; }

mkdir -p "$work"
if [ "$(cat "$work/installed" 2>/dev/null)" != "$version $(cksum < "$pins")" ]; then
    rm -rf "$work/python" "$work/installed"
    "$python" -m venv "$work/python"
    "$work/python/bin/pip" install --quiet uv
    "$work/python/bin/uv" pip install --quiet --no-cache --no-deps --python "$work/python/bin/python" \
        --requirement "$pins" "vllm==$version"
    echo "$version $(cksum < "$pins")" > "$work/installed"
fi
"${CC:-cc}" -shared -fPIC -Wall -Wextra -Wl,-soname,libcuda.so.1 -o "$work/libcuda.so.1" "$here/libcuda.c"

export LD_LIBRARY_PATH="$work" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
cd "$here"
if [ $# -gt 0 ]; then exec "$work/python/bin/python" ask.py "$data/models.jsonl" "$@"; fi
"$work/python/bin/python" -m unittest -q test_absent_card
"$work/python/bin/python" ask.py "$data/models.jsonl" > "$work/rows.jsonl" 2> "$work/log.txt"
mv "$work/rows.jsonl" "$data/$version.jsonl"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Asks releases of SGLang for their own resolution of server arguments and the newest for the bytes of a token in its
# pools, and writes ../data/sglang_arguments.jsonl and ../data/sglang_pools.jsonl. No GPU.
#
#   run.sh [VERSION ...]     those of versions.txt, all of them unless some are named: then their rows alone are printed
#
# Environment: LLMRES_SGLANG_VENV (the virtual environment, made when absent; 6 GB), PYTHON (3.12).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
venv=${LLMRES_SGLANG_VENV:-$root/build/sglang-venv}
rows=$here/../data/sglang_arguments.jsonl

python=
for candidate in ${PYTHON:-python3.12 "$HOME"/.pyenv/versions/3.12.*/bin/python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "PYTHON is ${PYTHON:-absent, and so is python3.12}; expected Python 3.12, which SGLang's wheels are built for" >&2
    exit 2
fi
if ! "$venv/bin/python" -c 'import torch, fastapi' 2>/dev/null; then
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
fi

export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
ask() { # VERSION PACKAGE...
    version=$1
    shift
    release=$venv/releases/$version
    if [ ! -d "$release/sglang" ]; then
        "$venv/bin/python" -m pip install --quiet --no-deps --target "$release" "sglang==$version" "$@"
    fi
    PYTHONPATH=$release "$venv/bin/python" "$here/arguments.py" "$version" 2>"$venv/releases/$version.log"
}
if [ $# -gt 0 ]; then
    for version; do
        # shellcheck disable=SC2046
        ask $(grep "^$version " "$here/versions.txt")
    done
    exit
fi
grep '^[0-9]' "$here/versions.txt" | while read -r line; do
    # shellcheck disable=SC2086
    ask $line
done >"$rows.new"
mv "$rows.new" "$rows"
newest=$(sed -n '$s/ .*//p' "$here/versions.txt")
PYTHONPATH=$venv/releases/$newest "$venv/bin/python" "$here/pools.py" "$newest" >"$here/../data/sglang_pools.jsonl.new" 2>"$venv/releases/pools.log"
mv "$here/../data/sglang_pools.jsonl.new" "$here/../data/sglang_pools.jsonl"

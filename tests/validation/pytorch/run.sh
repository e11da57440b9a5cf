#!/bin/sh
# SPDX-License-Identifier: MIT
# Regenerates ../data/pytorch_runs.csv and ../data/pytorch_saved.csv. No GPU needed; with `--device cuda` on one.
#
#   run.sh [arguments of python -m memory_reference]
#
# Environment: LLMRES_REFERENCE_VENV (the virtual environment, made when absent), PYTHON (3.10 or newer), CXX.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
venv=${LLMRES_REFERENCE_VENV:-$root/build/reference-venv}
output=$here/../data

if ! "$venv/bin/python" -c 'import torch, transformers, peft, trl, llamafactory' 2>/dev/null; then
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --no-deps llamafactory==0.9.5  # its losses are read, and nothing that it imports
fi

export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
export LLMRES_REFERENCE_CACHE="$venv"
cd "$here"
for tests in test_reference.py test_reinforcement.py test_distillation.py; do  # their tensors are fake; each makes its own GPU of that kind
    CUDA_VISIBLE_DEVICES='' "$venv/bin/python" -m pytest -q -p no:cacheprovider "$tests"
done
exec "$venv/bin/python" -m memory_reference --output "$output" "$@"

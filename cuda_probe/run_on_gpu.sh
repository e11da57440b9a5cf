#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the probe unless build/cuda-probe has it (LLMRES_PROBE names another one), and does on this machine's GPU all that
# there is to do, in under eight minutes, results as files in DIR:
#
#   cuda_probe/run_on_gpu.sh DIR [--device N] [--only STEP,...] [--quick]
#
# Steps and exit codes: cuda_probe/on_gpu.py.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in
    '' | -*) echo "usage: run_on_gpu.sh DIR [--device N] [--only STEP,...] [--quick]" >&2 && exit 2 ;;
esac
probe=${LLMRES_PROBE:-$here/build/cuda-probe/llmres-probe}
if [ ! -x "$probe" ]; then
    cmake -S "$here" -B "$here/build/cuda-probe" -DCMAKE_BUILD_TYPE=Release -DLLMRES_BUILD_TESTS=OFF \
        -DLLMRES_BUILD_EXAMPLES=OFF -DLLMRES_BUILD_BENCH=OFF -DLLMRES_BUILD_CUDA_PROBE=ON &&
        cmake --build "$here/build/cuda-probe" --target llmres-probe || exit 1
fi
exec "${LLMRES_PYTHON:-python3}" "$here/cuda_probe/on_gpu.py" "$probe" "$@"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the probe and does on this machine's GPU everything there is to do, results in DIR:
#   cuda_probe/run_on_gpu.sh DIR [arguments of `llmres-probe campaign`]
# With compute-sanitizer on PATH, two small allocation tests run under it as well.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: run_on_gpu.sh DIR [campaign arguments]}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
build=${LLMRES_PROBE_BUILD:-$here/build/cuda-probe}
if [ ! -x "$build/llmres-probe" ]; then
    cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release -DLLMRES_BUILD_TESTS=OFF -DLLMRES_BUILD_EXAMPLES=OFF \
        -DLLMRES_BUILD_BENCH=OFF -DLLMRES_BUILD_CUDA_PROBE=ON
    cmake --build "$build" --target llmres-probe
fi
code=0
"$build/llmres-probe" campaign --out "$out" "$@" || code=$?
if [ "$code" -ne 4 ] && command -v compute-sanitizer >/dev/null; then
    for allocator in cuda_malloc virtual_memory; do
        compute-sanitizer --leak-check full --error-exitcode 99 "$build/llmres-probe" alloc \
            "$here/tests/data/plans/serving-small.json" --allocator "$allocator" --repeats 1 --no-libraries \
            >"$out/sanitizer-$allocator.txt" 2>&1 || echo "compute-sanitizer: exit $? (see $out/sanitizer-$allocator.txt)" >&2
    done
fi
exit "$code"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Holds the files of two versions of vLLM that plan caches, batches and graphs beside each other: lines that differ, by
# file, and with `-d` the differences themselves. It unpacks the wheels; no torch, and nothing of them runs.
#
#   compare_wheels.sh [-d] VERSION VERSION
set -eu
shown=
[ "${1:-}" = -d ] && { shown=yes; shift; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$here/../../.." && pwd)/build/validate-vllm
mkdir -p "$work/wheels"
[ -d "$work/tools" ] || "${PYTHON:-python3}" -m venv "$work/tools"

unpack() {
    [ -d "$work/sources/$1" ] && return
    ls "$work/wheels/vllm-$1"-*.whl > /dev/null 2>&1 || {
        "$work/tools/bin/pip" download --quiet --no-deps --only-binary=:all: --python-version 3.12 \
            --platform manylinux_2_28_x86_64 --platform manylinux_2_31_x86_64 --platform manylinux_2_35_x86_64 \
            --platform manylinux_2_24_x86_64 --platform manylinux1_x86_64 --dest "$work/wheels" "vllm==$1"
        fetched=yes
    }
    mkdir -p "$work/sources/$1"
    unzip -q "$work/wheels/vllm-$1"-*.whl 'vllm/v1/core/*.py' 'vllm/v1/kv_cache_interface.py' 'vllm/config/*.py' \
        'vllm/platforms/interface.py' 'vllm/platforms/cuda.py' 'vllm/engine/arg_utils.py' \
        'vllm/model_executor/models/config.py' 'vllm/model_executor/layers/mamba/*' 'vllm/v1/worker/gpu_worker.py' \
        'vllm/v1/worker/gpu_model_runner.py' -d "$work/sources/$1"
    [ -z "${fetched:-}" ] || rm "$work/wheels/vllm-$1"-*.whl
}

unpack "$1"
unpack "$2"
cd "$work/sources"
files='v1/core/kv_cache_utils.py v1/core/kv_cache_planning.py v1/kv_cache_interface.py v1/core/single_type_kv_cache_manager.py
       platforms/interface.py config/cache.py config/scheduler.py config/vllm.py config/compilation.py engine/arg_utils.py
       model_executor/models/config.py model_executor/layers/mamba/mamba_utils.py model_executor/layers/mamba/abstract.py
       v1/worker/gpu_worker.py'
for file in $files; do
    changed=$(diff -N "$1/vllm/$file" "$2/vllm/$file" | grep -c '^[<>]' || true)
    [ "$changed" = 0 ] || printf '%6d %s\n' "$changed" "$file"
    [ -z "$shown" ] || diff -Nu "$1/vllm/$file" "$2/vllm/$file" || true
done

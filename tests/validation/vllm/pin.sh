#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes requirements/VERSION.txt: what the wheel of a version of vLLM asks for, as it was on a day, without the packages
# of kernels that only a GPU runs.
#
#   pin.sh VERSION DATE      (the day after the wheel's release: 2026-07-26)
set -eu
version=${1:?expected a version of vLLM}
day=${2:?expected a date, such as 2026-07-26}
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$here/../../.." && pwd)/build/validate-vllm
mkdir -p "$work/wheels"
[ -d "$work/tools" ] || "${PYTHON:-python3}" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet uv
ls "$work/wheels/vllm-$version"-*.whl > /dev/null 2>&1 ||
    "$work/tools/bin/pip" download --quiet --no-deps --only-binary=:all: --python-version 3.12 \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_31_x86_64 --platform manylinux_2_35_x86_64 \
        --platform manylinux_2_24_x86_64 --platform manylinux1_x86_64 --dest "$work/wheels" "vllm==$version"
kernels='flashinfer|tilelang|nvidia-cutlass|quack-kernels|tokenspeed|PyNvVideoCodec|nvtx|fastsafetensors'
kernels="$kernels|instanttensor|torchaudio|apache-tvm-ffi|nvidia-cudnn-frontend|torchcodec"
unzip -p "$work/wheels/vllm-$version"-*.whl "vllm-$version.dist-info/METADATA" | tr -d '\r' |
    sed -n 's/^Requires-Dist: //p' | grep -v 'extra ==' | grep -Ev "^($kernels)" > "$work/asked.txt"
"$work/tools/bin/uv" pip compile --quiet --no-header --no-annotate --python-version 3.12 --exclude-newer "$day" \
    --output-file "$here/requirements/$version.txt" "$work/asked.txt"

#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts four builds of llama.cpp on tiny models, and writes what they print and the job documents beside it to
# tests/validation/data. Its argument is a folder for the logs.
set -e
logs=${1:?expected a folder for the logs}
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
cd "$(dirname "$0")"
work=$(cd ../../.. && pwd)/build/validate-llama-cpp
mkdir -p "$work/models"
[ -d "$work/python" ] || python3 -m venv "$work/python"
"$work/python/bin/pip" install -q -r requirements.txt
"$work/python/bin/python" -c 'from settings import BUILDS; [print(*pair) for pair in BUILDS.items()]' |
    while read -r build version; do
        [ -d "$work/$build/xllamacpp" ] ||
            "$work/python/bin/pip" install -q --no-deps --target "$work/$build" "xllamacpp==$version"
    done
"$work/python/bin/python" tiny_models.py "$work/models"
"$work/python/bin/python" run_builds.py "$work/models" "$work" "$work/rows.csv" "$logs"
mv "$work/rows.csv" ../data/llama_cpp.csv
"$work/python/bin/python" make_documents.py ../data/llama_cpp.csv > ../data/llama_cpp.jsonl

#!/bin/sh
# SPDX-License-Identifier: MIT
# Does on this machine's GPU everything there is to do, and leaves the results as files in DIR:
#
#   cuda_probe/run_on_gpu.sh DIR [STEP...]
#
#   measure    describes the devices and measures the first: bandwidths, matrix products, latencies, context, workspace
#   alloc      allocates serving plans at 50, 90 and 99 % of what is free, training plans, and one predicted not to fit
#   search     bisects the largest batch and context
#   calibrate  writes calibrated-device.json, which `llmres plan --device` reads
#   sanitize   allocates and measures under compute-sanitizer, where that is installed
#   interrupt  interrupts an allocation, and looks whether memory stayed held
#   torch      runs inference and training in PyTorch, where that is installed, and compares with their plans
#
# Without STEPs: all of them, in that order, in under 25 minutes; no step takes more than 7, so that they can also be run a
# few at a time. A step that fails ends no other. DIR/steps.txt says how each ended, DIR/campaign.json more of the first four.
#
# The probe is built first unless build/cuda-probe has it; LLMRES_PROBE names another one. Exit codes are the probe's:
# 0 done, 1 a step failed, 2 usage, 4 no device, 5 something was skipped, 6 inconclusive.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
usage="usage: run_on_gpu.sh DIR [measure|alloc|search|calibrate|sanitize|interrupt|torch]..."
out=${1:?$usage}
shift
[ $# -gt 0 ] || set -- measure alloc search calibrate sanitize interrupt torch
for step in "$@"; do
    case $step in
        measure | alloc | search | calibrate | sanitize | interrupt | torch) ;;
        *) echo "run_on_gpu.sh: no step is called '$step'; $usage" >&2 && exit 2 ;;
    esac
done
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2

probe=${LLMRES_PROBE:-$here/build/cuda-probe/llmres-probe}
if [ ! -x "$probe" ]; then
    cmake -S "$here" -B "$here/build/cuda-probe" -DCMAKE_BUILD_TYPE=Release -DLLMRES_BUILD_TESTS=OFF \
        -DLLMRES_BUILD_EXAMPLES=OFF -DLLMRES_BUILD_BENCH=OFF -DLLMRES_BUILD_CUDA_PROBE=ON &&
        cmake --build "$here/build/cuda-probe" --target llmres-probe || exit 1
fi

worst=0
weight() { # of an exit code: a fault, then doubt, then silence
    case $1 in 0 | 3) echo 0 ;; 5) echo 1 ;; 6) echo 2 ;; *) echo 3 ;; esac
}
ended() { # STEP CODE SECONDS [WHY]
    echo "$1: exit $2 in $3 s${4:+: $4}" | tee -a "$out/steps.txt" >&2
    if [ "$(weight "$2")" -gt "$(weight "$worst")" ]; then
        worst=$2
        [ "$(weight "$2")" -lt 3 ] || worst=1
    fi
}
timed() { # STEP LIMIT COMMAND...: TERM at the limit, which the probe heeds, and KILL half a minute later
    name=$1 limit=$2
    shift 2
    begin=$(date +%s)
    timeout -k 30 "$limit" "$@"
    code=$?
    case $code in
        124 | 137) ended "$name" 1 "$limit" "did not end within $limit s" ;;
        *) ended "$name" "$code" $(($(date +%s) - begin)) ;;
    esac
    return $code
}
campaign() { # STEP LIMIT BEGINNINGS
    timed "$1" "$2" "$probe" campaign --out "$out" --only "$3"
}
free_bytes() { # as CUDA sees it on the first device
    "$probe" describe 2>/dev/null | sed -n 's/.*"cuda_free_bytes": \([0-9][0-9]*\).*/\1/p' | head -n 1
}

sanitize() {
    tool=$(command -v compute-sanitizer)
    for installed in /usr/local/cuda*/bin/compute-sanitizer; do
        [ -n "$tool" ] || ! [ -x "$installed" ] || tool=$installed
    done
    [ -n "$tool" ] || {
        ended sanitize 5 0 "compute-sanitizer is not installed"
        return
    }
    for allocator in cuda_malloc stream_ordered virtual_memory; do
        timed "sanitize-$allocator" 60 "$tool" --leak-check full --error-exitcode 99 --log-file \
            "$out/sanitize-$allocator.txt" "$probe" alloc "$here/tests/data/plans/serving-small.json" --allocator "$allocator" \
            --repeats 1 --no-libraries --json="$out/sanitize-$allocator.json"
    done
    timed sanitize-measure 120 "$tool" --error-exitcode 99 --log-file "$out/sanitize-measure.txt" "$probe" measure --quick \
        --repeats 1 --json="$out/sanitize-measure.json"
}

interrupt() { # an allocation that would go on for long, ended by Ctrl-C
    plan=$out/plans/serving-90.json
    [ -f "$plan" ] || plan=$here/tests/data/plans/serving-small.json
    before=$(free_bytes)
    "$probe" alloc "$plan" --repeats 1000 --json="$out/interrupt.json" 2>"$out/interrupt.stderr" &
    child=$!
    sleep "${LLMRES_INTERRUPT_AFTER:-8}"
    # A shell starts background jobs with INT ignored; the probe asks for the signal all the same.
    kill -INT "$child"
    wait "$child"
    code=$?
    after=$(free_bytes)
    kept=$((${before:-0} - ${after:-0}))
    echo "exit $code, free before $before, free after $after, kept $kept bytes" >"$out/interrupt.txt"
    if [ "$code" -ne 5 ] || ! grep -q '"interrupted"' "$out/interrupt.json"; then
        ended interrupt 1 8 "exit $code, or another reason than the interrupt"
    elif [ -z "$before" ] || [ -z "$after" ]; then
        ended interrupt 5 8 "free memory could not be read"
    elif [ "$kept" -gt 16777216 ]; then
        ended interrupt 1 8 "$kept bytes stayed held"
    else
        ended interrupt 0 8
    fi
}

compare_torch() {
    campaign torch-plans 60 torch
    python=${LLMRES_PYTHON:-python3}
    command -v "$python" >/dev/null || {
        ended torch 5 0 "there is no python3"
        return
    }
    # PyTorch brings its own CUDA libraries; the probe's path to them is of no use to it.
    timed torch 420 "$python" "$here/cuda_probe/compare_torch.py" "$out"
}

"$probe" describe >"$out/devices.json" 2>"$out/describe.stderr"
code=$?
if [ "$code" -ne 0 ]; then
    cat "$out/describe.stderr" >&2
    ended describe "$code" 0
    [ "$code" -eq 4 ] && exit 4
    exit 1
fi
for step in "$@"; do
    case $step in
        measure) campaign measure 180 measure ;;
        alloc) campaign alloc 300 alloc-serving,alloc-training,alloc-too-large ;;
        search) campaign search 180 alloc-search ;;
        calibrate) campaign calibrate 150 calibrate ;;
        sanitize) sanitize ;;
        interrupt) interrupt ;;
        torch) compare_torch ;;
    esac
done
echo "results are in $out" >&2
exit "$worst"

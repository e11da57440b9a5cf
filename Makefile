# SPDX-License-Identifier: MIT
# Short names for the CMake presets; `cmake --list-presets` shows them all. Each installs what it needs first (.ci/setup).
.PHONY: demo web test test-bounds test-web test-integration test-single-header test-platforms coverage mutations mutations-switched mutations-mended recorded tables bench instructions constant-expressions probe probe-calls fuzz fuzz-long validate-pytorch score score-training score-serving score-reports scored-rows validate-llama-cpp validate-sglang validate-vllm validate-launch measure-configs check-schema docs format tidy clean

# PROGRAM: one that is built already.
demo:  ## one question, answered and drawn: the program is all that is built, optimised
ifndef PROGRAM
	@.ci/setup base
	@cmake --preset demo >/dev/null
	@cmake --build --preset demo --target llmres_program
endif
	$(or $(PROGRAM),build/demo/llmres) plan llama-3.1-8b --gpu rtx-4090 --context 8192 --batch 8 --runtime vllm --svg build/demo.svg || [ $$? -eq 1 ]
	@echo 'drawn in build/demo.svg'

web:  ## the planner as one page that needs no server: build/web/index.html
	@.ci/setup base web
	examples/web/build build/web

test:
	@.ci/setup base
	cmake --workflow --preset gcc

test-bounds:  ## 10,000 random jobs against what their GPUs hold at least, by first principles (minutes); ARGS: --count N --seed N
	@.ci/setup base
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target llmres_program -- --quiet
	tests/bounds/run build/gcc/llmres --count 10000 $(ARGS)

test-web: web  ## the page in a headless Chromium
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target llmres_program -- --quiet
	/usr/bin/python3 examples/web/test/test_page.py build/web build/gcc/llmres

test-integration:  ## packages from PyPI, older CMakes, a real scheduler, the walks of docs/getting-started.md; PARTS: some of packages, conan, python, walks, torch, slurm, kubernetes
	@.ci/setup base integration
	tests/integration/run $(PARTS)

test-single-header:  ## the unit suite against the header that packaging/single_header makes (minutes); FOLDERS: values, jobs, io, ...
	@.ci/setup base clang
	tests/package/unit_suite build/single-header $(FOLDERS)

test-platforms:  ## the same plans from other compilers, machines, modes of the language, and under sanitizers; PARTS: machines, language, sanitizers
	@.ci/setup base platforms
	tests/platforms/run $(PARTS)

coverage:  ## which part of include/ the unit tests run, by folder and file (minutes); FOLDERS: values, jobs, io, ...
	@.ci/setup base coverage
	tests/coverage $(FOLDERS)

mutations:  ## changes one place at a time and asks whether a test notices (hours); ARGS: --seed N --count N HEADER...
	@.ci/setup base clang
	tests/mutations/run $(ARGS)

mutations-switched:  ## compiles all changes into one program that switches them on, and asks tests; ARGS: HEADER... -- TEST... [-- OTHER...]
	@.ci/setup base clang
	tests/mutations/switched $(ARGS)

mutations-mended:  ## brings back each defect that was mended, and asks whether the test that is there for it fails; ARGS: words of some
	@.ci/setup base clang
	tests/mutations/mended $(ARGS)

recorded:  ## writes the answers of tests/recorded/*.jsonl anew: `git diff` shows which figures changed
	@.ci/setup base
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target record_plans record_readings -- --quiet
	build/gcc/tests/record_plans < tests/recorded/plans.jsonl > build/plans.jsonl
	mv build/plans.jsonl tests/recorded/plans.jsonl
	build/gcc/tests/record_readings < tests/recorded/readings.jsonl > build/readings.jsonl
	mv build/readings.jsonl tests/recorded/readings.jsonl

tables:  ## the headers of GPUs and links, from packaging/tables/*.csv
	@.ci/setup base
	packaging/tables/make_headers

bench:
	@.ci/setup base bench
	@cmake --preset release >/dev/null
	cmake --build --preset release --target run_benchmarks

instructions:  ## of one plan of each job of bench/plan.cpp, counted by callgrind (minutes)
	@.ci/setup base bench
	@cmake --preset release >/dev/null
	cmake --build --preset release --target bench_plan
	bench/instructions build/release/bench/bench_plan
	bench/twin/compare

constant-expressions:  ## steps and milliseconds of a plan of each job of bench/jobs.hpp in a static_assert (minutes)
	@.ci/setup base clang
	bench/constant_expressions

probe:
	@.ci/setup base probe
	cmake --workflow --preset cuda-probe

probe-calls: probe  ## lets every call into CUDA fail in turn (minutes)
	tests/probe/fail_calls.py build/cuda-probe/cuda_probe/llmres_probe_fake_cuda build/cuda-probe/cuda_probe/fake_libraries --all

fuzz:
	@.ci/setup base clang
	@cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz --target run_fuzz

fuzz-long:  ## 10^8 executions, as many of each reader, of short inputs, or FUZZ_SECONDS (2 hours) where that ends first
	@.ci/setup base clang
	@cmake --preset fuzz-long >/dev/null
	@cmake --build --preset fuzz-long -- --quiet
	FUZZ_RUNS=15000000 FUZZ_LENGTH=256 tests/fuzz/run.sh $(or $(FUZZ_SECONDS),7200) build/fuzz-long/fuzz

validate-pytorch:  ## regenerates the tracked PyTorch runs (under an hour); ARGS: of python -m memory_reference
	tests/validation/pytorch/run.sh $(ARGS)

validate-llama-cpp:  ## starts four builds of llama.cpp on tiny models; plans, checks and calibrates by what they print; ARGS: a folder for logs
	@.ci/setup base
	tests/validation/llama_cpp/run.sh $(or $(ARGS),build/validate-llama-cpp/logs)
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target tests_of_validation llmres_program -- --quiet
	@build/gcc/tests/tests_of_validation --source-file='*/tests/validation/llama_cpp.cpp'
	@tests/validation/llama_cpp/check_logs.py $(or $(ARGS),build/validate-llama-cpp/logs) tests/validation/data/llama_cpp.jsonl build/gcc/llmres

validate-vllm:  ## asks the planner of caches of a published vLLM (VERSION) on a card that is not there: under 15 minutes, 6 to 9 GB
	tests/validation/vllm/run.sh $(or $(VERSION),$(error VERSION: one of tests/validation/vllm/requirements))
	@.ci/setup base
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target tests_of_validation table_vllm -- --quiet
	@build/gcc/tests/table_vllm $(VERSION)
	@build/gcc/tests/tests_of_validation --source-file='*/tests/validation/vllm.cpp'

validate-launch:  ## holds the rows of io/json/launch/*.inc against the options that vLLM, SGLang and llama.cpp declare (PyPI, 80 MB)
	@tests/validation/launch/flags.py check build/validate-launch

validate-sglang:  ## asks 14 releases of SGLang for their static fraction, chunks and graphs on 13 cards, and holds the profiles against them (Python 3.12)
	@.ci/setup base
	tests/validation/sglang/run.sh
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target tests_of_validation -- --quiet
	@build/gcc/tests/tests_of_validation --source-file='*/tests/validation/sglang.cpp'

measure-configs:  ## reads every config.json of FOLDERS with the optimised program: in under 0.2 s and 50 MB each
	@.ci/setup base
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target llmres_program -- --quiet
	@tests/program/measure_configs build/release/llmres $(or $(FOLDERS),../shared/data/models/configs ../shared/data/models/configs_derived)

score-reports:  ## figures of public threads of 2026 beside what the program says of their commands; CONFIGS: a folder of config.json files that some name
	@.ci/setup base
	@cmake --preset gcc >/dev/null
	@cmake --build --preset gcc --target llmres_program -- --quiet
	tests/validation/reports build/gcc/llmres $(CONFIGS)

# Only where there are rows to score.
scored-rows:
	@for table in $(or $(ROWS),''); do [ -f "$$table" ] || { echo "ROWS is $$table; expected a table of measurements: make score ROWS=FILE.csv" >&2; exit 2; }; done
	@.ci/setup base
	@cmake --preset gcc >/dev/null

score: scored-rows  ## errors and widths on published measurements of memory, training or serving: ROWS=FILE.csv, a table with the columns of those that the project has
	@if head -qn 1 $(ROWS) | grep -qw engine; then $(MAKE) --no-print-directory score-serving; else $(MAKE) --no-print-directory score-training; fi

score-training: scored-rows
	@cmake --build --preset gcc --target llmres_program table_training_memory -- --quiet
	@tests/validation/training/make_documents.py --program build/gcc/llmres $(ROWS) > build/scored.jsonl
	@build/gcc/tests/table_training_memory $(SHOW) build/scored.jsonl

score-serving: scored-rows
	@cmake --build --preset gcc --target table_serving_memory -- --quiet
	@tests/validation/serving_jobs $(ROWS) > build/scored.jsonl
	@build/gcc/tests/table_serving_memory build/scored.jsonl

check-schema:  ## answers to so many random jobs, JOBS=100000, are valid by docs/schema (docs/program.md has the last output)
	@.ci/setup base
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target schema_answers -- --quiet
	build/release/tests/schema_answers $(or $(JOBS),100000) | /usr/bin/python3 tests/schema/validate

docs:  ## the reference of all public names, in build/docs/html; a name without a doc comment is an error
	@.ci/setup docs
	@mkdir -p build/docs
	awk -f docs/folders docs/architecture.md > build/docs/folders.dox
	doxygen docs/Doxyfile

format:
	@.ci/setup format
	git ls-files '*.hpp' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-19 -i

tidy:  ## what the compilers' warnings do not see
	@.ci/setup format
	.ci/check-cppcheck
	.ci/check-tidy

clean:
	rm -rf build

# SPDX-License-Identifier: MIT
# Short names for the CMake presets; `cmake --list-presets` shows them all. `.ci/setup` installs what they need.
.PHONY: demo test bench probe fuzz format clean

demo:  ## one question, answered: the program is all that is built
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target llmres_program -- --quiet
	build/release/llmres plan llama-3.1-8b --task serving --gpu rtx-4090 --gpus 1 --context 8192 --batch 8

test:
	cmake --workflow --preset gcc

bench:
	cmake --preset release >/dev/null
	cmake --build --preset release --target run_benchmarks

probe:
	cmake --workflow --preset cuda-probe

fuzz:
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz --target run_fuzz

format:
	git ls-files '*.hpp' '*.cpp' '*.cu' | xargs clang-format -i

clean:
	rm -rf build

# SPDX-License-Identifier: MIT
"""Asks one test file about changed headers: `run` whether it notices a change, `mended` whether it notices a defect."""

import os
import subprocess

from changes import root, tests

COMPILER = ["clang++-19", "-std=c++20", "-O0", "-w"]
TEST_SECONDS = 300  # a change may make a loop endless


def compiled_main(folder):
    """The object with doctest's main(), which each program is linked with."""
    made = folder / "main.o"
    subprocess.run(COMPILER + ["-c", str(tests / "main.cpp"), "-o", str(made)], check=True)
    return made


def answer_of(test, main_object, headers, folder, case="*"):
    """How the test file ends with the headers of a folder before the project's own: `passes`, `test` where it fails,
    `static_assert`, `compiler` for what is no C++, or `no such case`. What it makes lies in `folder`."""
    program = folder / "test"
    beside = root.parent / "shared" / "data"
    data = os.environ.get("LLMRES_SHARED_DATA", beside if beside.exists() else "")
    made = subprocess.run(
        COMPILER + [f"-I{headers}", f"-I{root / 'include'}", f"-I{tests}", f'-DLLMRES_SOURCE_DIR="{root}"',
                    f'-DLLMRES_SHARED_DATA="{data}"', '-DLLMRES_PROGRAM=""', "-DFMT_HEADER_ONLY", str(test), str(main_object),
                    "-o", str(program)],
        capture_output=True, text=True, check=False)
    if made.returncode != 0:
        asserted = "static assertion failed" in made.stderr or "constant expression" in made.stderr
        return "static_assert" if asserted else "compiler"
    try:
        ran = subprocess.run([str(program), f"--test-case={case}"], capture_output=True, text=True, cwd=root,
                             timeout=TEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "test"
    if "test cases: 0 |" in " ".join(ran.stdout.split()):
        return "no such case"
    return "passes" if ran.returncode == 0 else "test"

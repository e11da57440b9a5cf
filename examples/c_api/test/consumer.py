#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks llmres from Python with nothing but ctypes, and holds answers against the program's:
consumer.py LIBRARY PROGRAM JOBS.jsonl..."""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor


class Llmres:
    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.llmres_ask.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        self.library.llmres_free.argtypes = [ctypes.c_void_p]
        self.library.llmres_version.restype = ctypes.c_char_p

    def ask(self, command: str, document: str) -> tuple[int, dict]:
        answer = ctypes.c_void_p()
        status = self.library.llmres_ask(command.encode(), document.encode(), ctypes.byref(answer))
        try:
            return status, json.loads(ctypes.string_at(answer.value))
        finally:
            self.library.llmres_free(answer)


def documents(files: list[str], count: int) -> list[dict]:
    """Job documents, evenly spread over the lines of files that hold one in each line."""
    found = []
    for file in files:
        with open(file, encoding="utf-8") as lines:
            rows = lines.readlines()
        share = count // len(files)
        found += [json.loads(rows[i * len(rows) // share])["document"] for i in range(share)]
    return found


def program_says(program: str, document: dict) -> dict:
    """What `llmres plan --json` prints; its message in place of a refusal."""
    # In a folder of its own: a file beside a document that is called as its model is the model.
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder, "job.json")
        job.write_text(json.dumps(document), encoding="utf-8")
        done = subprocess.run([program, "plan", str(job), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode < 2 else {"refused": done.stderr}


def check(asked: dict, answer: dict, said: dict) -> None:
    """Fails unless an answer is the program's, and a refusal is the program's."""
    same = answer["error"]["text"] in said.get("refused", "") if "error" in answer else answer == said
    assert same, f"{json.dumps(asked)}\n{json.dumps(answer)[:2000]}\n{json.dumps(said)[:2000]}"


def main() -> None:
    library, program, *files = sys.argv[1:]
    llmres = Llmres(library)
    assert llmres.library.llmres_c_api() == 1
    print("llmres", llmres.library.llmres_version().decode())
    status, refused = llmres.ask("plan", '{"model": "llama-3.1-8b", "cluster": {"gpu": "h100x"}}')
    assert status == 2 and "gpu" in refused["error"]["field"], refused
    print(refused["error"]["text"])

    asked = documents(files, 40)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda d: llmres.ask("plan", json.dumps(d))[1], asked))
    for document, answer in zip(asked, answers):
        check(document, answer, program_says(program, document))
    print(f"Python: {len(asked)} answers are the program's")


if __name__ == "__main__":
    main()

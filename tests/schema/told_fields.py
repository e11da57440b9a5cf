#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what answers tell of a job, a layout and a cluster into docs/schema/common.json: told_fields.py PROGRAM

`llmres schema answers` prints it, from the table of fields (io/job_fields.hpp). A key that common.json requires though no row
does, and one that no row has, is written by hand: its value is not the field's own."""
import json
import pathlib
import subprocess
import sys

COMMON = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/schema/common.json"


def with_told_fields(common, told):
    """The definitions of common.json with what the program prints."""
    common = json.loads(json.dumps(common))
    for path, of in told.items():
        name, _, inner = path.partition(".")
        schema = common["$defs"][name]
        schema = schema["properties"][inner] if inner else schema
        for key, field in of["properties"].items():
            own = schema["properties"].get(key, {})
            if key in of["required"] and key not in schema["required"]:
                schema["required"].append(key)
            elif key not in of["required"] and key in schema["required"]:
                continue
            if "$ref" not in own:
                schema["properties"][key] = field | {k: v for k, v in own.items() if k == "description"}
    return common


def fresh(program):
    """The text of common.json as it should be."""
    printed = subprocess.run([program, "schema", "answers"], capture_output=True, text=True, check=True).stdout
    return json.dumps(with_told_fields(json.loads(COMMON.read_text()), json.loads(printed)), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    COMMON.write_text(fresh(sys.argv[1]))

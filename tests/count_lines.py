#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the lines of include/ without its tables, its headers and the rows of data, as the house is measured by.

Tables are: GPUs and links (made from packaging/tables), names of repositories, and the models of each family.
"""
import pathlib

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include" / "llmres"
FAMILIES = "deepseek diffusion encoders gemma glm gpt llama mistral nvidia others phi qwen".split()
TABLES = [*include.glob("hardware/gpus/*.hpp"), *include.glob("hardware/interconnects/*.hpp"),
          include / "models/hub_names.hpp", *(include / f"models/{family}.hpp" for family in FAMILIES)]


def lines(path):
    return len(path.read_text().splitlines())


def main():
    missing = [path for path in TABLES if not path.exists()]
    if missing:
        raise SystemExit(f"no such table: {missing[0]}")
    headers = sorted(include.rglob("*.hpp"))
    code = [path for path in sorted(include.rglob("*")) if path.is_file() and path not in TABLES]
    data = {table.name: lines(table) - 1 for table in sorted((root / "packaging/tables").glob("*.csv"))}
    data["hub_names.hpp"] = (include / "models/hub_names.hpp").read_text().count("\n    hub_name{")
    print(f"{sum(map(lines, code))} lines without tables, {sum(map(lines, TABLES))} of tables, {len(headers)} headers")
    print(f"{sum(data.values())} rows of data: " + ", ".join(f"{count} of {name}" for name, count in data.items()))
    for folder in sorted(path for path in include.iterdir() if path.is_dir()):
        own = [path for path in code if folder in path.parents]
        print(f"{folder.name:12} {sum(map(lines, own)):6} lines in {len(own)} files")


if __name__ == "__main__":
    main()

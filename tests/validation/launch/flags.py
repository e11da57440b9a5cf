#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The options of vLLM, SGLang and llama.cpp, as their own sources declare them, against the rows of
include/llmres/io/json/launch/*.inc.

usage: flags.py check [FOLDER]     fails where a declared option has no row or takes its value in another way
       flags.py list ENGINE [FOLDER]   the declared options, a row each

Sources come from PyPI in the versions below and are read as text: nothing of them is installed, imported or run.
FOLDER keeps them between calls. llama.cpp's lie in the source archive of llama-cpp-python."""
import ast
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile

VLLM, SGLANG, LLAMA_CPP_PYTHON = "0.33.0", "0.5.23", "0.3.36"
ROWS = pathlib.Path(__file__).resolve().parents[3] / "include/llmres/io/json/launch"


class Remote(io.RawIOBase):
    """A file of the index that is read in the ranges that are asked for."""

    def __init__(self, url):
        self.url, self.at = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=0):
        self.at = (0, self.at, self.size)[whence] + offset
        return self.at

    def readinto(self, buffer):
        wanted = min(len(buffer), self.size - self.at)
        if wanted <= 0:
            return 0
        span = {"Range": f"bytes={self.at}-{self.at + wanted - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=span)) as answer:
            buffer[:wanted] = answer.read()
        self.at += wanted
        return wanted


def index():
    """The package index that pip asks, as its help names it."""
    said = subprocess.run([sys.executable, "-m", "pip", "download", "--help"], capture_output=True, text=True, check=True)
    return re.search(r"\(default\s+(https?://[^\s)]+)\)", re.sub(r"\s+", " ", said.stdout))[1].rstrip("/")


def link(project, ending):
    accept = {"Accept": "application/vnd.pypi.simple.v1+json"}
    request = urllib.request.Request(f"{index()}/{project}/", headers=accept)
    with urllib.request.urlopen(request) as answer:
        files = json.load(answer)["files"]
    return next(f["url"] for f in files if f["filename"].endswith(ending))


def sources(folder):
    """Unpacks the files that declare options, where they are not there yet."""
    wheels = [("vllm", f"vllm-{VLLM}-cp38-abi3-manylinux_2_28_x86_64.whl",
               r"vllm/(engine/arg_utils|config/\w+|entrypoints/common/cli_args)\.py"),
              ("sglang", f"sglang-{SGLANG}-cp312-cp312-manylinux_2_34_x86_64.whl",
               r"sglang/srt/(server_args|arg_groups/fields/\w+)\.py")]
    for project, name, wanted in wheels:
        if (folder / project).exists():
            continue
        with zipfile.ZipFile(io.BufferedReader(Remote(link(project, name)), 1 << 20)) as wheel:
            for file in wheel.namelist():
                if re.fullmatch(wanted, file):
                    wheel.extract(file, folder)
    if not (folder / "arg.cpp").exists():
        with urllib.request.urlopen(link("llama-cpp-python", f"{LLAMA_CPP_PYTHON}.tar.gz")) as answer:
            with tarfile.open(fileobj=answer, mode="r|gz") as archive:
                for member in archive:
                    if member.name.endswith("vendor/llama.cpp/common/arg.cpp"):
                        (folder / "arg.cpp").write_bytes(archive.extractfile(member).read())
                        break


def words(node):
    """The words of a type annotation."""
    return set(re.findall(r"\w+", ast.unparse(node)))


def of_type(node):
    """How argparse takes the value of a field of vLLM (arg_utils.py, _compute_kwargs())."""
    names, text = words(node), ast.unparse(node)
    if {"bool", "str"} <= names and "Literal" not in names and "dict" not in names:
        return "maybe"
    if "bool" in names:
        return "flag"
    outer = re.sub(r"\[.*\]", "", text)
    if re.search(r"\b(list|tuple|set)\b", outer) and "dict" not in names:
        return "many"
    return "value"


def classes(folder, pattern):
    for file in sorted(folder.glob(pattern)):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                yield node


def fields(node):
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, item


def called(tree, name):
    return [n for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == name]


def how(call):
    """How an explicit add_argument() takes its value."""
    said = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}
    action = said.get("action", "")
    if "store_true" in action or "store_false" in action or "StoreTrue" in action:
        return "bare"
    if "BooleanOptionalAction" in action:
        return "flag"
    nargs = said.get("nargs", "").strip("'")
    return {"?": "maybe", "+": "many", "*": "many"}.get(nargs, "value")


def vllm(folder):
    kinds = {}
    for node in classes(folder / "vllm/config", "*.py"):
        for name, item in fields(node):
            kinds[(node.name, name)] = of_type(item.annotation)
    tree = ast.parse((folder / "vllm/engine/arg_utils.py").read_text())
    bases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and \
                getattr(node.value.func, "id", "") == "get_kwargs":
            bases[node.targets[0].id] = node.value.args[0].id
    inherited = {n.name: [getattr(b, "id", "") for b in n.bases] for n in classes(folder / "vllm/config", "*.py")}

    def kind(of, name):
        while of:
            if (of, name) in kinds:
                return kinds[(of, name)]
            of = (inherited.get(of) or [""])[0]
        return "value"

    for call in called(tree, "add_argument"):
        names = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if not names or not names[0].startswith("-"):
            continue
        taken = how(call)
        for k in call.keywords:
            found = [n for n in ast.walk(k.value) if isinstance(n, ast.Subscript)]
            if k.arg is None and found and taken == "value":
                taken = kind(bases.get(getattr(found[0].value, "id", ""), ""), found[0].slice.value)
        yield names, taken
    front = ast.parse((folder / "vllm/entrypoints/common/cli_args.py").read_text())
    for node in front.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):
            for name, item in fields(node):
                yield ["--" + name.replace("_", "-")], of_type(item.annotation)
    for call in called(front, "add_argument"):
        names = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if names and names[0].startswith("-"):
            yield names, how(call)


def sglang(folder):
    for node in classes(folder / "sglang/srt/arg_groups/fields", "*.py"):
        for name, item in fields(node):
            note = item.annotation
            if not (isinstance(note, ast.Subscript) and getattr(note.value, "id", "") == "A"):
                continue
            kind, meta = note.slice.elts[0], note.slice.elts[1]
            said = {}
            if isinstance(meta, ast.Call) and getattr(meta.func, "id", "") == "Arg":
                said = {k.arg: k.value for k in meta.keywords}
            elif isinstance(meta, ast.Call):
                continue  # Derived: no option
            text = {k: ast.unparse(v) for k, v in said.items()}
            if text.get("no_cli") == "True":
                continue
            cli = text.get("cli_name", "").strip("'") or "--" + name.replace("_", "-")
            names = [cli] + (ast.literal_eval(said["aliases"]) if "aliases" in said else [])
            taken = "value"
            inner = ast.unparse(kind)
            nargs = text.get("nargs", "").strip("'")
            if "action" in text:
                taken = "flag" if "BooleanOptional" in text["action"] else \
                    "bare" if "True" in text["action"] else "value"
                if "nargs" in text.get("action_kwargs", ""):
                    taken = "many"
                if "LoRA" in text["action"]:
                    taken = "many"
            elif re.fullmatch(r"(Optional\[)?bool\]?", inner):
                taken = "bare"
            elif re.match(r"(Optional\[)?[Ll]ist\[", inner) and "type_parser" not in text:
                taken = "maybe" if nargs == "?" else "many"
            elif nargs:
                taken = {"?": "maybe"}.get(nargs, "many")
            yield names, taken
    for call in called(ast.parse((folder / "sglang/srt/server_args.py").read_text()), "add_argument"):
        names = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if names and names[0].startswith("-"):
            yield names, how(call)


def llama_cpp(folder):
    text = (folder / "arg.cpp").read_text()
    for found in re.finditer(r"add_opt\(common_arg\(\s*((?:\{[^{}]*\},?\s*)+)(.*?)\[\]\(", text, re.S):
        groups = re.findall(r"\{([^{}]*)\}", found.group(1))
        names = re.findall(r'"(-[^"]*)"', groups[0])
        off = re.findall(r'"(-[^"]*)"', groups[1]) if len(groups) > 1 else []
        signature = text[found.end():found.end() + 120]
        count = signature.split(")")[0].count(",")
        taken = "bare" if count == 0 else "value"
        if count == 1 and "bool" in signature.split(")")[0]:
            taken = "bare"
        if count == 2:
            taken = "two"
        yield names + off, taken


ENGINES = {"vllm": vllm, "sglang": sglang, "llama_cpp": llama_cpp}


def rows(engine):
    """The rows of an .inc file: every name with how its value is taken."""
    known = {}
    for found in re.finditer(r'\{"([^"]*)", (\w+)', (ROWS / f"{engine}.inc").read_text()):
        for name in found.group(1).split():
            known[name] = found.group(2)
    return known


def main():
    engine = sys.argv[2] if len(sys.argv) > 2 and sys.argv[1] == "list" else ""
    where = sys.argv[3 if engine else 2:]
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(where[0] if where else own)
        folder.mkdir(parents=True, exist_ok=True)
        sources(folder)
        if engine:
            for names, taken in ENGINES[engine](folder):
                print(" ".join(names), taken)
            return 0
        wrong = 0
        for name, read in ENGINES.items():
            known = rows(name)
            declared = [(n, taken) for names, taken in read(folder) for n in names]
            for option, taken in declared:
                if known.get(option) not in (taken, "maybe" if taken == "value" else taken):
                    wrong += 1
                    print(f"{name}: {option} takes {taken}, its row says {known.get(option, 'nothing')}")
            print(f"{name}: {len(declared)} names declared, {len(known)} in rows")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

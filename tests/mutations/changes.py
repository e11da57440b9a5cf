# SPDX-License-Identifier: MIT
"""The changes that a line of a header can have: `run` compiles them one by one, `switched` all at once."""

import collections
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent.parent
include = root / "include" / "llmres"
tests = root / "tests"

COMPUTING = ["inventory", "memory", "time", "hardware/collectives.hpp", "answers/layout_plan.hpp",
             "answers/job_plan.hpp", "answers/search.hpp", "answers/search_request.hpp", "answers/capacity.hpp"]

# Where it makes no difference whether equal ones count as the larger, since both answers are the same then: the larger
# of two, `a > b ? a : b`, `if (a > b) b = a;`, and by how much one exceeds the other, `a > b ? a - b : 0`,
# `if (a > b) x += a - b;`.
OPERAND = r"[\w.\->\[\]:]+(?:\((?:[^()]|\([^()]*\))*\))?"

CHANGES = [
    (r" < ", [" <= ", " > "]),
    (r" > ", [" >= ", " < "]),
    (r" <= ", [" < "]),
    (r" >= ", [" > "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \* ", [" + "]),
    (r" / ", [" * "]),
    (rf" (?P<factor>[*/]) {OPERAND}(?![\w.(\[{{]|->)", [""]),
    (r" && ", [" || "]),
    (r" \|\| ", [" && "]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"(?<![\w.'{])(?!(?<=, )\d+>|(?<=<)\d+>)\d+(?![\w.'}])", [None]),  # a size, `, 3>`, only makes room
    (r" \? ", [" && false ? "]),
    (r"\bsmaller\(", ["larger("]),
    (r"\blarger\(", ["smaller("]),
    (r"^\s+\w[\w.\[\]():>-]* [-+*/|&]?= [^;]*;$", [""]),
    (r"^\s+(?!return|static_cast)\w[\w.:>-]*\([^;]*\);$", [""]),
    (r"^(?P<if>\s+(?:\} else )?if \()", ["false && ", "true || "]),
    (r"^(?P<return>\s+return )(?![\w.:]*;|\{|true;|false;)[^;]*(?=;$)", ["{}"]),
]


SUM = rf"(?<![-+*/%] )(?<![\w.)\]:>]){OPERAND}(?: [-+*] {OPERAND})*"
END = r"(?![\w.(\[]|->| [-+*/%])"
ZERO = r"(?:0|\w+\{\})"
EITHER = re.compile(
    rf"(?P<a>{SUM}) [<>]=? (?P<b>{SUM})\s* \? (?:(?P=a)\s* : (?P=b)|(?P=b)\s* : (?P=a)){END}"
    rf"|(?P<c>{SUM}) [<>]=? (?P<d>{OPERAND}) \? (?:(?:(?P=c) - (?P=d)|(?P=d) - (?P=c)) : {ZERO}"
    rf"|{ZERO} : (?:(?P=c) - (?P=d)|(?P=d) - (?P=c))){END}"
    rf"|if \((?P<x>{SUM}) [<>]=? (?P<y>{SUM})\) (?:(?P=x) = (?P=y)|(?P=y) = (?P=x));"
    rf"|if \((?P<u>{SUM}) [<>]=? (?P<v>{OPERAND})\) {OPERAND} [-+]= (?:(?P=u) - (?P=v)|(?P=v) - (?P=u));")


def is_same_for_either(line, found, other):
    """Whether a changed comparison differs for equal values alone, and these are what is taken of both."""
    only_equality = other is not None and found.group().strip("= ") == other.strip("= ") != ""
    return only_equality and any(e.start() < found.start() < e.end() for e in EITHER.finditer(line))


def declares(line, found):
    """Whether what was found is an `if` that names a value before it asks, or whose condition does not end on its line."""
    if not found.re.groupindex.get("if"):
        return False
    depth, end = 1, found.end()
    while end < len(line) and depth:
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    return depth > 0 or ";" in line[found.end() : end] or re.search(r"\w [*&]?\w+ = ", line[found.end() : end]) is not None


def headers_of(names):
    for name in names or COMPUTING:
        path = include / name
        yield from sorted(path.rglob("*.hpp")) if path.is_dir() else [path]


def code_lines(text):
    """Numbers and texts of the lines that hold code of functions: no comment, include, declaration of a field or table."""
    for number, line in enumerate(text.splitlines()):
        bare = line.split("//")[0].rstrip()
        if not bare.startswith("    ") or "static_assert" in bare or "template" in bare or '"' in bare:
            continue
        if re.match(r"\s+[\w:<>, ]+ \w+\{[^}]*\};$", bare) or "operator" in bare:
            continue
        yield number, bare


# What was found at one place of a line, what would stand there instead (None: a number one larger), and the line then.
Change = collections.namedtuple("Change", "path number line found other changed")


def changes_of(path):
    """Every change of a header."""
    for number, line in code_lines(path.read_text(encoding="utf-8")):
        for pattern, others in CHANGES:
            for found in re.finditer(pattern, line):
                for other in others:
                    if is_same_for_either(line, found, other) or declares(line, found):
                        continue
                    if other is None:
                        changed = line[: found.start()] + str(int(found.group()) + 1) + line[found.end() :]
                    elif found.re.groupindex.get("if"):
                        changed = line[: found.end()] + other + line[found.end() :]
                    elif found.re.groupindex.get("return"):
                        changed = line[: found.end("return")] + other + line[found.end() :]
                    else:
                        changed = line[: found.start()] + other + line[found.end() :]
                    yield Change(path, number, line, found, other, changed)


def name_of(change):
    return f"{change.path.relative_to(include)}:{change.number + 1}\n-{change.line}\n+{change.changed}\n"


def names_in(path, fate=""):
    """The changes that a survivors.txt lists, by name_of(): all, or those of a fate."""
    listed = re.findall(r".*\n-.*\n\+.*\n", path.read_text(encoding="utf-8"))
    return {name.split(" ", 3)[-1] for name in listed if fate in name.split("\n")[0]}

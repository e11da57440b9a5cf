#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The changes that no job can show, and so no test: equivalent.txt, class by class, each with its reason.

    tests/mutations/equivalent.py [--forget]

Prints how many each class has. A change that the headers no longer have is an error: its entry is to be read anew, or
to be forgotten: `--forget` writes the file without such entries, and what they were counts as missed again."""

import collections
import itertools
import pathlib
import re
import sys
import textwrap

from changes import changes_of, include

listed_in = pathlib.Path(__file__).resolve().parent / "equivalent.txt"

# `reason`: the class; `above`: the line before it, where the header has the line more than once, else empty.
Entry = collections.namedtuple("Entry", "reason header above line changed")


def flat(text):
    """A line of code as it is compared: blanks count once."""
    return " ".join(text.split())


def listed():
    """The entries of equivalent.txt."""
    reason, header, above, line, entries, open_text = "", "", "", "", [], None
    for written in listed_in.read_text(encoding="utf-8").splitlines():
        mark, text = written[:1], written[2:]
        if mark == "=":
            reason, header, above, line = (reason + " " + text if open_text == "=" else text), "", "", ""
        elif re.fullmatch(r"[\w/]+\.hpp", written):
            header, above, line = written, "", ""
        elif mark == "@":
            above = text
        elif mark == "-" and header:
            above, line = (above if open_text == "@" else ""), text
        elif mark == "+" and header:
            entries.append([reason, header, above, line, text])
        elif mark == " " and open_text == "@":
            above += " " + text
        elif mark == " " and open_text == "-":
            line += " " + text
        elif mark == " " and open_text == "+":
            entries[-1][4] += " " + text
        elif not written:
            above, line = "", ""
        open_text = open_text if mark == " " else mark
    return [Entry(r, h, *map(flat, rest)) for r, h, *rest in entries]


def written(entries):
    """equivalent.txt of entries: each class once, in the order in which they come."""
    def folded(mark, text):
        lines = textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False) or [""]
        follows = "= " if mark == "=" else "  "
        return [f"{mark} {lines[0]}".rstrip(), *(follows + line for line in lines[1:])]

    out = listed_in.read_text(encoding="utf-8").split("\n= ")[0].splitlines()
    classes = collections.defaultdict(lambda: collections.defaultdict(list))
    for entry in entries:
        classes[entry.reason][entry.header].append(entry)
    for reason, headers in classes.items():
        out += ([] if out[-1] == "" else [""]) + folded("=", reason)
        for header, here in sorted(headers.items()):
            out.append(header)
            for (above, line), changes in itertools.groupby(here, lambda e: (e.above, e.line)):
                out += (folded("@", above) if above else []) + folded("-", line)
                for entry in changes:
                    out += folded("+", entry.changed)
    return "\n".join(out) + "\n"


def places_of(entries, numbered):
    """For each entry the numbers of the changes (number -> change) that it is."""
    places = collections.defaultdict(list)
    for number, change in numbered.items():
        places[change.path, flat(change.line), flat(change.changed)].append(number)
    paths = {change.path for change in numbered.values()}
    texts = {path: [""] + path.read_text(encoding="utf-8").splitlines() for path in paths}
    for entry in entries:
        path = include / entry.header
        at = places[path, entry.line, entry.changed]
        yield [n for n in at if not entry.above or flat(texts[path][numbered[n].number]) == entry.above]


def fits(at, numbered):
    """Whether an entry is of one line, and no more."""
    return len({numbered[n].number for n in at}) == 1


def equivalent(numbered):
    """Number -> reason, of those of the changes (number -> change) that no job can show. Entries that are for other
    headers are passed over; one that fits no change, or two places of its header, is an error."""
    headers = {change.path for change in numbered.values()}
    entries = [entry for entry in listed() if include / entry.header in headers]
    found, stale = {}, []
    for entry, at in zip(entries, places_of(entries, numbered)):
        if not fits(at, numbered):
            stale.append(f"{entry.header}: in {len(at)} places\n- {entry.line}\n+ {entry.changed}")
        for n in at:
            found[n] = entry.reason
    if stale:
        sys.exit("equivalent.txt has changes that are to be read anew, or forgotten (equivalent.py --forget):\n" +
                 "\n".join(stale))
    return found


def main():
    entries = listed()
    there = [entry for entry in entries if (include / entry.header).is_file()]
    paths = sorted({include / entry.header for entry in there})
    numbered = dict(enumerate(change for path in paths for change in changes_of(path)))
    if "--forget" in sys.argv[1:]:
        kept = [entry for entry, at in zip(there, places_of(there, numbered)) if fits(at, numbered)]
        listed_in.write_text(written(kept), encoding="utf-8")
        print(f"{len(entries) - len(kept)} of {len(entries)} are forgotten")
        return 0
    missing = {entry.header for entry in entries} - {entry.header for entry in there}
    if missing:
        sys.exit("equivalent.txt names headers that there are not: " + ", ".join(sorted(missing)))
    for reason, count in collections.Counter(equivalent(numbered).values()).most_common():
        print(f"{count:5}  {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

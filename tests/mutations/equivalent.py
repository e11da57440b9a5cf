#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The changes that no job can show, and so no test: equivalent.txt, class by class, each with its reason.

    tests/mutations/equivalent.py

Prints how many each class has. A change that the headers no longer have is an error: its entry is to be read anew."""

import collections
import pathlib
import re
import sys

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


def equivalent(numbered):
    """Number -> reason, of those of the changes (number -> change) that no job can show. Entries that are for other
    headers are passed over; one that fits no change, or two places of its header, is an error."""
    headers = {change.path for change in numbered.values()}
    places = collections.defaultdict(list)
    for number, change in numbered.items():
        places[change.path, flat(change.line), flat(change.changed)].append(number)
    texts = {path: [""] + path.read_text(encoding="utf-8").splitlines() for path in headers}
    found, stale = {}, []
    for entry in listed():
        path = include / entry.header
        if path not in headers:
            continue
        at = places[path, entry.line, entry.changed]
        if entry.above:
            at = [n for n in at if flat(texts[path][numbered[n].number]) == entry.above]
        if len({numbered[n].number for n in at}) != 1:
            stale.append(f"{entry.header}: in {len(at)} places\n- {entry.line}\n+ {entry.changed}")
        for n in at:
            found[n] = entry.reason
    if stale:
        sys.exit("equivalent.txt has changes that are to be read anew:\n" + "\n".join(stale))
    return found


def main():
    entries = listed()
    missing = {entry.header for entry in entries if not (include / entry.header).is_file()}
    if missing:
        sys.exit("equivalent.txt names headers that there are not: " + ", ".join(sorted(missing)))
    paths = sorted({include / entry.header for entry in entries})
    found = equivalent(dict(enumerate(change for path in paths for change in changes_of(path))))
    for reason, count in collections.Counter(found.values()).most_common():
        print(f"{count:5}  {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

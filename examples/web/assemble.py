# SPDX-License-Identifier: MIT
"""Puts the page's parts into one file: assemble.py PLANNER.wasm PAGE.html"""

import base64
import gzip
import pathlib
import sys

here = pathlib.Path(__file__).parent
planner, page = map(pathlib.Path, sys.argv[1:])

made = (here / "page.html").read_text(encoding="utf-8")
parts = {
    "/* page.css */": (here / "page.css").read_text(encoding="utf-8"),
    "// worker.js": (here / "worker.js").read_text(encoding="utf-8"),
    "// page.js": (here / "page.js").read_text(encoding="utf-8"),
    '<script id="planner" type="text/plain">': '<script id="planner" type="text/plain">'
    + base64.b64encode(gzip.compress(planner.read_bytes(), 9, mtime=0)).decode(),
}
for place, part in parts.items():
    assert made.count(place) == 1, place
    made = made.replace(place, part)
page.write_text(made, encoding="utf-8")

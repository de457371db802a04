#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functions of src/start.order lie together in tmpirun and its libraries, and most names are still functions.

usage: start_order.py ORDER FILE...: FILE is tmpirun or a library
"""
import pathlib
import re
import subprocess
import sys

MOST_FORGOTTEN = 0.15  # of the names; more: tools/start_order.py record
MOST_PAGES = 1.6  # beside the least that their bytes need: assembly and what gcc takes for cold lie elsewhere
PAGE = 4096


def functions(file):
    """Name, address and size of each function."""
    shown = subprocess.run(["nm", "-S", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)(?:\.(?:isra|part|constprop)\.\w+)*$", shown, re.M)
    return [(name, int(at, 16), int(size, 16)) for at, size, name in rows]


def pages_of(file, names):
    """The names that the file has, the pages of their functions, and the least number of pages."""
    own = [(name, at, size) for name, at, size in functions(file) if name in names]
    pages = {page for _, at, size in own for page in range(at // PAGE, (at + size - 1) // PAGE + 1)}
    return {name for name, _, _ in own}, len(pages), sum(size for _, _, size in own) // PAGE + 1


def main(order, *files):
    names = {line for line in pathlib.Path(order).read_text().splitlines() if not line.startswith("#")}
    found = set()
    for file in files:
        own, pages, least = pages_of(file, names)
        found |= own
        if pages > least * MOST_PAGES:
            return f"{file}: the {len(own)} functions of a start lie in {pages} pages, and need {least}"
    if len(found) < len(names) * (1 - MOST_FORGOTTEN):
        return f"{len(names - found)} of {len(names)} names in {order} are no functions (tools/start_order.py record)"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

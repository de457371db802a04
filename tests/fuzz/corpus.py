#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fuzzer's corpus as one text file: an input a line, in hexadecimal, shortest first, behind lines that begin with #.

Usage: corpus.py expand FILE FOLDER   writes a file for each line, by its content's hash
       corpus.py collect FILE FOLDER  writes the file anew from a folder (after libFuzzer's -set_cover_merge=1)
"""
import hashlib
import pathlib
import sys


def expand(file, folder):
    """Writes the inputs of a file into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in file.read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        content = bytes.fromhex(line)
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def collect(file, folder):
    """Writes a file from the inputs in a folder."""
    inputs = sorted({path.read_bytes() for path in folder.iterdir()}, key=lambda content: (len(content), content))
    kept = [line for line in file.read_text(encoding="ascii").splitlines() if line.startswith("#")]
    file.write_text("\n".join([*kept, *(content.hex() for content in inputs if content), ""]), encoding="ascii")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("expand", "collect"):
        sys.exit(__doc__)
    {"expand": expand, "collect": collect}[sys.argv[1]](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))


if __name__ == "__main__":
    main()

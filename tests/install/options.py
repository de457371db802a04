#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command's page has the options that its --help has, and no others.

usage: options.py PAGE COMMAND [WORD ...]
Words: the commands of COMMAND that the page describes, `.` for COMMAND itself, which is the default.
"""
import pathlib
import re
import subprocess
import sys

COMMON = {"--help", "--usage", "--version"}  # a page need not speak of them
OTHERS = {"--args", "--mpi"}  # of gdb and srun, of which tmpirun(1) speaks


def options_of(command):
    """Returns the options that a command lists by --help."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def main(page, command, *words):
    there = set()
    for word in words or ["."]:
        there |= options_of([command] if word == "." else [command, word])
    text = re.sub(r"\\f.", "", pathlib.Path(page).read_text(encoding="utf-8")).replace("\\-", "-")
    text = text.partition(".SH EXAMPLES")[0]
    described = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - OTHERS
    for option in sorted(there - described - COMMON):
        print(f"{page}: {option} is not there")
    for option in sorted(described - there - COMMON):
        print(f"{page}: {option} is no option of {' '.join([command, *words])}")
    return 1 if (there ^ described) - COMMON else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

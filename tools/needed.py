#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the targets of a configured build that the selected tests run; prints "all" if one of them names none.

A test needs the programs that its command, its environment or its property REQUIRED_FILES names. A test that looks for
programs in a folder lists them in that property, and then ctest does not run it without them.

usage: needed.py BUILD CTEST-ARGUMENT...
"""
import json
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"^(?:add_test|set_tests_properties)\(\[(=*)\[(.*?)\]\1\] ", re.M)
FOLDER = re.compile(r'^subdirs\("(.*)"\)', re.M)


def lines_of_tests(folder):
    """What the build says of each test: name -> lines. One file for each folder says it."""
    text = (folder / "CTestTestfile.cmake").read_text()
    found = {}
    for line in text.splitlines():
        if match := LINE.match(line):
            found.setdefault(match[2], []).append(line)
    for name in FOLDER.findall(text):
        found.update(lines_of_tests(folder / name))
    return found


def needed(lines, selected, build, targets):
    """The targets that the selected tests name, or ["all"]."""
    paths = re.compile(re.escape(str(build)) + r'/([^";:]+)')
    found = set()
    for test in selected:
        names = {path for line in lines[test] for path in paths.findall(line)} & targets
        if not names:
            return ["all"]
        found |= names
    return sorted(found)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(build, *arguments):
    build = pathlib.Path(build).resolve()
    # This answer has no commands: ctest leaves out a command that is not built.
    shown = json.loads(output("ctest", "--test-dir", build, "--show-only=json-v1", *arguments))
    selected = [test["name"] for test in shown["tests"]]
    if not selected:
        sys.exit(f"needed.py: no test of {build} is selected by: {' '.join(arguments)}")
    targets = {line.rpartition(": ")[0] for line in output("ninja", "-C", build, "-t", "targets", "all").splitlines()}
    print(*needed(lines_of_tests(build), selected, build, targets))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])

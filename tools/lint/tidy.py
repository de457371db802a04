#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the C and C++ files of src/, bench/, tools/ and examples/, each as its own program has it.

A build compiles many files twice: tests compile the library's files with options of their own. clang-tidy
checks a file once for each command, and the second time it finds the same. So the commands of tests are
left out where the file has another one.

Nearly all of its time goes into the static analyzer, which follows the paths through each function until it has seen
225,000 states of it. With --quick it stops at 50,000.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKED = re.compile(r"(src|bench|tools|examples)/.*\.(c|cpp)")
OBJECT = re.compile(r" -o (\S+)")
QUICK = [f"-extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=50000")]


def choose(commands, root):
    """The entries of a compile_commands.json that clang-tidy follows."""
    own, of_tests = {}, {}
    for entry in commands:
        try:
            name = str(pathlib.Path(entry["file"]).relative_to(root))
        except ValueError:
            continue  # the build made this file
        if not CHECKED.fullmatch(name):
            continue
        found = OBJECT.search(entry["command"])
        belongs = of_tests if found and found[1].startswith("tests/") else own
        belongs.setdefault(name, {})[OBJECT.sub("", entry["command"])] = entry
    return [entry for name in sorted(own.keys() | of_tests.keys())
            for entry in own.get(name, of_tests.get(name)).values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runner", help="the program that runs clang-tidy: run-clang-tidy-19")
    parser.add_argument("build", type=pathlib.Path, help="the build, with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time (default 1)")
    parser.add_argument("--quick", action="store_true", help="follow fewer paths through long functions")
    args = parser.parse_args()
    chosen = choose(json.loads((args.build / "compile_commands.json").read_text()), ROOT)
    if not chosen:
        sys.exit(f"tidy.py: {args.build}/compile_commands.json has none of our files (was it configured elsewhere?)")
    folder = args.build / "tidy"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(chosen, indent=1))
    command = [args.runner, "-quiet", "-p", folder, "-j", str(args.jobs), *(QUICK if args.quick else [])]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds line coverage against what is demanded: most lines of src/, and a reason for each other.

usage: check.py REPORT LIST
REPORT is gcovr's --json. LIST names the lines that no test executes: `src/FILE` alone on a line, then
for each such line its text after a bar, as in `| return ENOMEM;`, and before the bars a comment
(`# ...`) with the reason. Fails when an uncovered line is not listed; says which listed are covered.
"""
import json
import pathlib
import sys

DEMANDED = 95.0  # percent
# Counted, and not held to it yet: what loads programs and starts ranks ends processes in its own way; the
# others are new.
LATER = ("src/tmpi/check/", "src/tmpi/lines/", "src/tmpi/loader/", "src/tmpi/private/", "src/tmpi/rank/",
         "src/tmpi/run/", "src/sim/", "src/systemc/", "src/quickthreads/", "src/os/pthreads.c")


def read_list(path):
    """Returns {(file, text): used} and complains of bars without a reason."""
    listed, file, reason = {}, "", ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if line.startswith("|"):
            if not file or not reason:
                sys.exit(f"{path}:{number}: a line without a file or a reason before it")
            listed[file, line[1:].strip()] = False
        elif line.startswith("src/"):
            file, reason = line, ""
        elif line.startswith("#"):
            reason = line
    return listed


def main(report, list_path):
    files = json.loads(pathlib.Path(report).read_text())["files"]
    listed = read_list(pathlib.Path(list_path))
    lines = covered = later_lines = later_covered = 0
    unexplained = []
    for file in files:
        name = file["file"]
        if name.startswith(LATER):
            counts = [line["count"] for line in file["lines"] if not line.get("gcovr/noncode")]
            later_lines += len(counts)
            later_covered += sum(count > 0 for count in counts)
            continue
        source = pathlib.Path(name).read_text().splitlines()
        for line in file["lines"]:
            if line.get("gcovr/noncode"):
                continue
            lines += 1
            if line["count"] > 0:
                covered += 1
                continue
            text = source[line["line_number"] - 1].strip()
            if (name, text) in listed:
                listed[name, text] = True
            else:
                unexplained.append(f"{name}:{line['line_number']}: {text}")
    percent = 100 * covered / lines
    for name, text in (key for key, uncovered in listed.items() if not uncovered):
        print(f"coverage: listed, but covered or gone: {name}: {text}")
    for line in unexplained:
        print(f"coverage: not covered, not listed: {line}")
    print(f"coverage: {later_covered} of {later_lines} lines of {', '.join(LATER)}, not demanded yet")
    print(f"coverage: {covered} of {lines} other lines of src/ ({percent:.1f} %); "
          f"{len(unexplained)} uncovered lines without a reason in {list_path}")
    return 1 if unexplained or percent < DEMANDED else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

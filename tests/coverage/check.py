#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds line coverage against what is demanded: most lines of src/, and a reason for each other.

usage: check.py REPORT LIST
REPORT is gcovr's --json. LIST names the lines that no test executes: `src/FILE` alone on a line, then
for each such line its text after a bar, as in `| return ENOMEM;`, and before the bars a comment
(`# ...`) with the reason. Fails when an uncovered line is not listed; says which listed are covered.
"""
import collections
import json
import pathlib
import sys

DEMANDED = 95.0  # percent, of each room (folder)


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


def percent(covered, lines):
    return 100 * covered / lines


def main(report, list_path):
    files = json.loads(pathlib.Path(report).read_text())["files"]
    listed = read_list(pathlib.Path(list_path))
    rooms = collections.defaultdict(lambda: [0, 0])  # covered lines, all
    unexplained = []
    for file in files:
        name = file["file"]
        source = pathlib.Path(name).read_text().splitlines()
        for line in file["lines"]:
            if line.get("gcovr/noncode"):
                continue
            room = rooms[str(pathlib.PurePath(name).parent)]
            room[1] += 1
            if line["count"] > 0:
                room[0] += 1
                continue
            text = source[line["line_number"] - 1].strip()
            if (name, text) in listed:
                listed[name, text] = True
            else:
                unexplained.append(f"{name}:{line['line_number']}: {text}")
    for name, text in (key for key, uncovered in listed.items() if not uncovered):
        print(f"coverage: listed, but covered or gone: {name}: {text}")
    for line in unexplained:
        print(f"coverage: not covered, not listed: {line}")
    low = [room for room, counts in sorted(rooms.items()) if percent(*counts) < DEMANDED]
    for room in low:
        print(f"coverage: {room}: {percent(*rooms[room]):.1f} %, and {DEMANDED:.0f} % are demanded")
    covered, lines = (sum(counts) for counts in zip(*rooms.values()))
    print(f"coverage: {covered} of {lines} lines of src/ ({percent(covered, lines):.1f} %), in each of {len(rooms)} rooms "
          f"{min(percent(*counts) for counts in rooms.values()):.1f} % or more; "
          f"{len(unexplained)} uncovered lines without a reason in {list_path}")
    return 1 if unexplained or low else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that names in the code use today's words.

usage: words.py [ROOT]
One thing has one name. RETIRED is the list of words that gave way, with the words that replaced them; it and
the rules of prose/MLTP/Retired.yml, which checks sentences, are the only places where these may stand.
A name is checked part by part: `mt_wish_new` has the parts mt, wish and new.
"""
import pathlib
import re
import sys

RETIRED = {
    "crew": "group", "crews": "groups", "fastbox": "inline_slot", "keeper": "watchdog", "linger": "poll",
    "meeting": "phase", "meetings": "phases", "patience": "spin_budget, time_limit", "seam": "internal",
    "surrender": "hand_off", "told": "reported, passed, warned", "wish": "predicate, wait_mode", "wishes": "predicates",
}
# Names of functions that begin so: report_, print_ or write_ say where the text goes.
VERBS = {"say": "report, print or write", "tell": "report, print, notify or fill"}
# The internal lock; a guard is a page below a stack.
GUARD = re.compile(r"\[guard\]|lock\(&?[\w.>-]*\bguard\)|mt_ilock \*?guard\b")
NAMES = {"lie_down": "sleep", "get_up": "wake"}
FOREIGN = {"SO_LINGER"}  # names of the kernel or of libc

FOLDERS = ("src", "include", "tools", "tests", "bench", "examples", "model", "dk", "docs")
OWN = ("tools/lint", "tests/lint")  # where the retired words are listed and tried
SUFFIXES = {".c", ".h", ".S", ".cpp", ".hpp", ".py", ".pml", ".sc", ".go", ".f90", ".f"}
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
COMMENT = re.compile(r"^\s*(?:\*|/\*|//|#)|\s/\*.*|\s//.*|\"(?:[^\"\\]|\\.)*\"")


def check_line(line):
    """Yields what is wrong with the names of a line; comments and texts are the prose linter's."""
    if GUARD.search(line):
        yield "guard: write ilock (a guard is a page below a stack)"
    if COMMENT.match(line):
        return
    for name in set(NAME.findall(COMMENT.sub(" ", line))) - FOREIGN:
        parts = name.lower().split("_")
        found = next((part for part in parts if part in RETIRED), None)
        if found:
            yield f"{name}: {found} is retired (write {RETIRED[found]})"
        elif len(parts) > 1 and parts[0] in VERBS:
            yield f"{name}: {parts[0]}_ is retired (write {VERBS[parts[0]]})"
        for retired, instead in NAMES.items():
            if retired in name:
                yield f"{name}: {retired} is retired (write {instead})"


def check(root):
    """Returns the errors of all files under root."""
    errors = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or any(root / own in path.parents for own in OWN):
                continue
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                errors += [f"{path.relative_to(root)}:{number}: {problem}" for problem in check_line(line)]
    return errors


def main():
    """Prints the errors; the exit status is 1 if there are any."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    errors = check(root)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

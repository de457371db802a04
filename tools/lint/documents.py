#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that documents stay short, and that the files they name exist.

A link in Markdown leads to a file of the repository. A path in backticks names one, from the root or from
src/; in the reading test every answer names one or two such files.
"""
import argparse
import pathlib
import re
import sys

# The longest a document may be, in lines.
LONGEST = {"README.md": 120, "HACKING.md": 300, "docs/design/*.md": 80}

READING_TEST = "docs/reading-test.md"
QUESTIONS = 40
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
# A path has a folder and a suffix; a pattern (*), a placeholder (NAME) or a generated file (build/) is none.
PATH = re.compile(r"`((?!build/|/)[\w.-]+/[\w./-]*\.(?:c|h|hpp|cpp|S|py|sh|md|pml|lark|table))`")
ROOTS = ("", "bench", "src", "src/core", "src/tmpi", "src/sim", "include", "tools/specc")


def documents(root):
    """The Markdown files that speak of the repository."""
    patterns = ("*.md", "docs/*.md", "docs/design/*.md", "bench/*.md", "model/*.md", "src/*/*.md")
    return sorted(path for pattern in patterns for path in root.glob(pattern))


def check_length(root):
    errors = []
    for pattern, longest in LONGEST.items():
        for path in sorted(root.glob(pattern)):
            lines = len(path.read_text().splitlines())
            if lines > longest:
                errors.append(f"{path}:{lines}: longer than {longest} lines (leave detail to the manual)")
    return errors


def check_paths(root):
    errors = []
    for path in documents(root):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            for link in LINK.findall(line):
                if not (path.parent / link).exists():
                    errors.append(f"{path}:{number}: no file {link} (the link leads nowhere)")
            for name in PATH.findall(line):
                if "NAME" not in name and not any((root / folder / name).exists() for folder in ROOTS):
                    errors.append(f"{path}:{number}: no file {name} (was it renamed?)")
    return errors


def check_reading_test(root):
    """Every question has an answer that names one file, or two."""
    path = root / READING_TEST
    if not path.exists():
        return [f"{path}:1: is missing"]
    errors, asked = [], 0
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not re.match(r"\| \d+ \|", line):
            continue
        asked += 1
        named = PATH.findall(line)
        if not 1 <= len(named) <= 2:
            errors.append(f"{path}:{number}: names {len(named)} files (an answer is found in one or two)")
    if asked < QUESTIONS:
        errors.append(f"{path}:1: has {asked} questions ({QUESTIONS} are asked)")
    return errors


def check(root):
    """Returns the errors in a repository, as 'file:line: what (what to do)'."""
    return check_length(root) + check_paths(root) + check_reading_test(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path("."))
    errors = check(parser.parse_args().root)
    for error in errors:
        print(error, file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the ordering labels of atomic operations in src/.

An atomic operation that orders anything says what it pairs with, in a comment on its statement
or right above it:

    mt_store_release(&slot, item); /* RQ-2 release: publishes the item; pairs RQ-5 */

Every such operation has a label of its own order, every label is written once and labels an
operation, and partners name each other. A relaxed operation says why that suffices, in a comment
"relaxed: ..." on its statement or right above it, or the file does, in a line " * Relaxed: ...".
The operations are those of src/base/atomic.h and src/base/fence.h, and the compiler's builtins.
"""
import argparse
import bisect
import pathlib
import re
import sys

ATOMIC_H = "base/atomic.h"
HOME = {ATOMIC_H, "base/fence.h", "base/fence.c"}  # where operations are made, not used
ORDERS = ["relaxed", "acquire", "release", "acq_rel", "seq_cst", "light fence", "heavy fence", "full fence"]
FENCES = {"mt_fence_light": "light fence", "mt_fence_heavy": "heavy fence",
          "mt_fence_full": "full fence"}
# The other side of a pair may be no operation of ours: a system call, a line of assembly.
OTHER_SIDES = ["membarrier", "kernel", "asm"]

LABEL = r"[A-Z][A-Z0-9]*-\d+"
DEFINITION = re.compile(rf"\b({LABEL}) ({'|'.join(ORDERS[1:] + OTHER_SIDES)})\b[^:;]*:")
PARTNERS = re.compile(rf"\bpairs((?:[\s,]+(?:and\s+)?{LABEL})+)")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
BUILTIN = r"\b__ATOMIC_(" + "|".join(order.upper() for order in ORDERS) + r")\b"
CALL = r"\b(mt_\w+)\("


class Source:
    """A file as lines of code without comments, and its comments by line."""

    def __init__(self, path):
        self.path = path
        text = path.read_text()
        starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self.comments = []  # (first line, last line, text), lines from 0

        def blank(match):
            if match[0].startswith('"'):
                return '""'
            first, last = (bisect.bisect(starts, at) - 1 for at in (match.start(), match.end() - 1))
            words = re.sub(r"\n\s*\*? ?", "\n", match[0].strip("/*"))
            self.comments.append((first, last, words))
            return "\n" * match[0].count("\n")

        self.code = COMMENT.sub(blank, text).split("\n")
        self.relaxed_explained = re.search(r"^(?: |/)\* Relaxed: \S", text, re.M) is not None

    def comment_at(self, line):
        """All comments that touch a statement: those on its lines, and the block right above."""
        first = last = line
        while first > 0 and re.search(r"[^;{}:\s]\s*$", self.code[first - 1]) \
                and not self.code[first - 1].lstrip().startswith("#"):
            first -= 1
        depth = 0
        for last in range(first, len(self.code)):
            depth += self.code[last].count("(") - self.code[last].count(")")
            if last >= line and depth <= 0:
                break
        found = []
        for start, end, text in reversed(self.comments):
            alone = not self.code[start].strip()
            if first <= start <= last or (alone and end == first - 1):
                found.append(text)
                if alone:
                    first = min(first, start)
        return "\n".join(reversed(found))


def operations(source, helpers):
    """Yields (line, name, order) of the atomic operations of a file."""
    for line, code in enumerate(source.code):
        for match in re.finditer(CALL, code):
            if match[1] in helpers:
                yield line, match[1], helpers[match[1]]
        for match in re.finditer(BUILTIN, code):
            yield line, match[0], match[1].lower()


def helpers_of(atomic_h):
    """The operations a header defines and their orders, which end their names."""
    names = re.findall(rf"\b(mt_\w+_({'|'.join(ORDERS)}))\(", atomic_h)
    return FENCES | dict(names)


def check(src):
    """Returns the errors in a source folder, as 'file:line: what (what to do)'."""
    errors, labels, used = [], {}, set()
    helpers = helpers_of((src / ATOMIC_H).read_text())
    paths = sorted(p for p in src.rglob("*") if p.suffix in {".c", ".h", ".S"})
    sources = [Source(path) for path in paths if str(path.relative_to(src)) not in HOME]

    for source in sources:
        for first, _, text in source.comments:
            parts = DEFINITION.split(text)
            for label, order, body in zip(parts[1::3], parts[2::3], parts[3::3]):
                where = f"{source.path}:{first + 1}"
                if label in labels:
                    errors.append(f"{where}: label {label} is taken by {labels[label][0]}"
                                  " (choose another number)")
                    continue
                match = PARTNERS.search(body)
                partners = set(re.findall(LABEL, match[1])) if match else set()
                labels[label] = (where, order, partners)

    for source in sources:
        unexplained = {}  # line -> operation
        for line, name, order in operations(source, helpers):
            comment = source.comment_at(line)
            own = {label for label, found in DEFINITION.findall(comment) if found == order}
            used |= own
            if order != "relaxed" and not own:
                errors.append(f"{source.path}:{line + 1}: {name} has no {order} label"
                              f' (write "XX-1 {order}: what for; pairs XX-2")')
            elif order == "relaxed" and not re.search(r"\brelaxed:", comment, re.I):
                unexplained[line + 1] = name
        if unexplained and not source.relaxed_explained:
            errors.append(f"{source.path}:{min(unexplained)}: why does relaxed suffice? (write"
                          f' "relaxed: ..." here, or " * Relaxed: ..." once in the file; all such'
                          f" lines: {', '.join(map(str, unexplained))})")

    for label, (where, order, partners) in labels.items():
        if order in ORDERS and label not in used:
            errors.append(f"{where}: {label} labels no {order} operation (move or remove it)")
        if not partners:
            errors.append(f'{where}: {label} names no partner (end it in "; pairs XX-1")')
        for partner in sorted(partners):
            if partner not in labels:
                errors.append(f"{where}: {label} pairs {partner}, which does not exist")
            elif label not in labels[partner][2]:
                errors.append(f"{where}: {label} pairs {partner}, which does not name {label}"
                              f" ({labels[partner][0]})")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("src", type=pathlib.Path, nargs="?", default=pathlib.Path("src"))
    errors = check(parser.parse_args().src)
    for error in errors:
        print(error, file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())

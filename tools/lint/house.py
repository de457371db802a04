#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the directories of src/ as a house, in words: floors, arrows, circles.

usage: house.py [SRC]
A directory stands one floor above all that it includes. The last lines count the circles of files that include each
other, and name the functions that a lower directory declares and a higher one defines: calls that run upward.
layers.py refuses what this shows as a circle or as an include that runs upward.
"""
import pathlib
import re
import sys

import layers

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TYPE = r"^(?!static|typedef|enum|union|return|else|#)[A-Za-z_][^;{}()=]*?\b(\w+)"
DECLARED = re.compile(TYPE + r"(?:\([^;{}]*\)[^;{}]*)?;", re.M)
DEFINED = re.compile(TYPE + r"(?:\([^;{}]*\)[^;{}]*\{| =)", re.M)


def read_includes(src):
    """Returns {file: files that it includes}, by unit: a header and the C file of the same name are one."""
    graph = {}
    for path in sorted(p for p in src.rglob("*") if p.suffix in {".c", ".h", ".S"}):
        file = path.relative_to(src)
        targets = graph.setdefault(layers.unit_of(file), set())
        for line in path.read_text().splitlines():
            match = layers.INCLUDE.match(line)
            if match and (src / match[1]).is_file():
                targets.add(layers.unit_of(match[1]))
        targets.discard(layers.unit_of(file))
    return graph


def find_circles(graph):
    """The groups of nodes that all reach each other, of two nodes or more."""
    def reach(start):
        found, left = set(), [start]
        while left:
            for target in graph.get(left.pop(), ()):
                if target not in found:
                    found.add(target)
                    left.append(target)
        return found
    reached = {node: reach(node) for node in graph}
    groups = {frozenset(n for n in reached[node] if node in reached.get(n, ()))
              for node in graph if node in reached[node]}
    return sorted((sorted(group) for group in groups), key=len, reverse=True)


def arrows_between(graph):
    """Returns {directory: directories that its files include}."""
    arrows = {}
    for unit, targets in graph.items():
        own = arrows.setdefault(layers.room_of(f"{unit}.c"), set())
        own |= {layers.room_of(f"{target}.c") for target in targets} - {layers.room_of(f"{unit}.c")}
    return arrows


def floors_of(arrows):
    """Returns {directory: floor}; those of a circle are on one floor, the number of rounds that were tried."""
    floors = dict.fromkeys(arrows, 1)
    for _ in arrows:
        floors = {d: max([1, *(floors[t] + 1 for t in targets if t in floors)]) for d, targets in arrows.items()}
    return floors


def upward_calls(src):
    """Returns (lower, higher, name) of what a lower directory declares and a higher one defines."""
    order = {directory: index for index, directory in enumerate(layers.ARROWS)}
    def names(pattern, suffix):
        for path in sorted(src.rglob(f"*{suffix}")):
            directory = layers.room_of(path.relative_to(src))
            if directory in order and directory not in layers.WHOLE:
                for match in pattern.finditer(COMMENT.sub(" ", path.read_text())):
                    yield match[1], directory
    declared = dict(reversed(list(names(DECLARED, ".h"))))
    return sorted((declared[name], directory, name) for name, directory in names(DEFINED, ".c")
                  if name in declared and order[declared[name]] < order[directory])


def draw(src):
    """Yields the lines of the drawing."""
    graph = read_includes(src)
    arrows = arrows_between(graph)
    floors = floors_of(arrows)
    for directory in sorted(arrows, key=lambda d: (-floors[d], d)):
        yield f"floor {floors[directory]:2}  {directory}: {', '.join(sorted(arrows[directory])) or '-'}"
    between = find_circles(arrows)
    inside = find_circles(graph)
    yield (f"{len(arrows)} directories, {sum(map(len, arrows.values()))} arrows, {len(between)} circles of directories,"
           f" {len(inside)} circles of files" + "".join(f"; {len(c)}: {', '.join(c[:4])}" for c in inside))
    for lower, higher, name in upward_calls(src):
        yield f"declared in {lower}, defined in {higher}: {name}"


def main():
    print("\n".join(draw(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src"))))


if __name__ == "__main__":
    main()

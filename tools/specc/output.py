# SPDX-License-Identifier: Apache-2.0
"""Writes C: words of the source, each on its source's line, and words of ours between them."""
from lark import Token, Tree

from source import quoted

MOST_EMPTY_LINES = 8


def pieces(node):
    """The words of a tree as they are."""
    if isinstance(node, Tree):
        return [piece for child in node.children for piece in pieces(child)]
    return [node]


def flat(parts):
    """Nested lists of words as one."""
    for part in parts:
        if isinstance(part, list):
            yield from flat(part)
        else:
            yield part


def words(node):
    """The words of a tree as text."""
    return " ".join(str(piece) for piece in pieces(node))


class Writer:
    """Collects C with the markers that give its words the lines of their source."""

    def __init__(self, text):
        self._text, self._parts = text, []
        self._file, self._line = None, 0

    def write(self, parts):
        """Words: tokens of the source where their lines are, strings where we are."""
        for part in flat(parts):
            if isinstance(part, Token) and part.type == "SYSTEM":
                self._parts.append("\n" + self._text.system[int(part[1:])] + "\n")
                self._file = None
            else:
                if isinstance(part, Token) and part.line is not None:
                    self._move(self._text.place(part.line))
                self._parts.append(str(part) + " ")

    def _move(self, place):
        if (place.file, place.line) == (self._file, self._line):
            return
        ahead = place.line - self._line
        if place.file == self._file and 0 < ahead < MOST_EMPTY_LINES:
            self._parts.append("\n" * ahead)
        else:
            self._parts.append(f'\n# {place.line} "{quoted(place.file)}"\n')
        self._file, self._line = place.file, place.line

    def result(self):
        return "".join(self._parts) + "\n"

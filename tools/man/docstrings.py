# SPDX-License-Identifier: Apache-2.0
"""Reads the docstrings of C headers: /** comments and the declarations after them."""
import re
from dataclasses import dataclass, field

BLOCK = re.compile(r"/\*\*(?!<)(.*?)\*/[ \t]*\n(.*?)(?=\n\s*/\*|\n\s*\n|\Z)", re.S)
FUNCTION = re.compile(r"^MLTP_API\s+(?P<prototype>[^;{}]*?\b(?P<name>mltp_\w+)\([^;{}]*;)", re.M)
TAG = re.compile(r"@(param(?:\[out\])?|return)\s+")
NOTE = re.compile(r"\b(Blocks|Context):\s+")


@dataclass
class Function:
    """A public function and what its docstring says."""

    name: str
    prototype: str
    documented: bool = True
    alias: str = ""  # the function whose docstring speaks of this one, too
    text: str = ""  # what it does
    params: list = field(default_factory=list)  # (name, meaning)
    returns: str = ""
    notes: dict = field(default_factory=dict)  # "Blocks", "Context"

    def take(self, comment):
        """Fills the fields from a docstring."""
        parts = TAG.split(comment)
        self.text = self._take_notes(parts[0])
        for tag, body in zip(parts[1::2], parts[2::2]):
            body = self._take_notes(body)
            if tag == "return":
                self.returns = body
            else:
                name, _, meaning = body.partition(" ")
                self.params.append((name, " ".join(meaning.split())))

    def _take_notes(self, text):
        parts = NOTE.split(text)
        self.notes.update(zip(parts[1::2], map(str.strip, parts[2::2])))
        return parts[0].strip()


@dataclass
class Header:
    """What one header says."""

    comment: str = ""
    types: list = field(default_factory=list)  # (docstring, code) of what is no function
    functions: list = field(default_factory=list)


def plain(comment):
    """The text of a comment without its stars."""
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.split("\n")).strip()


def read(source):
    """Takes a header's text apart."""
    header = Header()
    documented = {}
    for match in BLOCK.finditer(source):
        comment, code = plain(match[1]), match[2]
        declarations = list(FUNCTION.finditer(code))
        if comment.startswith("@file"):
            header.comment = comment.partition("\n")[2]
        elif not declarations:
            header.types.append((comment, code))
        for declaration in declarations:
            function = Function(declaration["name"], declaration["prototype"])
            if declaration is declarations[0]:
                function.take(comment)
            else:
                function.alias = declarations[0]["name"]
            documented[function.name] = function
    for match in FUNCTION.finditer(source):
        unknown = Function(match["name"], match["prototype"], documented=False)
        header.functions.append(documented.get(match["name"], unknown))
    return header

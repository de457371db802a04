# SPDX-License-Identifier: Apache-2.0
"""Places of a C file where one small change makes a mutant, found in clang's syntax tree. Memory orders are not changed:
most of them are no instruction of their own here, and the models judge them."""
import dataclasses
import hashlib
import shlex

from clang import cindex

RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOOPS = (cindex.CursorKind.WHILE_STMT, cindex.CursorKind.IF_STMT)
# What a program cannot see: text for people, checks that stop a wrong program, probes.
QUIET = ("MT_ASSERT", "MT_PROBE", "mt_message", "mt_panic", "static_assert")

# Arguments that the compiler wants to know: one of two numbers, chosen when the program starts, is none of them.
CONSTANT = ("__builtin_return_address", "__builtin_frame_address")


@dataclasses.dataclass(frozen=True, order=True)
class Site:
    """One mutant: bytes first to last of a file become other text. Bytes start to end are the expression around
    them; the function begins at byte body, behind its brace."""
    file: str
    line: int
    first: int
    last: int
    operator: str
    text: str
    start: int
    end: int
    body: int

    def apply(self, source):
        """The mutated bytes; the number of lines stays."""
        old = source[self.first:self.last]
        new = self.text.encode() + b"\n" * (old.count(b"\n") - self.text.count("\n"))
        return source[:self.first] + new + source[self.last:]

    def mutated(self, source):
        """The expression with the mutant in it."""
        return source[self.start:self.first] + self.text.encode() + source[self.last:self.end]


class Finder:
    """The sites of one file."""

    def __init__(self, path, source, unit):
        self.path, self.source = path, source
        self.found = []
        self.body = 0
        for cursor in unit.cursor.get_children():
            if cursor.kind == cindex.CursorKind.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.body = list(cursor.get_children())[-1].extent.start.offset + 1
                self.walk(cursor, None)

    def is_here(self, cursor):
        start, end = cursor.extent.start, cursor.extent.end
        return start.file is not None and start.file.name == self.path and end.file is not None and end.file.name == self.path

    def text(self, cursor):
        return self.source[cursor.extent.start.offset:cursor.extent.end.offset].decode("utf-8", "replace")

    def add(self, cursor, operator, text, first=None, last=None, around=None):
        start, end = cursor.extent.start, cursor.extent.end
        whole = (around or cursor).extent
        self.found.append(Site(self.path, start.line, start.offset if first is None else first,
                               end.offset if last is None else last, operator, text, whole.start.offset,
                               whole.end.offset, self.body))

    def walk(self, cursor, parent):
        """Adds the sites of a cursor and of what is in it. What a macro expands to is left alone: its text is elsewhere.
        So are enumerators: no mutant can be chosen there at run time."""
        if not self.is_here(cursor) or self.text(cursor).startswith(QUIET + CONSTANT):
            return
        if cursor.kind == cindex.CursorKind.ENUM_DECL:
            return
        self.look(cursor, parent)
        for child in cursor.get_children():
            self.walk(child, cursor)

    def look(self, cursor, parent):
        """Adds the sites of one cursor."""
        kinds = cindex.CursorKind
        children = list(cursor.get_children())
        if cursor.kind in LOOPS and children and self.is_plain(children[0]):
            condition = self.text(children[0])
            self.add(children[0], "negate", f"!({condition})")
            if cursor.kind == kinds.IF_STMT:
                self.add(children[0], "never", f"0 && ({condition})")
        elif cursor.kind == kinds.BINARY_OPERATOR and len(children) == 2:
            self.relation(cursor, children)
            if parent is not None and parent.kind == kinds.COMPOUND_STMT:
                self.assignment(cursor)
        elif cursor.kind in (kinds.CALL_EXPR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNARY_OPERATOR) \
                and parent is not None and parent.kind == kinds.COMPOUND_STMT and self.is_plain(cursor):
            self.add(cursor, "drop", "(void)0")
        elif cursor.kind == kinds.INTEGER_LITERAL and parent is not None and parent.kind != kinds.CASE_STMT:
            self.number(cursor)

    def is_plain(self, cursor):
        """Whether the text of a cursor is an expression by itself, and no part of a macro."""
        text = self.text(cursor)
        return text != "" and text.count("(") == text.count(")") and not text.startswith("__")

    def relation(self, cursor, children):
        """A comparison of another kind; the operator stands between the operands."""
        first, last = children[0].extent.end.offset, children[1].extent.start.offset
        between = self.source[first:last].decode("utf-8", "replace")
        operator = between.strip()
        if first < last and operator in RELATIONAL:
            self.add(children[0], "compare", between.replace(operator, RELATIONAL[operator]), first, last, cursor)

    def assignment(self, cursor):
        """A statement that only stores."""
        if "=" in self.text(cursor) and self.is_plain(cursor):
            self.add(cursor, "drop", "(void)0")

    def number(self, cursor):
        """A constant and one."""
        text = self.text(cursor)
        if text.isdigit():
            self.add(cursor, "number", str(int(text) + 1))


def arguments_of(entry):
    """The arguments of a compile command that a parser needs."""
    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
    kept = [word for word in words if word.startswith(("-I", "-D", "-std", "-U"))]
    for place, word in enumerate(words):
        if word == "-isystem":
            kept += words[place:place + 2]
    return ["-x", "c", *kept]


def find(path, entry, source):
    """The sites of a file with this text, in the order of the text; each place and text once.
    Raises RuntimeError where clang cannot read the file."""
    unit = cindex.Index.create().parse(path, args=arguments_of(entry), unsaved_files=[(path, source.decode("utf-8", "replace"))])
    errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise RuntimeError(f"{path}: clang cannot read it: {errors[0]}")
    return sorted(set(Finder(path, source, unit).found))


def names(found, source, file):
    """A name of each site of a file that changes elsewhere in the tree or in the file do not change."""
    seen, made = {}, []
    for site in found:
        what = (file, site.operator, source[site.first:site.last].decode("utf-8", "replace"), site.text)
        seen[what] = seen.get(what, 0) + 1
        made.append(hashlib.sha256(repr((*what, seen[what])).encode()).hexdigest()[:12])
    return made

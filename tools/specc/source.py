# SPDX-License-Identifier: Apache-2.0
"""Source text: the C preprocessor, imports, and where each line came from."""
import pathlib
import re
import subprocess
from dataclasses import dataclass

IMPORT = re.compile(r'[ \t]*import[ \t]*"([^"\n]*)"[ \t]*;')
MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)$')


class Error(Exception):
    """Ends the translation: (file, line, column or 0, what is wrong)."""

    def __init__(self, place, message):
        super().__init__(message)
        self.place, self.message = place, message


@dataclass(frozen=True)
class Place:
    """A place in the source as its author knows it."""

    file: str
    line: int
    column: int = 0

    def __str__(self):
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


def quoted(path):
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def preprocess(compiler, path, flags):
    """The preprocessed text of a file, and the warnings."""
    command = [*compiler, "-E", "-x", "c", *flags, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape",
                            check=False)
    if result.returncode != 0:
        raise Error(None, result.stderr.rstrip("\n"))
    return result.stdout, result.stderr


class Modules:
    """A source and what it imports, each preprocessed for itself.

    Macros of the importing file mean nothing in an imported one, nor the reverse. A file is taken
    once, where it is imported first; in a cycle the file that began it comes last.
    """

    def __init__(self, preprocessor, paths):
        self._preprocess, self._paths = preprocessor, paths  # (a file) -> its text; where imports are
        self._taken = set()

    def load(self, path):
        """The text of a file with the files it imports in the places of the imports."""
        self._taken.add(path.resolve())
        lines, place = [], None
        for line in self._preprocess(path).split("\n"):
            match = MARKER.match(line)
            if match:
                place = (match[2].replace('\\"', '"').replace("\\\\", "\\"), int(match[1]) - 1, match[3])
            elif place is not None:
                place = (place[0], place[1] + 1, place[2])
            if place is not None and "import" in line and "3" not in place[2]:
                line = self._splice(line, place)
            lines.append(line)
        return "\n".join(lines)

    def _splice(self, line, place):
        """The line with the files it imports."""
        def text(match):
            found = self._find(pathlib.Path(place[0]), match[1])
            if found is None:
                return match[0]  # the parser refuses it where it counts
            if found.resolve() in self._taken:
                return ""
            return f'\n{self.load(found)}\n# {place[1]} "{quoted(place[0])}"\n'
        return IMPORT.sub(text, line)

    def _find(self, importer, name):
        for folder in [importer.parent, *self._paths]:
            for candidate in (folder / f"{name}.sc", folder / name):
                if candidate.suffix == ".sc" and candidate.is_file():
                    return candidate
        return None


class Declarations:
    """Drops from headers' texts the declarations that came before: modules include the same headers."""

    _WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[{}()\[\];]|\n|[^\S\n]+|[^{}()\[\];\s"\']+')

    def __init__(self):
        self._seen, self._chunks = set(), set()

    def new(self, chunk):
        """The chunk's lines without declarations seen before; its markers stay."""
        if chunk in self._chunks:
            return ""
        first = not self._chunks
        self._chunks.add(chunk)
        kept = []
        for text, key in self._split(chunk):
            if not key or key not in self._seen:
                kept.append(text)
            self._seen.add(key)
        return chunk if first else "".join(kept)

    def _split(self, chunk):
        """Each top-level declaration, and its words without white space; each marker, and nothing."""
        text, key, depth, is_function = [], [], 0, False
        for line in chunk.split("\n"):
            if line.startswith("#"):
                yield f"\n{line}\n", ""
                continue
            for word in self._WORD.findall(line):
                text.append(word)
                if word.isspace():
                    continue
                is_function = key[-1:] == [")"] if word == "{" and depth == 0 else is_function
                key.append(word)
                depth += (word in "{([") - (word in "})]")
                if depth == 0 and (word == ";" or word == "}" and is_function):
                    yield "".join(text), " ".join(key)
                    text, key = [], []
            text.append("\n")
        yield "".join(text), ""


class Text:
    """Preprocessed text without the system's headers.

    They are in `system`, verbatim; a line of `text` that begins with \\x01 and a number stands for them.
    """

    def __init__(self, preprocessed):
        self.system = []
        self._places = []  # of each line of text
        lines, chunk, declarations = [], [], Declarations()
        file, line, within_system = "", 1, False
        ours = set()  # macros of system headers leave their mark in other files, too
        for raw in preprocessed.split("\n"):
            match = MARKER.match(raw)
            if match:
                file, line = match[2].replace('\\"', '"').replace("\\\\", "\\"), int(match[1])
                within_system = file not in ours and "3" in match[3].split() or file.startswith("<")
                if not within_system:
                    ours.add(file)
                if within_system:
                    chunk.append(raw)
                continue
            if within_system:
                if not chunk:
                    chunk.append(f'# {line} "{quoted(file)}" 3')
                chunk.append(raw)
            else:
                fresh = declarations.new("\n".join(chunk)) if chunk else ""
                if any(part and not part.startswith("#") for part in fresh.split("\n")):
                    lines.append(f"\x01{len(self.system)}")
                    self._places.append((file, line))
                    self.system.append(fresh)
                chunk = []
                lines.append(raw)
                self._places.append((file, line))
            line += 1
        self.text = "\n".join(lines) + "\n"
        self._files = {}

    def place(self, line, column=0, word=""):
        """Where a word of the text is in its source. The preprocessor moves words in their lines."""
        if not self._places:
            return None
        file, number = self._places[min(line, len(self._places)) - 1]
        if column:
            column = self._column(file, number, line, column, word)
        return Place(file, number, column)

    def _column(self, file, number, line, column, word):
        if file not in self._files:
            try:
                self._files[file] = pathlib.Path(file).read_text(errors="surrogateescape").split("\n")
            except OSError:
                self._files[file] = []
        source = self._files[file]
        if not word or number > len(source):
            return column
        bounds = r"(?<!\w){}(?!\w)" if re.match(r"\w+$", word) else "{}"
        pattern = re.compile(bounds.format(re.escape(word)))
        lines = self.text.split("\n")
        before = sum(1 for m in pattern.finditer(lines[line - 1]) if m.start() < column - 1)
        while line > 1 and self._places[line - 2] == (file, number):  # one line, split by a macro
            line -= 1
            before += len(pattern.findall(lines[line - 1]))
        found = [m.start() + 1 for m in pattern.finditer(source[number - 1])]
        return found[min(before, len(found) - 1)] if found else column

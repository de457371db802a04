# SPDX-License-Identifier: Apache-2.0
"""Source text: imports, the C preprocessor, and where each line came from."""
import pathlib
import re
import subprocess
from dataclasses import dataclass

IMPORT = re.compile(r'^([ \t]*)import[ \t]*"([^"\n]*)"[ \t]*;', re.M)
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


class Imports:
    """Copies of the sources, in a folder, with each import as the preprocessor's include.

    So an import within #if counts only where that holds, and each file is taken once.
    """

    def __init__(self, folder, paths):
        self.folder, self.paths, self.copies = folder, paths, {}

    def copy(self, path):
        """The copy of a source file."""
        if path in self.copies:
            return self.copies[path]
        text = path.read_text(errors="surrogateescape")
        made = self.folder / f"{len(self.copies)}.sc"
        once = "#pragma once\n" if self.copies else ""
        self.copies[path] = made
        text = IMPORT.sub(lambda match: self._include(path, text, match), text)
        made.write_text(f'{once}# 1 "{quoted(path)}"\n{text}', errors="surrogateescape")
        return made

    def _include(self, path, text, match):
        for folder in [path.parent, *self.paths]:
            found = folder / f"{match[2]}.sc"
            if found.is_file():
                line = text.count("\n", 0, match.start()) + 1
                return f'{match[1]}\n#include "{self.copy(found)}"\n# {line} "{quoted(path)}"\n'
        return match[0]  # the parser refuses it where it counts


def quoted(path):
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def preprocess(compiler, path, flags):
    """The preprocessed text of a file."""
    command = [*compiler, "-E", "-x", "c", *flags, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape",
                            check=False)
    if result.returncode != 0:
        raise Error(None, result.stderr.rstrip("\n"))
    return result.stdout, result.stderr


class Text:
    """Preprocessed text without the system's headers.

    They are in `system`, verbatim; a line of `text` that begins with \\x01 and a number stands for them.
    """

    def __init__(self, preprocessed):
        self.system = []
        self._places = []  # of each line of text
        lines, chunk = [], []
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
                if any(part and not part.startswith("#") for part in chunk):
                    lines.append(f"\x01{len(self.system)}")
                    self._places.append((file, line))
                    self.system.append("\n".join(chunk))
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

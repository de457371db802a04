#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of README and handbook do what these say, with installed files alone.

Usage: documents.py PREFIX DOCUMENT ...

PREFIX is where the project is installed, or the folder in which it was built. With "-" for PREFIX the environment
stays as it is: what is installed is found as README says.

A block with title="FILE" is written to that file. A block of sh is run; a comment before it may say
"status N", "needs FILE", or "not run: why". A block of text after it is what it prints: `...` stands for any text
within a line, and for any lines if alone. The folder in which the blocks run has the project's examples.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
COMMENT = re.compile(r"<!-- (.*?) -->\s*$")
LINK = re.compile(r"\]\(([^)#]+)\)")
SLOW = re.compile(r"^tmpirun: \d+ of \d+ ranks started\n", re.M)  # a loaded machine starts them slowly


def environment_of(prefix):
    """Returns the environment that index.md describes."""
    names = {}
    if prefix != "-":
        prefix = os.path.abspath(prefix)
        library = min(pathlib.Path(prefix).rglob("libmltp.so"), key=lambda file: len(file.parts)).parent
        names = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(library),
                 "PKG_CONFIG_PATH": f"{library}/pkgconfig"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MLTP_", "MAKE"))}
    return {**kept, **names, "MLTP_COORDINATOR": "off"}


def pattern(text):
    """The regular expression for what a block of text says."""
    lines = [r"(?:.*\n)*?" if line == "..." else
             r"[ \t]*" + r"[ \t]*".join(".*".join(re.escape(part) for part in word.split("..."))
                            for word in line.split()) + "\n"
             for line in text.splitlines()]
    return re.compile("".join(lines))


def blocks(page):
    """Yields the kind, the title, the text and the last comment of each block of a page."""
    text, end = page.read_text(), 0
    for block in BLOCK.finditer(text):
        comment = COMMENT.search(text[end:block.start()])
        yield block[1], block[2], block[3], comment[1] if comment else ""
        end = block.end()


def run(script, folder, environment, comment):
    """Runs a script; returns what it printed."""
    wanted = int(comment.split()[1]) if comment.startswith("status") else 0
    ended = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, text=True, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ended.returncode == wanted, f"status {ended.returncode}, not {wanted}, of\n{script}\n{ended.stdout}"
    return SLOW.sub("", ended.stdout)


def is_run(comment):
    """Returns whether a block can be run here."""
    return not comment.startswith("not run:") and (
        not comment.startswith("needs") or pathlib.Path(comment.split()[1]).exists())


def check(page, folder, environment):
    """Does what a page says; returns how many blocks were run."""
    printed, count = None, 0
    for kind, title, text, comment in blocks(page):
        if title:
            (folder / title).write_text(text)
        elif kind == "sh":
            printed = run(text, folder, environment, comment) if is_run(comment) else None
            count += printed is not None
        elif kind == "text" and printed is not None:
            assert pattern(text).fullmatch(printed), f"{page.name}: wanted\n{text}\nbut got\n{printed}"
            printed = None
    return count


def check_links(page):
    """Each link leads to a page that exists."""
    for link in LINK.findall(page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: no {link}"


def main():
    """Checks the documents, each in a folder of its own."""
    environment = environment_of(sys.argv[1])
    for page in map(pathlib.Path, sys.argv[2:]):
        with tempfile.TemporaryDirectory(prefix="documents-") as folder:
            check_links(page)
            os.symlink(next(up / "examples" for up in page.resolve().parents if (up / "examples").is_dir()),
                       f"{folder}/examples")
            print(f"{page.name}: {check(page, pathlib.Path(folder), environment)} blocks were run", flush=True)


if __name__ == "__main__":
    main()

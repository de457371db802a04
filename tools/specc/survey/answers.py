# SPDX-License-Identifier: Apache-2.0
"""Runs a program of others whose answer is known, and compares: repositories have golden outputs beside programs.

A program's golden output is a file golden.* in its folder or the one above; answers.txt names those that are kept in
another way, with the arguments. The program runs in a copy of its folder.
"""
import pathlib
import shlex
import shutil
import subprocess
import tempfile

SECONDS = 60
INPUT = "input_small.pgm"  # what most programs with a golden.pgm read


def unix(path):
    """A file's bytes; lines end as on Unix."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def listed():
    """Rows of answers.txt: path -> what follows."""
    rows = pathlib.Path(__file__).with_name("answers.txt").read_text().splitlines()
    return dict(row.split(": ", 1) for row in rows if row and not row.startswith("#"))


def golden_of(folder, path):
    """(argument lists to try, golden output) of a program, or None."""
    row = listed().get(str(path.relative_to(folder)))
    if row is not None and " = " not in row:
        return None
    if row is not None:
        arguments, golden = row.split(" = ")
        return [shlex.split(arguments)], path.parent / golden
    for place in (path.parent, path.parent.parent):
        for golden in sorted(place.glob("golden.*")):
            return [[], [INPUT, f"output_edge{golden.suffix}"]], golden
    return None


def answer(folder, path, program):
    """What a program's output is like: "" without a known answer."""
    known = golden_of(folder, path)
    if known is None:
        return ""
    tries, golden = known
    wanted = unix(golden)
    for arguments in tries:
        with tempfile.TemporaryDirectory() as made:
            place = pathlib.Path(made, "run")
            shutil.copytree(path.parent, place, symlinks=True, ignore_dangling_symlinks=True)
            inputs = sorted((folder / path.relative_to(folder).parts[0]).rglob(INPUT))
            if inputs and not (place / INPUT).exists():
                shutil.copy(inputs[0], place)
            old = [file for file in place.rglob("*") if file.is_file() and not file.is_symlink() and unix(file) == wanted]
            for file in old:
                file.unlink()
            said = run([program, *arguments], place, pathlib.Path(made, "stdout"))
            files = [pathlib.Path(made, "stdout"), *(file for file in place.rglob("*") if file.is_file())]
            if any(unix(file) == wanted for file in files):
                return f"prints {golden.name}"
    return f"DIFFERS from {golden.name} ({said})"


def run(command, place, output):
    """How a program ended."""
    with open(output, "wb") as out:
        try:
            done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"stopped after {SECONDS} s"
    return f"exit status {done.returncode}"

# SPDX-License-Identifier: Apache-2.0
"""Each program of language/ prints what it says, or is refused as it says; with --table: the page of all.

The second line of a program names the section of the Language Reference Manual (2.0) and the construct.
`//>` is a line that it prints, `//!` a part of the message by which it is refused.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = os.environ.get("SPECC_OPTIONS", "").split()
FOLDER = pathlib.Path(os.environ.get("SPECC_FOLDER", HERE / "../../tools/specc")).resolve()


class Program:
    """A program with what it says of itself."""

    def __init__(self, path):
        lines = path.read_text().splitlines()
        self.path = path
        self.section, self.title = lines[1].removeprefix("// LRM ").split(": ", 1)
        self.prints = "".join(f"{line[4:]}\n" for line in lines if line.startswith("//>"))
        self.refused = [line[4:] for line in lines if line.startswith("//!")]


PROGRAMS = [Program(path) for path in sorted((HERE / "language").glob("*.sc"))]


def compiled(program, output, main, folders):
    """The compiler's messages; none: the program is there."""
    import source  # (specc's; main has put its folder into the path)
    options, others = main.parse_arguments("", [str(program.path), "-O0", *OPTIONS, "-o", output])
    try:
        text = main.translate(options, others, ["cc"], folders)
    except source.Error as error:
        return f"{error.place}: error: {error.message}"
    run = main.run_compiler(options, others, ["cc"], folders, text)
    return run.stderr if run.returncode != 0 else ""


class Language(unittest.TestCase):
    def test_programs_print_or_are_refused_as_they_say(self):
        sys.path.insert(0, str(FOLDER))
        import main
        top = pathlib.Path(os.environ["SPECC"]).resolve().parents[1]
        folders = types.SimpleNamespace(share=FOLDER, include=FOLDER / "../../include", lib=top / "lib",
                                        inside=top / "tools/specc/inside")
        with tempfile.TemporaryDirectory() as made:
            for program in PROGRAMS:
                with self.subTest(program.path.stem):
                    output = f"{made}/{program.path.stem}"
                    said = compiled(program, output, main, folders).replace("\u2018", "'").replace("\u2019", "'")
                    for part in program.refused:
                        self.assertIn(part, said)
                    if not program.refused:
                        self.assertEqual(said, "")
                        run = subprocess.run([output], capture_output=True, text=True, check=False)
                        self.assertEqual((run.stdout, run.stderr, run.returncode), (program.prints, "", 0))


def table():
    """The page docs/specc-language.md."""
    yield "<!-- SPDX-License-Identifier: Apache-2.0 -->"
    yield "<!-- Written by tests/specc/language.py --table. -->"
    yield "# What specc takes\n"
    yield "Each row is a program of `tests/specc/language`. The sections are those of the Language Reference Manual 2.0.\n"
    yield "| LRM | construct | verdict | program |\n| --- | --- | --- | --- |"
    for program in sorted(PROGRAMS, key=lambda p: [int(part) for part in p.section.split(".")] + [0]):
        verdict = "refused" if program.refused else "works"
        yield f"| {program.section} | {program.title} | {verdict} | `{program.path.name}` |"


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print("\n".join(table()))
    else:
        unittest.main()

#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Tries specc on folders of other people's programs: survey.py BUILD FOLDER [PAGE].

BUILD is this project's, with libmltp-sim.a. FOLDER has a folder for each repository, named OWNER+NAME. A program is
a file with a complete behavior Main; of equal ones in equal surroundings only one counts. faults.txt names the
programs that cannot be built, each with the reason. The verdicts go to standard output, the table to PAGE.
"""
import concurrent.futures
import hashlib
import pathlib
import re
import sys
import tempfile
import types

MAIN = re.compile(r"\bbehavior\s+Main\b\s*(\([^)]*\))?\s*\{.*\bmain\s*\(", re.S)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', re.S)
SOURCES = {".sc", ".sh", ".h", ".hh"}
SPECC = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SPECC))


def stripped(path):
    """The text of a file without comments."""
    return COMMENT.sub(lambda match: match[1] or " ", path.read_text(errors="replace"))


def fingerprint(path):
    """Equal for programs that are copies of one another."""
    texts = [stripped(path)] + sorted(stripped(other) for other in path.parent.iterdir()
                                      if other.suffix in SOURCES and other.is_file())
    return hashlib.sha256("\0".join(" ".join(text.split()) for text in texts).encode()).hexdigest()


def programs(folder):
    """Each program once."""
    seen = set()
    for path in sorted(folder.rglob("*.sc")):
        if path.is_file() and MAIN.search(stripped(path)):
            mark = fingerprint(path)
            if mark not in seen:
                seen.add(mark)
                yield path


def attempt(top, folder, path):
    """What specc says of a program: empty when it compiles."""
    import main as specc  # (its folder is in the path)
    import source
    near = [path.parent, *sorted(p for p in path.parent.rglob("*") if p.is_dir()), path.parent.parent]
    search = [flag for place in near for flag in (f"-P{place}", f"-I{place}")]
    folders = types.SimpleNamespace(share=SPECC, include=SPECC / "../../include", lib=top / "lib",
                                    inside=top / "tools/specc/inside")
    with tempfile.TemporaryDirectory() as made:
        options, others = specc.parse_arguments("", [str(path), "-O0", "-w", *search, "-o", f"{made}/program", "-lm"])
        try:
            text = specc.translate(options, others, ["cc"], folders)
            run = specc.run_compiler(options, others, ["cc"], folders, text)
        except source.Error as error:
            said = f"{error.place}: error: {error.message}" if error.place else error.message
        else:
            said = run.stderr if run.returncode != 0 else ""
    lines = [line for line in said.splitlines() if "error" in line or "undefined reference" in line]
    return (lines or said.splitlines() or [""])[0].replace(f"{folder}/", "")


def faults():
    """The programs that cannot be built: path -> reason."""
    rows = pathlib.Path(__file__).with_name("faults.txt").read_text().splitlines()
    return dict(row.split(": ", 1) for row in rows if row and not row.startswith("#"))


def table(results, known):
    """The page of all programs."""
    repositories = sorted({path.split("/")[0] for path, _ in results})
    legal = [said for path, said in results if path not in known]
    good = sum(1 for said in legal if not said)
    yield "<!-- SPDX-License-Identifier: Apache-2.0 -->"
    yield "<!-- Written by tools/specc/survey/survey.py. -->"
    yield "# SpecC programs of others\n"
    yield (f"{len(results)} complete programs of {len(repositories)} public repositories were tried. "
           f"{len(results) - len(legal)} of them cannot be built; of the other {len(legal)}, {good} compile.")
    for repository in repositories:
        owner, name = repository.split("+", 1)
        yield f"\n## {owner}/{name}\n"
        yield "| program | verdict |\n| --- | --- |"
        for path, said in results:
            if path.split("/")[0] == repository:
                why = f"cannot be built: {known[path]}" if path in known else said.split("/")[-1]
                yield f"| `{path.split('/', 1)[1]}` | {'compiles' if not said else why.replace('|', chr(92) + '|')} |"


def main(top, folder, page=None):
    top, folder = pathlib.Path(top).resolve(), pathlib.Path(folder).resolve()
    found = list(programs(folder))
    known, results = faults(), []
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        for path, verdict in zip(found, pool.map(attempt, [top] * len(found), [folder] * len(found), found)):
            results.append((str(path.relative_to(folder)), verdict))
            kind = "ok" if not verdict else "fault" if results[-1][0] in known else "NO"
            print(f"{kind}\t{results[-1][0]}\t{verdict}", flush=True)
    if page is not None:
        pathlib.Path(page).write_text("\n".join(table(results, known)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

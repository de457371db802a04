#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Tries specc on folders of other people's programs: survey.py SPECC FOLDER [PAGE].

FOLDER has a folder for each repository, named OWNER+NAME. A program is a file with a complete behavior Main; of
equal ones in equal surroundings only one counts. faults.txt names the programs that are not SpecC, each with the
reason. PAGE gets the table; without it the verdicts go to standard output.
"""
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

MAIN = re.compile(r"\bbehavior\s+Main\b\s*(\([^)]*\))?\s*\{.*\bmain\s*\(", re.S)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', re.S)
SOURCES = {".sc", ".sh", ".h", ".hh"}
SECONDS = 120


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


def attempt(specc, folder, path):
    """What specc says of a program: empty when it compiles."""
    near = [path.parent, *sorted(p for p in path.parent.rglob("*") if p.is_dir()), path.parent.parent]
    search = [flag for place in near for flag in (f"-P{place}", f"-I{place}")]
    with tempfile.TemporaryDirectory() as made:
        run = subprocess.run([specc, "-O0", "-Wno-all", *search, "-o", f"{made}/program", "-lm", str(path)],
                             capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    if run.returncode == 0:
        return ""
    lines = [line for line in run.stderr.splitlines() if "error" in line or "undefined reference" in line]
    return (lines or run.stderr.splitlines() or ["no message"])[0].replace(f"{folder}/", "")


def faults():
    """The programs that are not SpecC: path -> reason."""
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
           f"{len(results) - len(legal)} of them are not SpecC; of the other {len(legal)}, {good} compile.\n")
    for repository in repositories:
        owner, name = repository.split("+", 1)
        yield f"\n## {owner}/{name}\n"
        yield "| program | verdict |\n| --- | --- |"
        for path, said in results:
            if path.split("/")[0] == repository:
                why = f"not SpecC: {known[path]}" if path in known else said.split("/")[-1]
                yield f"| `{path.split('/', 1)[1]}` | {'compiles' if not said else why.replace('|', chr(92) + '|')} |"


def main(specc, folder, page=None):
    folder = pathlib.Path(folder)
    found = list(programs(folder))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda path: attempt(specc, folder, path), found))
    results = [(str(path.relative_to(folder)), verdict) for path, verdict in zip(found, said)]
    known = faults()
    if page is not None:
        pathlib.Path(page).write_text("\n".join(table(results, known)) + "\n")
        return
    for path, verdict in results:
        print(f"{'ok' if not verdict else 'fault' if path in known else 'NO'}\t{path}\t{verdict}")


if __name__ == "__main__":
    main(*sys.argv[1:])

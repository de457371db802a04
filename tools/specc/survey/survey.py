#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Tries specc on folders of other people's programs: survey.py BUILD FOLDER [PAGE].

BUILD is this project's, with libmltp-sim.a. FOLDER has a folder for each repository, named OWNER+NAME, with all files
of its last commit ('git archive' ends at the first file that a copy lacks, and loses the rest). A program is
a file with a complete behavior Main; of equal ones in equal surroundings only one counts. faults.txt names the
programs that cannot be built, limits.txt those that are right and refused, each with the reason. What is built and
has a known answer runs (answers.py). The verdicts go to standard output, the table to PAGE.
"""
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import types

MAIN = re.compile(r"\bbehavior\s+Main\b\s*(\([^)]*\))?\s*\{.*\bmain\s*\(", re.S)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', re.S)
SOURCES = {".sc", ".sh", ".h", ".hh"}
SPECC = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SPECC), str(SPECC / "survey")]
import answers  # noqa: E402  (found through the line above)


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


def parts_in_c(near, made):
    """Objects of the C files near a program, but of those with a main function of their own, as options."""
    flags = []
    for number, file in enumerate(file for place in near for file in sorted(place.glob("*.c"))):
        if not re.search(r"\bmain\s*\(", stripped(file)):
            command = ["cc", "-O0", "-w", "-c", *(f"-I{place}" for place in near), str(file), "-o", f"{made}/{number}.o"]
            if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                flags.append(f"-l:{number}.o")
    return [f"-L{made}", *flags]


def verdict_and_answer(top, folder, path):
    with tempfile.TemporaryDirectory() as made:
        said = attempt(top, folder, path, f"{made}/program")
        return said, "" if said else answers.answer(folder, path, f"{made}/program")


def attempt(top, folder, path, keep=None):
    """What specc says of a program: empty when it compiles, to the file `keep` if that is given."""
    near = [path.parent, *sorted(p for p in path.parent.rglob("*") if p.is_dir()), path.parent.parent]
    with tempfile.TemporaryDirectory() as made:
        output = keep or f"{made}/program"
        said = compiled(top, path, near, output, [])
        if "undefined reference" in said:
            said = compiled(top, path, near, output, parts_in_c(near, made))
    lines = [line for line in said.splitlines() if "error" in line or "undefined reference" in line]
    return (lines or said.splitlines() or [""])[0].replace(f"{folder}/", "")


def compiled(top, path, near, output, more):
    """The messages of specc; none: the program is there."""
    import main as specc  # (its folder is in the path)
    import source
    search = [flag for place in near for flag in (f"-P{place}", f"-I{place}")]
    folders = types.SimpleNamespace(share=SPECC, include=SPECC / "../../include", lib=top / "lib",
                                    inside=top / "tools/specc/inside")
    options, others = specc.parse_arguments("", [str(path), "-O0", "-w", *search, "-o", output, *more, "-lm"])
    try:
        text = specc.translate(options, others, ["cc"], folders)
        run = specc.run_compiler(options, others, ["cc"], folders, text)
    except source.Error as error:
        return f"{error.place}: error: {error.message}" if error.place else error.message
    return run.stderr if run.returncode != 0 else ""


def reasons(name):
    """A list of programs: path -> reason."""
    rows = pathlib.Path(__file__).with_name(name).read_text().splitlines()
    return dict(row.split(": ", 1) for row in rows if row and not row.startswith("#"))


def table(results, known):
    """The page of all programs."""
    repositories = sorted({path.split("/")[0] for path, _, _ in results})
    legal = [said for path, said, _ in results if path not in known]
    good = sum(1 for said in legal if not said)
    answered = [answer for _, _, answer in results if answer]
    limits = reasons("limits.txt")
    yield "<!-- SPDX-License-Identifier: Apache-2.0 -->"
    yield "<!-- Written by tools/specc/survey/survey.py. -->"
    yield "# SpecC programs of others\n"
    yield (f"{len(results)} complete programs of {len(repositories)} public repositories were tried. "
           f"{len(results) - len(legal)} of them cannot be built; of the other {len(legal)}, {good} compile "
           f"({100 * good / max(len(legal), 1):.0f} %). {len(answered)} of these have a known answer, their repositories' "
           f"golden outputs, and {sum(answer.startswith('prints') for answer in answered)} print it, but for the ends of lines.")
    for repository in repositories:
        owner, name = repository.split("+", 1)
        yield f"\n## {owner}/{name}\n"
        yield "| program | verdict |\n| --- | --- |"
        for path, said, answer in results:
            if path.split("/")[0] == repository:
                why = f"cannot be built: {known[path]}" if path in known else \
                    f"refused: {limits[path]}" if path in limits else said.split("/")[-1]
                other = answers.listed().get(path, " = ")
                good = "compiles" + (f", {answer}" if answer else f" (no answer: {other})" if " = " not in other else "")
                yield f"| `{path.split('/', 1)[1]}` | {good if not said else why.replace('|', chr(92) + '|')} |"


def main(top, folder, page=None):
    top, folder = pathlib.Path(top).resolve(), pathlib.Path(folder).resolve()
    found = list(programs(folder))
    known, results = reasons("faults.txt"), []
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        tried = pool.map(verdict_and_answer, [top] * len(found), [folder] * len(found), found)
        for path, (verdict, answer) in zip(found, tried):
            results.append((str(path.relative_to(folder)), verdict, answer))
            kind = "ok" if not verdict else "fault" if results[-1][0] in known else "NO"
            print(f"{kind}\t{results[-1][0]}\t{verdict or answer}", flush=True)
    if page is not None:
        pathlib.Path(page).write_text("\n".join(table(results, known)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Draws random mutants of the C files of src/, and sees whether the tests find them.

Each place of the syntax tree is equally likely. A mutant whose object file is the same is equivalent, and does not
count. It is killed when it breaks the build of a test program, or when a test fails, crashes or does not end. Results
go to FOLDER/SEED.jsonl; the same command continues there after an interruption.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import random
import subprocess
import sys
import time

import lab
import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTED = ("killed", "survived")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="dev mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N", help="how many mutants that are not equivalent")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice (%(default)s)")
    parser.add_argument("--path", default="src", help="only files below this folder (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="of ninja and ctest (%(default)s)")
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS", help="of the tests of one mutant (%(default)s)")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="copy and results (ROOT/build/mutate)")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="also write the results as a page")
    options = parser.parse_args()
    if options.count < 1:
        parser.error("N is at least 1")
    return options


def interval(survived, counted):
    """Wilson's interval of 95 % for the rate of survivors."""
    if counted == 0:
        return 0.0, 1.0
    z, rate = 1.96, survived / counted
    middle = rate + z * z / (2 * counted)
    half = z * math.sqrt(rate * (1 - rate) / counted + z * z / (4 * counted * counted))
    return tuple(max(0.0, min(1.0, (middle + side * half) / (1 + z * z / counted))) for side in (-1, 1))


def summary(results):
    """One sentence with the rate of survivors."""
    counted = [result for result in results if result["verdict"] in COUNTED]
    survived = sum(result["verdict"] == "survived" for result in counted)
    low, high = interval(survived, len(counted))
    rate = survived / len(counted) if counted else 0
    return (f"{survived} of {len(counted)} mutants survived: {rate:.1%}, between {low:.1%} and {high:.1%} with 95 % confidence; "
            f"{len(results) - len(counted)} more are equivalent or do not compile.")


def page(results, options):
    """The results as Markdown."""
    def code(text):
        return "`" + " ".join(text.split()).replace("|", "\\|")[:70] + "`" if text else ""
    model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
                  if line.startswith("model name")), "unknown")
    commit = subprocess.run(["git", "-C", options.root, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True,
                            check=True).stdout.strip()
    lines = ["<!-- Written by ./dev mutate; do not edit. -->", "# Random mutants", "", summary(results), "",
             f"Commit {commit}, seed {options.seed}, files below {options.path}; {model}.", "",
             "| place | operator | was | becomes | verdict | by |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [f"| {r['file']}:{r['line']} | {r['operator']} | {code(r['was'])} | {code(r['text'])} | {r['verdict']} | {r['by']} |"
              for r in results if r["verdict"] in COUNTED]
    return "\n".join(lines) + "\n"


def drawn(place, options):
    """All sites in random order."""
    found = []
    commands = place.commands()
    for path, entry in sorted(commands.items()):
        if pathlib.Path(path).relative_to(place.tree).is_relative_to(options.path):
            found += [(site, entry) for site in sites.find(path, entry)]
    random.Random(options.seed).shuffle(found)
    return found


def main():
    options = parse_arguments()
    folder = (options.out or options.root / "build" / "mutate").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        place = lab.Lab(options.root.resolve(), folder, options.jobs, options.limit)
    except subprocess.CalledProcessError as error:
        sys.exit(f"mutate: the tree cannot be built as it is: {error}")
    file = folder / f"{options.seed}.jsonl"
    results = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    test = place.failing(lab.QUICK) if not results else None
    if test is not None:
        sys.exit(f"mutate: {test} fails without a mutant (mend it first)")
    for site, entry in drawn(place, options)[len(results):]:
        if sum(result["verdict"] in COUNTED for result in results) >= options.count:
            break
        was = pathlib.Path(site.file).read_bytes()[site.first:site.last].decode("utf-8", "replace")
        start = time.monotonic()
        verdict, test = place.judge(site, entry)
        results.append({**dataclasses.asdict(site), "file": site.file.removeprefix(f"{place.tree}/"), "was": was,
                        "verdict": verdict, "by": test, "seconds": round(time.monotonic() - start, 1)})
        with open(file, "a", encoding="utf-8") as kept:
            kept.write(json.dumps(results[-1]) + "\n")
        print(f"{verdict:16} {results[-1]['file']}:{site.line}: {site.operator}: {was[:50]!r} -> {site.text[:50]!r} {test}", flush=True)
    print(summary(results))
    if options.table:
        options.table.write_text(page(results, options), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

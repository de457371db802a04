# SPDX-License-Identifier: Apache-2.0
"""The results of a run as sentences, and as a page of docs/measurements."""
import collections
import math
import pathlib
import time

COUNTED = ("killed", "survived")
CLASSES = {
    "missed": "all tests that reach it pass with it; one may be missing",
    "open": "some tests that reach it have not run with it, since the time was over",
    "equivalent": "no program can see the change",
    "costs": "the results are the same, and come later or take more memory",
    "chance": "it opens a race or weakens an order that a test meets by chance; models and sanitizers judge it",
}
SANITIZED = (" Survivors were tried again in a build with AddressSanitizer, by the tests that CI runs so: what these find is "
             "marked `sanitized`.")


def interval(survived, counted):
    """Wilson's interval of 95 % for the rate of survivors."""
    if counted == 0:
        return 0.0, 1.0
    z, rate = 1.96, survived / counted
    middle = rate + z * z / (2 * counted)
    half = z * math.sqrt(rate * (1 - rate) / counted + z * z / (4 * counted * counted))
    return tuple(max(0.0, min(1.0, (middle + side * half) / (1 + z * z / counted))) for side in (-1, 1))


def summary(results):
    """Sentences with the rate of survivors."""
    counted = [result for result in results if result["verdict"] in COUNTED]
    survived = [result for result in counted if result["verdict"] == "survived"]
    classes = collections.Counter(result["class"] for result in survived)
    low, high = interval(len(survived), len(counted))
    rate = len(survived) / len(counted) if counted else 0
    text = (f"{len(survived)} of {len(counted)} mutants survived: {rate:.1%}, between {low:.1%} and {high:.1%} with 95 % confidence; "
            f"{len(results) - len(counted)} more are equivalent or do not compile.")
    if classes["open"]:
        text += (f" {classes['open']} of the survivors have not met all tests that reach them, so this is an upper bound: "
                 f"{len(survived) - classes['open']} have.")
    if classes["equivalent"]:
        others, left = len(survived) - classes["equivalent"], len(counted) - classes["equivalent"]
        text += (f" Of the survivors no program can see {classes['equivalent']} (reasons below); without them {others} of {left} survived: "
                 f"{others / left:.1%}.")
    if survived:
        text += " Survivors by class: " + ", ".join(f"{name} {classes[name]}" for name in CLASSES if classes[name]) + "."
    return text


def code(text):
    return "`" + " ".join(text.split()).replace("|", "\\|")[:70] + "`" if text else ""


def table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |",
            *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def rooms(results):
    """What came of the mutants of each folder below src."""
    counts = collections.defaultdict(collections.Counter)
    for r in results:
        counts[r["file"].split("/")[1]][r["verdict"]] += 1
        counts["all"][r["verdict"]] += 1
    return table(("room", "killed", "survived", "rate"),
                 [(name, count["killed"], count["survived"], f"{count['survived'] / max(1, count.total()):.0%}")
                  for name, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0]))])


def survivors(results):
    rows = [(f"{r['file']}:{r['line']}", r["operator"], code(r["was"]), code(r["text"]), r["class"],
             r["reason"] or f"{r['tests']} tests pass" + (", others have not run" if r["left"] else ""))
            for r in results if r["verdict"] == "survived"]
    return table(("place", "operator", "was", "becomes", "class", "why, or tests"), sorted(rows, key=lambda row: (row[4], row[0])))


def page(results, again, options, commit):
    """The results as Markdown. again: results of an earlier seed, whose survivors were tried again. commit: of the tree,
    whose files are the ones that were judged."""
    model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
                  if line.startswith("model name")), "unknown")
    counted = [r for r in results if r["verdict"] in COUNTED]
    unjudged = sum(r.get("class") == "open" for r in counted)
    command = f"./dev mutate {options.count} --seed {options.seed}" + (f" --again {options.again}" if options.again else "")
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "<!-- Written by ./dev mutate; do not edit. Run it again instead. -->",
             "# Random mutants", "",
             f"`{command} --table FILE` writes this page from its results. A mutant is one change of the C code below `{options.path}`, "
             "drawn at random; it is killed when a test fails with it, then passes without it twice, and fails with it twice more. "
             "All tests that reach it are tried, in a build that checks invariants. A test that passes with many survivors at once finds "
             "none of them; where it fails it runs with each half of them, and so on." + (SANITIZED if options.sanitized else ""), "",
             summary(results), "",
             *table(("judged", ""), [("commit", f"{commit}: the files are as they were judged"), ("seed", options.seed),
                                     ("mutants", f"{len(counted)}, of which {len(counted) - unjudged} have met all tests that reach them, or were killed"), ("processor", model),
                                     ("written", time.strftime("%Y-%m-%d", time.gmtime()))]),
             *rooms(counted), "## Survivors", "",
             *(f"- **{name}**: {meaning}." for name, meaning in CLASSES.items()), "",
             "All of them count in the first rate; the second leaves out mutants that no program can see.", "", *survivors(counted)]
    if again:
        lines += [f"## Seed {options.again}, whose survivors met new tests", "",
                  "Tests were written for these survivors, so the rate says what the tests find now, and nothing of other mutants.", "",
                  summary(again), "", *survivors(again)]
    lines += ["## Killed", "", *table(("place", "operator", "was", "becomes", "by"),
                                     [(f"{r['file']}:{r['line']}", r["operator"], code(r["was"]), code(r["text"]), r["by"])
                                      for r in counted if r["verdict"] == "killed"])]
    return "\n".join(lines).rstrip("\n") + "\n"

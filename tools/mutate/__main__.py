# SPDX-License-Identifier: Apache-2.0
"""Draws random mutants of the C files of src/, and sees whether the tests find them.

Each place of the syntax tree is equally likely; headers have none. A mutant whose object file is the same is
equivalent, and does not count. All others are in one build, and a process runs one of them or none; what must be
constant has a build of its own. A first run of a test shows which mutants it reaches, and it alone can find these.
Quick tests come first; slow ones run when the mutants that quick ones find are known. A mutant meets the most promising
tests by itself, the others together with all that survived so far: if such a test fails it runs with each half of them,
and so on. The build checks invariants, as those of the sanitizers do.

A mutant is killed when a test fails with it, or hangs, then passes without it twice, and fails with it twice more.
One that has not met all its tests counts as a survivor. classes.txt says of survivors what they change. Mutants
are judged in the order of the draw, so those that are judged first are a random choice, too: --report with a smaller
N reports them alone. Results go to FOLDER/SEED.jsonl. The same command continues there after an interruption; it also
tries survivors on tests that they have not met, such as new ones. Results of a file that has changed are judged anew.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys

import draw
import judge
import lab
import page
import suite

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = 20  # tests after which it is kept what survivors have met


def parse_arguments():
    parser = argparse.ArgumentParser(prog="dev mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N", help="how many mutants that are not equivalent")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice (%(default)s)")
    parser.add_argument("--again", type=int, metavar="SEED", help="also judge the survivors of an earlier run, whose results FOLDER has")
    tests = parser.add_mutually_exclusive_group()
    tests.add_argument("--preset", choices=("asan", "ubsan"), help="build with this sanitizer, and run the tests that CI runs with it")
    tests.add_argument("--tests", metavar="REGEX", help="run only tests of these names, and build what they run: with --path, what the "
                       "tests of a file find in it")
    parser.add_argument("--survivors", type=pathlib.Path, metavar="FILE",
                        help="judge only the survivors of the same draw that FILE has, the results of another FOLDER")
    parser.add_argument("--sanitized", type=pathlib.Path, metavar="FILE", help="for the report: the results with --survivors")
    parser.add_argument("--path", default="src", help="only files below this folder (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time, of which most wait; builds at most one for each CPU (%(default)s)")
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS", help="of the tests of a mutant that has a build of its own (%(default)s)")
    parser.add_argument("--pause", type=pathlib.Path, metavar="FILE", help="run no test while this file exists")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="copy and results (ROOT/build/mutate)")
    parser.add_argument("--report", action="store_true", help="judge nothing, report what is known")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="also write the results as a page")
    options = parser.parse_args()
    if options.count < 1:
        parser.error("N is at least 1")
    if options.tests and options.table:
        parser.error("--tests says nothing of other tests, so it makes no page")
    return options


def last_lines(file):
    """The results in a file by name: the last line of a mutant counts."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {r["name"]: r for r in map(json.loads, lines)}


class Book:
    """The results of a seed."""

    def __init__(self, folder, seed, place):
        self.file, self.place = folder / f"{seed}.jsonl", place
        self.commit = subprocess.run(["git", "-C", place.root, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True,
                                     check=True).stdout.strip()
        self.met = folder / "passed"  # tests that survivors have met
        self.met.mkdir(exist_ok=True)
        self.results = {name: r for name, r in last_lines(self.file).items() if r["source"] == self.source(r["file"])}
        lines = (HERE / "classes.txt").read_text(encoding="utf-8").splitlines()
        self.classes = {name: (kind, reason) for name, kind, reason in (line.split(": ", 2) for line in lines if not line.startswith("#"))}

    def source(self, file):
        path = self.place.root / file
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""

    def kinds(self):
        return {name: "" if r["verdict"] in page.COUNTED else r["verdict"] for name, r in self.results.items()}

    def made(self, name, file, site, verdict, **more):
        """A result."""
        was = (self.place.root / file).read_bytes()[site.first:site.last].decode("utf-8", "replace")
        return {"name": name, "file": file, "line": site.line, "operator": site.operator, "was": was, "text": site.text,
                "verdict": verdict, "by": "", "seconds": 0, "tests": 0, "left": 0, "source": self.source(file),
                "commit": self.commit, **more}

    def enter(self, name, file, site, verdict, **more):
        """Writes a result."""
        result = self.results[name] = self.made(name, file, site, verdict, **more)
        with open(self.file, "a", encoding="utf-8") as kept:
            kept.write(json.dumps(result) + "\n")
        if verdict in page.COUNTED:
            print(f"{verdict:9} {name} {file}:{site.line}: {site.operator}: {result['was'][:50]!r} -> {site.text[:50]!r} {result['by']} "
                  f"({result['seconds']} s{', ' + str(result['left']) + ' tests left' if result['left'] else ''})", flush=True)

    def passed(self, name):
        """The digests of the tests that passed with a mutant, by test."""
        file = self.met / name
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return kept.get("tests", {}) if kept.get("source") == self.results.get(name, {}).get("source", "") else {}

    def keep(self, mutant, met):
        """Keeps which tests passed with a mutant: digests by name."""
        (self.met / mutant.name).write_text(json.dumps({"source": self.source(mutant.file), "tests": met}), encoding="utf-8")

    def judged(self, mutant, tests, outcome, met, unknown):
        """Notes what came of a mutant that was tried on these tests. met: tests that it had met before. unknown: how many
        more may reach it."""
        by, passed, seconds = outcome
        digests = {test.name: test.digest(judge.fingerprint) for test, _ in tests}
        met = {**met, **{name: digests[name] for name in passed}}
        self.enter(mutant.name, mutant.file, mutant.site, "killed" if by else "survived", by=by, tests=len(met),
                   left=0 if by else len(digests.keys() - passed) + unknown, seconds=round(seconds, 1))
        self.keep(mutant, met)

    def final(self, mutants, others, sanitized):
        """The results of the drawn mutants, survivors with their classes: what is not judged yet is one, with tests left.
        sanitized: results of survivors under a sanitizer."""
        known = {m.name: self.made(m.name, m.file, m.site, "survived", left=1) for m in mutants} | self.results
        names = [mutant.name for mutant in mutants] + [name for name, *_ in others]
        found = {name: r | {"by": f"{r['by']}, sanitized"} for name, r in sanitized.items() if r["verdict"] == "killed"
                 and r["source"] == self.source(r["file"])}
        return self.classified(found.get(name, known[name]) if known[name]["verdict"] == "survived" else known[name]
                               for name in names if name in known)

    def equivalent(self, name):
        return self.classes.get(name, ("",))[0] == "equivalent"

    def classified(self, results):
        def of(r):
            kind, reason = self.classes.get(r["name"], ("open" if r["left"] else "missed", ""))
            return r | {"class": kind, "reason": reason} if r["verdict"] == "survived" else r
        return list(map(of, results))

    def again(self, earlier):
        """The results of an earlier run, with what was found of its survivors since."""
        return self.classified(self.results.get(name, r) if r["verdict"] == "survived" else r for name, r in earlier.items())


def wanted(mutants, book, court):
    """The mutants that are not judged, or that have tests left: (mutant, tests, tests met)."""
    for mutant in mutants:
        result = book.results.get(mutant.name)
        if result is None or result["verdict"] == "survived" and not book.equivalent(mutant.name):
            met = book.passed(mutant.name) if result else {}
            tests = [(test, normal) for test, normal in court.reaching(mutant.number, mutant.file)
                     if met.get(test.name) != test.digest(judge.fingerprint)]
            if tests or result is None or (result["left"] and not court.unknown):
                yield mutant, tests, met


class Woven:
    """The texts with the mutants in them, kept in a file: the next run builds nothing anew. alone: the numbers of
    mutants with builds of their own."""

    def __init__(self, file):
        self.file = file
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.key, self.alone = kept.get("key", ""), set(kept.get("alone", ()))
        self.counted = kept.get("counted", ())  # name, file and source of each mutant
        self.texts = {name: text.encode("latin-1") for name, text in kept.get("texts", {}).items()}

    def kinds(self, book):
        """Of the mutants that were found to count, where their files are the same."""
        return {name: "" for name, file, source in self.counted if source == book.source(file)}

    def renew(self, drawn, mutants, book):
        """For these mutants, unless they are in the texts."""
        made = [(mutant.number, mutant.name, drawn.texts[mutant.file]) for mutant in mutants]
        key = hashlib.sha256(repr(made).encode()).hexdigest()
        if key == self.key:
            return
        self.key = key
        self.texts, self.alone = drawn.weave(mutants)
        self.counted = [(mutant.name, mutant.file, book.source(mutant.file)) for mutant in mutants]
        texts = {name: text.decode("latin-1") for name, text in self.texts.items()}
        kept = {"key": key, "alone": sorted(self.alone), "counted": self.counted, "texts": texts}
        self.file.write_text(json.dumps(kept), encoding="utf-8")


def judge_survivors(mutants, book, court):
    """Survivors that have tests left meet them together."""
    left = {mutant.number: (mutant, tests, met) for mutant, tests, met in wanted(mutants, book, court) if mutant.name in book.results}
    passed = {number: [] for number in left}
    trials = court.judge_together((number, tests) for number, (_, tests, _) in left.items())
    for count, (test, numbers, found) in enumerate(trials, start=1):
        for number in passed.keys() & set(numbers):
            mutant, tests, met = left[number]
            if number in found:
                book.judged(mutant, tests, (test.name, passed.pop(number), 0), met, court.unknown)
            else:
                passed[number].append(test.name)
                met[test.name] = test.digest(judge.fingerprint)
        if count % KEPT == 0:
            for number in passed:
                book.keep(left[number][0], left[number][2])
    for number, names in passed.items():
        mutant, tests, met = left[number]
        book.judged(mutant, tests, ("", names, 0), met, court.unknown)


def judge_all(mutants, woven, book, court, options, drawn):
    """In the order of the draw, by the tests that are known at the time: each wave of tests meets the survivors of those
    before. Mutants with builds of their own come last, as all share the tree."""
    together = [m for m in mutants if m.number not in woven.alone]
    for _ in court.learn(woven.key):
        tasks = {}
        for mutant, tests, met in wanted([m for m in together if m.name not in book.results], book, court):
            if tests or not court.unknown:
                tasks[court.judge(mutant.number, tests)] = mutant, tests, met
        for task in concurrent.futures.as_completed(tasks):
            mutant, tests, met = tasks[task]
            book.judged(mutant, tests, task.result(), met, court.unknown)
        judge_survivors(together, book, court)
    for mutant, tests, met in wanted([m for m in mutants if m.number in woven.alone], book, court):
        source = drawn.texts[mutant.file]
        tests = tests or court.reaching(None, mutant.file)
        outcome = court.judge_alone(lambda commands, m=mutant, s=source: book.place.build_mutant(m.file, m.site.apply(s), commands),
                                    lambda m=mutant: book.place.restore(m.file, woven.texts[m.file]), tests, options.limit)
        book.judged(mutant, tests, outcome, met, 0)


def choose(drawn, options, book, woven, place):
    """The drawn mutants, and the others, which do not count. Raises RuntimeError where clang cannot read the code."""
    if options.survivors:
        return drawn.named({name for name, r in last_lines(options.survivors).items()
                            if r["verdict"] == "survived" and not book.equivalent(name)}, 1), []
    mutants, others = drawn.choose(options.count, book.kinds() | woven.kinds(book))
    for name, file, site, kind in others:
        if name not in book.results:
            book.enter(name, file, site, kind)
    return mutants, others


def report(results, again, options, commit):
    print(page.summary(results))
    if again:
        print(f"seed {options.again} again: {page.summary(again)}")
    if options.table:
        options.table.write_text(page.page(results, again, options, commit), encoding="utf-8")


def judge_drawn(mutants, earlier, options, folder, place, book, woven, drawn):
    """Builds the mutants and the survivors of an earlier run, and judges them. Raises CalledProcessError, RuntimeError."""
    names = {name for name, r in earlier.items() if r["verdict"] == "survived"} - {mutant.name for mutant in mutants}
    tried = mutants + drawn.named(names, max((mutant.number for mutant in mutants), default=0) + 1)
    woven.renew(drawn, tried, book)
    place.prepare(woven.texts)
    print(f"building {len(tried)} mutants, {len(woven.alone)} of them later and alone", flush=True)
    place.build_all()
    court = judge.Judge(place.build, place.slices, folder, options.jobs, options.pause, options.root / "build")
    judge_all(tried, woven, book, court, options, drawn)


def main():
    options = parse_arguments()
    folder = (options.out or options.root / "build" / "mutate").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    place = lab.Lab(options.root.resolve(), folder, options.jobs, suite.slices(options.preset, options.tests), options.preset or "")
    book = Book(folder, options.seed, place)
    woven = Woven(folder / "woven.json")
    earlier = last_lines(folder / f"{options.again}.jsonl") if options.again else {}
    try:
        if not options.report:
            place.prepare(woven.texts)
        drawn = draw.Draw(place, folder, options.seed, options.path)
        try:
            mutants, others = choose(drawn, options, book, woven, place)
        except RuntimeError:  # headers are not made yet
            place.build_all()
            mutants, others = choose(drawn, options, book, woven, place)
        if not options.report:
            judge_drawn(mutants, earlier, options, folder, place, book, woven, drawn)
    except subprocess.CalledProcessError as error:
        sys.exit(f"mutate: the tree cannot be built: {error} (see {place.build}/mutate-build.log)")
    except RuntimeError as error:
        sys.exit(f"mutate: {error}")
    sanitized = last_lines(options.sanitized) if options.sanitized else {}
    report(book.final(mutants, others, sanitized), book.again(earlier), options, book.commit)
    return 0


if __name__ == "__main__":
    sys.exit(main())

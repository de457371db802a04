# SPDX-License-Identifier: Apache-2.0
"""Which tests reach a mutant, and whether one of them finds it."""
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import time

import suite

# Further runs of a program: the others say what it reaches.
FURTHER = re.compile(r"\.(native-1|native-8|native-33|crowded|ucontext|seeded-[2-9]|sched-\w+|late-probe|as-shipped)$")
MUTANTS_MAX = 65536  # bytes of the file in which a test notes what it reaches (mutant.h)
TRIES = 3  # of a mutant under a test that found it once

_runner = None  # of a worker


@functools.lru_cache(maxsize=None)
def fingerprint(word):
    """Of the file that a word of a command names."""
    path = pathlib.Path(word)
    return hashlib.sha256(path.read_bytes()).digest() if path.is_absolute() and path.is_file() else b""


def begin(main, folder, pause):
    """In each worker, before its first task."""
    global _runner
    suite.become_reaper(main)
    _runner = suite.Runner(folder, pause)


def measure(test, limit):
    """A run without a mutant: (verdict, seconds, CPU seconds, numbers of the mutants it reaches). A test that needs more
    than the time for one mutant is left out."""
    notes = _runner.folder / f"reached.{os.getpid()}"
    for _ in range(2):
        notes.write_bytes(bytes(MUTANTS_MAX))
        run = _runner.run(test, suite.AtMost(limit), reached=notes)
        if run.verdict != "failed":
            break
    return run.verdict, run.wall, run.cpu, [number for number, note in enumerate(notes.read_bytes()) if note]


def confirmed(test, normal, number):
    """Whether a test that failed with a mutant passes without, and fails with it once more: tests fail by chance, too."""
    if _runner.run(test, normal).verdict != "passed":
        return False
    return any(_runner.run(test, normal, number).verdict in ("failed", "hangs") for _ in range(TRIES))


def try_tests(number, tests, limit):
    """Runs tests with a mutant until one finds it or the time is over: (its name or "", tests that passed, seconds)."""
    start, passed = time.monotonic(), []
    for test, normal in tests:
        if time.monotonic() - start > limit:
            break
        if _runner.run(test, normal, number).verdict in ("failed", "hangs") and confirmed(test, normal, number):
            return test.name, passed, time.monotonic() - start
        passed.append(test.name)
    return "", passed, time.monotonic() - start


def suspect(tests, limit):
    """The same for a mutant that is in the build itself: the test that failed twice, and tests that passed."""
    start, passed = time.monotonic(), []
    for test, normal in tests:
        if time.monotonic() - start > limit:
            break
        if all(_runner.run(test, normal).verdict in ("failed", "hangs") for _ in range(2)):
            return test, normal, passed
        passed.append(test.name)
    return None, None, passed


def passes(test, normal):
    return _runner.run(test, normal).verdict == "passed"


class Judge:
    """Runs tests in worker processes. file keeps what each test reaches."""

    def __init__(self, build, folder, jobs, pause):
        self.folder = folder
        self.file = folder / "reached.json"
        self.tests = {test.name: test for test in suite.listed(build)}
        self.pool = concurrent.futures.ProcessPoolExecutor(jobs, initializer=begin, initargs=(os.getpid(), folder, pause))
        self.known = {}

    def siblings(self):
        """The tests that run the same command, by command."""
        made = collections.defaultdict(list)
        for test in self.tests.values():
            made[test.command].append(test)
        return made

    def measured(self):
        """The tests that are run to see what they reach: further runs of a program are left out."""
        for tests in self.siblings().values():
            first = [test for test in tests if not FURTHER.search(test.name)]
            yield from first or tests

    def learn(self, key, limit):
        """Runs each test once, if it was not run with these mutants. key: of the mutants in the build. limit: of a test;
        0: no test runs."""
        kept = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
        self.known = kept["tests"] if kept.get("key") == key else {}
        digests = {test.name: test.digest(fingerprint) for test in self.measured()}
        for name in [name for name, fact in self.known.items() if fact["verdict"] == "hangs" and fact["wall"] < limit]:
            del self.known[name]
        wanted = [test for test in self.measured() if limit and self.known.get(test.name, {}).get("digest") != digests[test.name]]
        if wanted:
            print(f"running {len(wanted)} tests to see which mutants they reach", flush=True)
        tasks = {self.pool.submit(measure, test, limit): test for test in wanted}
        for count, task in enumerate(concurrent.futures.as_completed(tasks), start=1):
            test = tasks[task]
            verdict, wall, cpu, reached = task.result()
            self.known[test.name] = {"digest": digests[test.name], "verdict": verdict, "wall": wall, "cpu": cpu, "reached": reached}
            if verdict == "failed":
                print(f"{test.name} fails without a mutant: left out", flush=True)
            if count % 20 == 0 or count == len(wanted):
                self.file.write_text(json.dumps({"key": key, "tests": self.known}), encoding="utf-8")
        if limit and not any(fact["verdict"] == "passed" for fact in self.known.values()):
            raise RuntimeError("no test passes without a mutant (mend the tree first)")

    def reaching(self, number):
        """The tests that reach a mutant, all tests for None: (test, what it normally needs), the most promising first.

        Of each program one run comes first, so that many programs are tried before one is tried on many settings. A
        test that is quick and reaches few other mutants comes before one that is slow or reaches most of them."""
        found = []
        for tests in self.siblings().values():
            facts = [self.known[t.name] for t in tests if self.known.get(t.name, {}).get("verdict") == "passed"]
            if not facts or not any(number is None or number in fact["reached"] for fact in facts):
                continue
            runs = []
            for test in tests:
                own = self.known.get(test.name)
                if own is None or (own["verdict"] == "passed" and (number is None or number in own["reached"])):
                    fact = own or max(facts, key=lambda fact: fact["wall"])
                    runs.append((bool(FURTHER.search(test.name)), fact["wall"] * (10 + len(fact["reached"])), test.name, test,
                                 suite.Normal(fact["wall"], fact["cpu"])))
            found += [(rank, *run[1:]) for rank, run in enumerate(sorted(runs))]
        return [(test, normal) for _, _, _, test, normal in sorted(found)]

    def judge(self, number, tests, limit):
        """A mutant that a process can choose. Returns a future of what try_tests() returns."""
        return self.pool.submit(try_tests, number, tests, limit)

    def judge_alone(self, build, restore, tests, limit):
        """A mutant with a build of its own, which build() makes and restore() undoes. As try_tests()."""
        start = time.monotonic()
        if build([test.command for test, _ in tests]) != 0:
            restore()
            return "build", [], time.monotonic() - start
        passed = []
        while True:
            test, normal, more = self.pool.submit(suspect, tests[len(passed):], limit).result()
            passed += more
            restore()
            if test is None or self.pool.submit(passes, test, normal).result():
                return test.name if test else "", passed, time.monotonic() - start
            passed.append(test.name)
            build([test.command for test, _ in tests])

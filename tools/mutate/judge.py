# SPDX-License-Identifier: Apache-2.0
"""Which tests reach a mutant, and whether one of them finds it."""
import bisect
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

# Further runs of a program: the others say what it reaches. Another backend has code of its own.
FURTHER = re.compile(r"\.(native-1|native-8|native-33|crowded|seeded-[2-9]|sched-\w+|late-probe|as-shipped)$")
MUTANTS_MAX = 65536  # bytes of the file in which a test notes what it reaches (mutant.h)
TRIES = 3  # of a mutant under a test that found it once
AGAIN = 2  # times that it is found in them, and that the test passes without it
LONGEST = 120  # seconds that a test may need, of CPU or asleep
FIRST = 30  # seconds of the tests that a mutant meets by itself: most are found in them
WAVES = (1, 5, 20)  # seconds: tests that need less come first, and mutants meet them before others have run

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


def measure(test):
    """A run without a mutant: (verdict, CPU seconds, seconds asleep, numbers of the mutants it reaches)."""
    notes = _runner.folder / f"reached.{os.getpid()}"
    for _ in range(2):
        notes.write_bytes(bytes(MUTANTS_MAX))
        run = _runner.run(test, suite.AtMost(LONGEST), reached=notes)
        if run.verdict != "failed":
            break
    return run.verdict, run.cpu, run.asleep, [number for number, note in enumerate(notes.read_bytes()) if note]


def fails(test, normal, numbers):
    """Whether a test finds something wrong with these mutants at work."""
    return _runner.run(test, normal, numbers).verdict in ("failed", "hangs")


def confirmed(test, normal, number):
    """Whether a test that failed with a mutant passes without, and fails with it again: tests fail by chance, too."""
    if any(_runner.run(test, normal).verdict != "passed" for _ in range(AGAIN)):
        return False
    left = AGAIN
    for tries in range(TRIES, 0, -1):
        if left > tries:
            return False
        left -= fails(test, normal, [number])
        if left == 0:
            return True
    return False


def try_tests(number, tests, limit):
    """Runs tests with a mutant until one finds it or the time is over: (its name or "", tests that passed, seconds)."""
    start, passed = time.monotonic(), []
    for test, normal in tests:
        if time.monotonic() - start > limit:
            break
        if fails(test, normal, [number]) and confirmed(test, normal, number):
            return test.name, passed, time.monotonic() - start
        passed.append(test.name)
    return "", passed, time.monotonic() - start


def found_by(test, normal, numbers):
    """The mutants, of these numbers, that a test finds. It runs with all of them, then with each half for as long as it fails: most
    have survived other tests, so most runs pass. A mutant that undoes what another does can survive here, never be killed."""
    if not fails(test, normal, numbers):
        return []
    if len(numbers) == 1:
        return numbers if confirmed(test, normal, numbers[0]) else []
    half = len(numbers) // 2
    return found_by(test, normal, numbers[:half]) + found_by(test, normal, numbers[half:])


def suspect(tests, limit):
    """The same for a mutant that is in the build itself: the test that failed twice, and tests that passed."""
    start, passed = time.monotonic(), []
    for test, normal in tests:
        if time.monotonic() - start > limit:
            break
        if all(fails(test, normal, ()) for _ in range(2)):
            return test, normal, passed
        passed.append(test.name)
    return None, None, passed


def passes(test, normal):
    """Whether a test passes without a mutant."""
    return _runner.run(test, normal).verdict == "passed"


class Judge:
    """Runs tests in worker processes. file keeps what each test reaches. ran: a build tree in which ctest may have run them."""

    def __init__(self, build, slices, folder, jobs, pause, ran):
        self.folder, self.jobs, self.ran = folder, jobs, ran
        self.file = folder / "reached.json"
        self.tests = {test.name: test for test in suite.listed(build, slices)}
        self.pool = concurrent.futures.ProcessPoolExecutor(jobs, initializer=begin, initargs=(os.getpid(), folder, pause))
        self.known, self.unknown = {}, 0

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

    def waves(self, tests, durations):
        """Divides tests by how long they take, seconds by name; a test of which nothing is known is in the first wave."""
        made = collections.defaultdict(list)
        for test in sorted(tests, key=lambda test: durations.get(test.name, 0)):
            made[bisect.bisect_right(WAVES, durations.get(test.name, 0))].append(test)
        return [wave for _, wave in sorted(made.items())]

    def learn(self, key):
        """Runs each test once, if it was not run with these mutants. key: of the mutants in the build. Yields before the
        first one runs and after each wave: most mutants are found by quick tests, while slow ones need most of the time."""
        kept = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
        before = kept.get("tests", {})
        self.known = before if kept.get("key") == key else {}
        digests = {test.name: test.digest(fingerprint) for test in self.measured()}
        wanted = [test for test in self.measured() if self.known.get(test.name, {}).get("digest") != digests[test.name]]
        durations = suite.durations(self.ran) | {name: fact["cpu"] + fact["asleep"] for name, fact in before.items()}
        self.unknown = len(wanted)
        if wanted:
            yield
            print(f"running {len(wanted)} tests to see which mutants they reach", flush=True)
        for wave in self.waves(wanted, durations):
            self.measure(wave, digests, key)
            self.unknown -= len(wave)
            if self.unknown:
                yield
        if not any(fact["verdict"] == "passed" for fact in self.known.values()):
            raise RuntimeError("no test passes without a mutant (mend the tree first)")
        yield

    def measure(self, tests, digests, key):
        """Runs these tests, and keeps what they reach."""
        tasks = {self.pool.submit(measure, test): test for test in tests}
        for count, task in enumerate(concurrent.futures.as_completed(tasks), start=1):
            test = tasks[task]
            verdict, cpu, asleep, reached = task.result()
            self.known[test.name] = {"digest": digests[test.name], "verdict": verdict, "cpu": cpu, "asleep": asleep, "reached": reached}
            if verdict in ("failed", "hangs"):
                print(f"{test.name} {'fails' if verdict == 'failed' else 'takes too long'} without a mutant: left out", flush=True)
            if count % 20 == 0 or count == len(tests):
                self.file.write_text(json.dumps({"key": key, "tests": self.known}), encoding="utf-8")

    def promise(self, test, fact, file):
        """The less, the sooner a test is tried: it is quick, reaches few other mutants, and has the name of the file or of
        its folder."""
        cost = (0.1 + fact["cpu"] + fact["asleep"] / self.jobs) * (10 + len(fact["reached"]))
        words = {word for word in re.split(r"[/_.]", file.removesuffix(".c")) if len(word) > 3}
        return cost / (1 + 3 * len(words & set(re.split(r"[/_.-]", test.name))))

    def reaching(self, number, file=""):
        """The tests that reach a mutant of a file, all tests for None: (test, what it normally needs), the most promising first.

        Of each program one run comes first, so that many programs are tried before one is tried on many settings."""
        found = []
        for tests in self.siblings().values():
            facts = [self.known[t.name] for t in tests if self.known.get(t.name, {}).get("verdict") == "passed"]
            if not facts or not any(number is None or number in fact["reached"] for fact in facts):
                continue
            runs = []
            for test in tests:
                own = self.known.get(test.name)
                if own is None or (own["verdict"] == "passed" and (number is None or number in own["reached"])):
                    fact = own or max(facts, key=lambda fact: fact["cpu"])
                    runs.append((bool(FURTHER.search(test.name)), self.promise(test, fact, file), test.name, test,
                                 suite.Normal(fact["cpu"], fact["asleep"])))
            found += [(rank, *run[1:]) for rank, run in enumerate(sorted(runs))]
        return [(test, normal) for _, _, _, test, normal in sorted(found)]

    def judge(self, number, tests):
        """A mutant that a process can choose, by the most promising tests. Returns a future of what try_tests() returns."""
        return self.pool.submit(try_tests, number, tests, FIRST)

    def judge_together(self, trials):
        """Runs each test with all mutants that have to meet it and were not found yet, quick tests first. trials: pairs of
        a number and its tests. Yields the test, the numbers, and which of them it has found."""
        numbers = collections.defaultdict(list)
        for number, tests in trials:
            for pair in tests:
                numbers[pair].append(number)
        waiting = sorted(numbers, key=lambda pair: pair[1].cpu + pair[1].asleep, reverse=True)
        found, running = set(), {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                test, normal = waiting.pop()
                left = [number for number in numbers[test, normal] if number not in found]
                if left:
                    running[self.pool.submit(found_by, test, normal, left)] = test, left
            for task in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                test, met = running.pop(task)
                found |= set(task.result())
                yield test, met, task.result()

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

# SPDX-License-Identifier: Apache-2.0
"""The tests of a build tree: runs one of them, with a mutant or without, and ends it when it hangs.

ctest lists the tests; it does not run them, as it waits for its time limits where a mutant hangs. Such a limit also
counts a loaded machine as a hang. Here a test hangs when it uses far more CPU than it does without a mutant, or when
all its threads sleep for a long time. A thread that waits for a CPU does not sleep.
"""
import collections
import contextlib
import ctypes
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import time

# Labels of tests that run none of src/, that run tools, or need the machine.
LEFT_OUT = "mutations|models|lint|bench|install|report|scale"
SANITIZED = [["-L", "quick"], ["-L", "mpi|seeded", "-R", "native-2$|seeded-1$"]]  # what CI runs so (.ci/run)
# Properties of a test that change how ctest judges it, and that we do not know.
UNKNOWN = {"WILL_FAIL", "ENVIRONMENT_MODIFICATION", "FIXTURES_REQUIRED", "SKIP_REGULAR_EXPRESSION", "DISABLED"}
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
MEMORY_MAX, OUTPUT_MAX = 8 << 30, 256 << 20  # bytes
LOOK, STOPPED = 4, 20  # seconds from one look at a test to the next, and beyond which all was stopped


@dataclasses.dataclass(frozen=True)
class Test:
    """A test as ctest lists it."""
    name: str
    command: tuple
    folder: str
    environment: tuple
    passes: tuple
    fails: tuple
    skip: int | None
    serial: bool

    def digest(self, fingerprint):
        """Of all that the test consists of: what differs from run to run is the library alone."""
        made = hashlib.sha256(repr((self.command, self.environment)).encode())
        for word in self.command:
            made.update(fingerprint(word))
        return made.hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Normal:
    """What a test needs without a mutant: seconds of CPU, and seconds in which all its threads sleep."""
    cpu: float
    asleep: float

    def over(self, cpu, idle, asleep):
        """Whether a run that has used so much CPU hangs. idle: seconds it sleeps now. asleep: in all."""
        return cpu > 2 + 10 * self.cpu or idle > 10 + 3 * self.asleep or asleep > 60 + 20 * self.asleep


@dataclasses.dataclass(frozen=True)
class AtMost:
    """Of a test that was never run."""
    limit: float

    def over(self, cpu, _idle, asleep):
        return cpu > self.limit or asleep > self.limit


@dataclasses.dataclass(frozen=True)
class Run:
    """How a run ended: passed, failed, skipped, hangs, or disturbed, when nothing can be said."""
    verdict: str
    cpu: float
    asleep: float


def slices(preset, names):
    """Arguments of ctest that choose the tests of a preset, those of some names (a pattern), or all."""
    return SANITIZED if preset else [["-R", names]] if names else [[]]


def listed(build, slices):
    """The tests of a build tree whose rules we know. slices: arguments of ctest that choose some."""
    entries = {}
    for arguments in slices:
        said = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *arguments, "-LE", LEFT_OUT], check=True,
                              capture_output=True, text=True).stdout
        entries |= {entry["name"]: entry for entry in json.loads(said)["tests"]}
    for entry in entries.values():
        values = {p["name"]: p["value"] for p in entry.get("properties", ())}
        if "command" in entry and not UNKNOWN & values.keys():
            yield Test(entry["name"], tuple(entry["command"]), values.get("WORKING_DIRECTORY", str(build)),
                       tuple(values.get("ENVIRONMENT", ())), tuple(values.get("PASS_REGULAR_EXPRESSION", ())),
                       tuple(values.get("FAIL_REGULAR_EXPRESSION", ())), values.get("SKIP_RETURN_CODE"),
                       bool(values.get("RUN_SERIAL")))


def durations(build):
    """The seconds that tests took where ctest has run them in a build tree, by name."""
    file = build / "Testing" / "Temporary" / "CTestCostData.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {words[0]: float(words[2]) for words in map(str.split, lines) if len(words) == 3}


def become_reaper(main):
    """A process that runs tests adopts what they leave, and ends with the main process."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: (end_offspring(), os._exit(1)))
    if os.getppid() != main:
        os._exit(1)


def offspring():
    """All processes below this one: {pid: (seconds of CPU, bytes of memory)}."""
    children, figures = collections.defaultdict(list), {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = pathlib.Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            children[int(words[1])].append(int(name))
            figures[int(name)] = sum(map(int, words[11:15])) / TICKS, int(words[21]) * PAGE
    found, left = {}, [os.getpid()]
    while left:
        for pid in children[left.pop()]:
            found[pid] = figures[pid]
            left.append(pid)
    return found


def any_runs(pids):
    """Whether a thread of these processes runs, or waits for a CPU."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                stat = pathlib.Path("/proc", str(pid), "task", thread, "stat").read_text(encoding="utf-8", errors="replace")
                if stat.rpartition(")")[2].split()[0] == "R":
                    return True
    return False


def end_offspring():
    """Ends all processes below this one, and processes that they start meanwhile."""
    for _ in range(100):
        below = offspring()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        if not below:
            return
        time.sleep(0.01)


class Runner:
    """Runs tests one at a time, in a process that has become a reaper."""

    def __init__(self, folder, pause):
        self.folder, self.pause = folder, pause
        (folder / "locks").mkdir(exist_ok=True)

    @contextlib.contextmanager
    def locked(self, name, kind=fcntl.LOCK_EX):
        """No two processes run the same test, as both would write the same files."""
        with open(self.folder / "locks" / name.replace("/", "_"), "w", encoding="utf-8") as file:
            fcntl.flock(file, kind)
            yield

    def run(self, test, normal, active=(), reached=None):
        """Runs a test with the mutants of these numbers. A run that was disturbed is repeated."""
        while True:
            while self.pause and self.pause.exists():
                time.sleep(1)
            with self.locked("all tests", fcntl.LOCK_EX if test.serial else fcntl.LOCK_SH), self.locked(test.name):
                run = self.once(test, normal, active, reached)
            if run.verdict != "disturbed":
                return run

    def once(self, test, normal, active, reached):
        log = self.folder / f"output.{os.getpid()}"
        environment = os.environ | dict(setting.split("=", 1) for setting in test.environment)
        environment["MUTATE_ACTIVE"] = ",".join(map(str, active))
        if reached:
            environment["MUTATE_REACHED"] = str(reached)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(log, "wb") as output:
            try:
                process = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                                           stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            except OSError:
                return Run("failed", 0, 0)
            ended, asleep, stopped = self.watch(process, normal, log)
        if ended:
            process.kill()
        process.wait()
        end_offspring()  # it takes the status of each child, so ours was asked for its own before
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        verdict = ended or self.verdict(test, process.returncode, log)
        return Run("disturbed" if stopped and verdict in ("failed", "hangs") else verdict, cpu, asleep)

    def watch(self, process, normal, log):
        """Waits for the end of a process. Returns the verdict, None at an ordinary end, for how long it slept, and whether
        all was stopped for a while."""
        handle = os.pidfd_open(process.pid)
        last = begin = time.monotonic()
        cpu_then = idle = asleep = 0.0
        stopped = False
        try:
            while not select.select([handle], [], [], LOOK)[0]:
                now = time.monotonic()
                below = offspring()
                cpu = sum(used for used, _ in below.values())
                stopped |= now - last > STOPPED
                if self.pause and self.pause.exists():
                    return "disturbed", asleep, stopped
                if cpu - cpu_then > 0.02 * (now - begin) or any_runs(below):
                    begin, cpu_then, idle = now, cpu, 0.0
                else:
                    step = min(now - last, LOOK)  # more: this process had no CPU itself
                    idle, asleep = idle + step, asleep + step
                if normal.over(cpu, idle, asleep) or log.stat().st_size > OUTPUT_MAX \
                        or sum(memory for _, memory in below.values()) > MEMORY_MAX:
                    return "hangs", asleep, stopped
                last = now
        finally:
            os.close(handle)
        return None, asleep, stopped or time.monotonic() - last > STOPPED

    def verdict(self, test, status, log):
        """As ctest judges."""
        if status == test.skip and status is not None:
            return "skipped"
        text = log.read_text(encoding="utf-8", errors="replace") if test.passes or test.fails else ""
        if any(re.search(pattern, text, re.DOTALL) for pattern in test.fails):
            return "failed"
        if test.passes:
            return "passed" if any(re.search(pattern, text, re.DOTALL) for pattern in test.passes) else "failed"
        return "passed" if status == 0 else "failed"


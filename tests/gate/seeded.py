#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeded runs of stock pthread programs: replays, reports of deadlocks, `mltp explore --threads`.

Usage: seeded.py MLTP OBJECTS VARIANTS EDGES PLANTED STEPS [--record]

--record writes seeded.txt, the choices of some runs of STEPS.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MLTP, OBJECTS, VARIANTS, EDGES, PLANTED, STEPS = sys.argv[1:7]
RECORDED = pathlib.Path(__file__).with_name("seeded.txt")
DEADLOCK, LIVELOCK, FOUND = 86, 87, 1
HANG_S = 550  # CTest would end the test a little later, without what it has seen
TIME_LIMIT = f"--timeout={HANG_S}"  # of one run


def call(*words, **settings):
    """Runs a command; returns it ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLTP_")}
    return subprocess.run(words, text=True, capture_output=True, check=False, timeout=HANG_S,
                          env={**environment, **settings})


def same_seed_same_run():
    """One seed makes the same choices each time, another seed others."""
    with tempfile.TemporaryDirectory() as directory:
        logs = []
        for number, seed in enumerate(("5", "5", "6")):
            log = pathlib.Path(directory) / str(number)
            ended = call(MLTP, "run", f"--seed={seed}", "--", OBJECTS, MLTP_SCHEDULE_LOG=str(log))
            assert (ended.returncode, ended.stdout, ended.stderr) == (0, "right\n", ""), ended
            logs.append(log.read_text())
        assert logs[0] == logs[1] != logs[2] and logs[0].count("\n") > 1000
        check_log(logs[0])


def check_log(text):
    """A line is a choice between threads, or a change of the thread: all of both, and nothing else."""
    kinds, before, last = set(), None, 0
    for line in text.splitlines():
        step, choice, count, left, left_name, _, chosen, name = line.split("\t")
        assert int(choice) < int(count) and (left_name, name) == ("objects", "objects"), line
        count, left, chosen = int(count), int(left), int(chosen)
        assert int(step) > last, line
        last = int(step)
        assert count > 1 or left != chosen, line
        assert before in (None, left), line
        before = chosen
        kinds.add((count > 1, left != chosen))
    assert kinds == {(True, False), (True, True), (False, True)}, kinds


def has_one_order(seed, printed, *program):
    """Two runs print this, and choose the same."""
    with tempfile.TemporaryDirectory() as directory:
        logs = [pathlib.Path(directory) / str(number) for number in range(2)]
        for log in logs:
            ended = call(MLTP, "run", f"--seed={seed}", "--", *program, MLTP_SCHEDULE_LOG=str(log))
            assert (ended.returncode, ended.stdout, ended.stderr) == (0, printed, ""), ended
        assert logs[0].read_text() == logs[1].read_text() != ""


def slowness_changes_nothing():
    """A thread that has its permit may wait for the call that wakes it, or for another's end, as long as the kernel likes."""
    has_one_order(3, "", PLANTED, "slow")


def words_wake():
    """A thread that waits for a word is woken by each call that wakes it, in the order of the seed."""
    for seed in range(1, 9):
        has_one_order(seed, "wakes\n", PLANTED, "wakes")


def foreign_waits_are_reported():
    """A thread that waits in the kernel lets others run at a time that no seed says."""
    ended = call(MLTP, "run", "--seed=1", "--", PLANTED, "read")
    assert ended.returncode == 0 and ended.stderr.count("this run may not replay") == 1, ended


def rarer_calls():
    """Timed waits and clocks are right by the run's own clock; another process is not of the run."""
    for seed in ("1", "2"):
        ended = call(MLTP, "run", f"--seed={seed}", "--", VARIANTS, "alone")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "right\n", ""), ended


def no_thread_comes():
    """A run does not wait for threads that libc refuses to make. The others come in the order of the seed."""
    has_one_order(4, "right\n", EDGES, "refused")


def explored(what, status, *options):
    """explore finds the bug, and its last command shows the same end again."""
    ended = call(MLTP, "explore", "--threads", TIME_LIMIT, *options, "--", PLANTED, what)
    assert ended.returncode == FOUND and status in ended.stdout, ended
    command = re.findall(r"replay: (.*)", ended.stdout)[-1].split()
    settings = dict(word.split("=", 1) for word in command if word.startswith("MLTP_"))
    assert command[len(settings):][:4] == ["mltp", "run", "--threads", "--"], command
    return call(MLTP, *command[len(settings) + 1:], **settings)


def check_report(text):
    """Each thread has a line: its name, what it waits for, and where. Variables and functions that are static have no name."""
    for line in (r"thread 1 'planted' waits for the end of thread 2, called from main\+0x[0-9a-f]+ in planted",
                 r"thread 2 'planted' waits for mutex \+0x[0-9a-f]+ in planted, which thread 3 holds, called from \+0x[0-9a-f]+ in planted",
                 r"thread 3 'planted' waits for mutex \+0x[0-9a-f]+ in planted, which thread 2 holds, called from \+0x[0-9a-f]+ in planted"):
        assert re.search(f"^mltp: {line}$", text, re.M), (line, text)


def objects_have_no_names():
    """An object that is no variable of a program or a library has its address in a report."""
    ended = call(MLTP, "run", "--seed=1", "--", PLANTED, "stuck")
    assert ended.returncode == DEADLOCK, ended
    assert re.search(r"^mltp: thread 2 'planted' waits for semaphore 0x[0-9a-f]+, called from \+0x[0-9a-f]+ in planted$", ended.stderr,
                     re.M), ended


def bugs_are_found():
    """Each planted bug is found by each strategy, and replays."""
    for strategy in ("mix", "random", "pct", "delays", "preempt"):
        option = f"--strategy={strategy}"
        again = explored("deadlock", "(deadlock)", option)
        assert (again.returncode, again.stdout) == (DEADLOCK, "deadlock\n"), again
        check_report(again.stderr)
        again = explored("signal", "(deadlock)", option)
        assert again.returncode == DEADLOCK and "waits for condition" in again.stderr, again
        again = explored("words", "(deadlock)", option)
        assert again.returncode == DEADLOCK and again.stderr.count("waits for word") == 2, again
        assert explored("check", "Aborted", option).returncode == -6


def races_are_found():
    """A race between plain loads and stores needs --accesses."""
    ended = call(MLTP, "explore", "--threads", TIME_LIMIT, "--strategy=preempt", "--", PLANTED, "race")
    assert ended.returncode == 0 and "no failure: all" in ended.stdout, ended
    if os.uname().machine == "x86_64":
        assert explored("race", "Aborted", "--accesses").returncode == -6
        for what in ("masked", "first", "handled"):
            assert explored(what, "Aborted", "--accesses").returncode == -6


def early_ends_are_failures():
    """A program that fails before it has threads is shown to fail, not to have no threads."""
    ended = call(MLTP, "explore", "--threads", TIME_LIMIT, "--", "false")
    assert ended.returncode == FOUND and "default order failed: exit status 1" in ended.stdout, ended
    ended = call(MLTP, "explore", "--threads", TIME_LIMIT, "--", "true")
    assert "left nothing to choose" in ended.stderr, ended


def time_is_its_own():
    """Sleeping takes no time, and wakes in the order of the deadlines, whatever the seed."""
    for what in ("sleep", "clocks", "timed"):
        ended = call(MLTP, "explore", "--threads", TIME_LIMIT, "--runs=20", "--", PLANTED, what)
        assert ended.returncode == 0 and "no failure in 20 runs" in ended.stdout, ended


def by_schedule(schedule, seed, *program, **settings):
    """Runs a program with a seed and a schedule; returns it ended."""
    return call(MLTP, "run", "--threads", "--", *program, MLTP_SEED=str(seed), MLTP_SCHEDULE=schedule, **settings)


def calls_that_switched(schedule):
    """How often another thread runs after a call that need not wait."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        ended = by_schedule(schedule, 5, OBJECTS, MLTP_SCHEDULE_LOG=str(log))
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "right\n", ""), ended
        lines = [line.split("\t") for line in log.read_text().splitlines()]
        return sum(left != chosen and name.startswith(("pthread_", "sem_")) for _, _, _, left, _, name, chosen, _ in lines)


def priorities_hold():
    """With random priorities the highest thread runs on, but for one change; it falls when it yields."""
    assert 4 * calls_that_switched("pct:2:1000000") < calls_that_switched("random")
    for seed in range(1, 9):
        ended = by_schedule("pct:1:1000000", seed, PLANTED, "yield", MLTP_STEPS_MAX="1000")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "yield\n", ""), ended


def choices(what, schedule, seed):
    """The lines of the log of a run: step, choice, count, id of a thread, call, id of the next thread."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        ended = by_schedule(schedule, seed, STEPS, what, MLTP_SCHEDULE_LOG=str(log))
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "right\n", ""), ended
        lines = [line.split("\t") for line in log.read_text().splitlines()]
        assert all(line[4] == line[7] == "steps" for line in lines), lines
        return [" ".join([*line[:4], line[5], line[6]]) for line in lines]


# What a thread does while another is ready, and never waits for it.
CALLS = """
pthread_create pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_mutex_timedlock pthread_mutex_unlock
pthread_mutex_clocklock pthread_mutex_unlock pthread_cond_signal pthread_cond_broadcast pthread_rwlock_rdlock
pthread_rwlock_tryrdlock pthread_rwlock_rdlock pthread_rwlock_rdlock pthread_rwlock_trywrlock pthread_rwlock_unlock
pthread_rwlock_unlock pthread_rwlock_unlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlock_unlock pthread_spin_lock
pthread_spin_trylock pthread_spin_unlock sem_post sem_wait sem_trywait sem_post sem_wait sem_post sem_wait pthread_barrier_wait
pthread_barrier_wait pthread_once clock_gettime gettimeofday time pthread_cancel pthread_join
""".split()


def each_call_is_a_choice():
    """Each call that need not wait is one choice, in which the caller is the first."""
    expected = [f"{step} 0 2 1 {call} 1" for step, call in enumerate(CALLS, 2)]
    expected += [f"{len(CALLS) + 2} 0 1 1 wait for an end 2", f"{len(CALLS) + 3} 0 1 2 end 1"]
    made = choices("calls", "fifo", 0)
    assert made == expected, [pair for pair in zip(made, expected) if pair[0] != pair[1]]


def choices_are_as_recorded():
    """The choices of a seed or a schedule are the same in each version of the library: a failure that a user has noted replays."""
    made = []
    for schedule, seed in (("fifo", 0), ("random", 1), ("random", 2), ("pct:3:60", 1), ("pct:4:8", 7), ("9:1,30:1,31:1,40:5", 0)):
        made += [f"{schedule} {seed}", *choices("waits", schedule, seed)]
    text = "".join(f"{line}\n" for line in made)
    if "--record" in sys.argv:
        RECORDED.write_text(text)
    assert text == RECORDED.read_text(), text


def each_wait_is_named():
    """A report says for what kind of object a thread waits."""
    for kind, words in (("mutex", "waits for mutex"), ("condition", "waits for condition"), ("semaphore", "waits for semaphore"),
                        ("barrier", "waits at barrier"), ("rdlock", "waits to read, lock"), ("wrlock", "waits to write, lock"),
                        ("spin", "waits for spin lock"), ("once", "waits for once"), ("join", "waits for the end of thread 2")):
        ended = by_schedule("fifo", 0, STEPS, "stuck", kind)
        assert (ended.returncode, ended.stdout) == (DEADLOCK, ""), (kind, ended)
        assert ended.stderr.startswith("mltp: deadlock: no thread can run: all 2 wait for each other\n"), (kind, ended)
        place = "" if kind == "join" else r" \+0x[0-9a-f]+ in steps"
        holder = ", which thread 2 holds" if kind == "mutex" else ""
        lines = (fr"mltp: thread 1 'steps' {words}{place}{holder}, called from \+0x[0-9a-f]+ in steps\n"
                 r"mltp: thread 2 'steps' waits for semaphore \+0x[0-9a-f]+ in steps, called from \S+ in \S+\n")
        assert re.search(lines, ended.stderr), (kind, ended)


TIMES = """
start: 1000.000002000 1700000000.000003000 1700000000.000004 1700000000
nanosleep: 1003.000007005 1700000003.000008005 1700000003.000009 1700000003
clock_nanosleep: 1006.000012010 1700000006.000013010 1700000006.000014 1700000006
past: 1006.000017010 1700000006.000018010 1700000006.000019 1700000006
late: 1007.000002000 1700000007.000003000 1700000007.000004 1700000007
usleep: 1009.500007000 1700000009.500008000 1700000009.500009 1700000009
sleep: 1013.500012000 1700000013.500013000 1700000013.500014 1700000013
sem_timedwait: 1015.500018000 1700000015.500019000 1700000015.500020 1700000015
none: 1015.500022000 1700000015.500023000 1700000015.500024 1700000015
"""


def clocks_are_exact():
    """A clock gains a microsecond at each choice, and what was slept: to the nanosecond."""
    ended = by_schedule("fifo", 0, STEPS, "times")
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    assert ended.stdout == TIMES.lstrip() + "right\n", ended.stdout


def runs_without_end_are_reported():
    """A run that makes more choices than it may ends with its own status, and says how to repeat it."""
    ended = call(MLTP, "run", "--seed=1", "--", OBJECTS, MLTP_STEPS_MAX="100")
    assert ended.returncode == LIVELOCK and "livelock: 100 scheduling points (raise MLTP_STEPS_MAX" in ended.stderr, ended
    assert "MLTP_SEED=1" in ended.stderr, ended
    ended = call(MLTP, "run", "--seed=1", "--", PLANTED, "sleep", MLTP_STEPS_MAX="2")
    assert (ended.returncode, ended.stdout) == (LIVELOCK, "sleep\n"), ended


if __name__ == "__main__":
    for test in (same_seed_same_run, slowness_changes_nothing, words_wake, foreign_waits_are_reported, rarer_calls, no_thread_comes, bugs_are_found,
                 objects_have_no_names, races_are_found, early_ends_are_failures, time_is_its_own, priorities_hold,
                 each_call_is_a_choice, choices_are_as_recorded, each_wait_is_named, clocks_are_exact, runs_without_end_are_reported):
        test()
        print(f"seeded.py: {test.__name__}: passed")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mltp run --threads`: stock pthread programs run as before, with as many threads as permits.

Usage: gated.py MLTP OBJECTS VARIANTS CROWD EDGES PRIORITIES CALLS LENT EARLY FOUND OLD_NAMES MUSL [SANITIZED...]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FORKING = """
import os, sys, threading, time
def work():
    for _ in range(20): time.sleep(0.0005)
    done.append(1)
done = []
others = [threading.Thread(target=work) for _ in range(4)]
for t in others: t.start()
child = os.fork()
if child == 0: others = [threading.Thread(target=work) for _ in range(4)]
if child == 0: done.clear()
if child == 0: [t.start() for t in others]
for t in others: t.join()
if child == 0: sys.exit(len(done))
print(len(done), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

THREADS = 8  # of the crowd
OTHERS = 6  # programs that compute on the same CPU
MANY = 50  # permits: more threads than the gate wakes at once are woken
HANG_S = 550  # CTest would end the test a little later, without what it has seen
MLTP, OBJECTS, VARIANTS, CROWD, EDGES, PRIORITIES, CALLS, LENT, EARLY, FOUND, OLD_NAMES, MUSL = sys.argv[1:13]
SANITIZED = sys.argv[13:]
GATE = pathlib.Path(__file__).resolve().parents[2] / "src/gate"


def gated(permits, *words, seed=(), monitor="auto"):
    """Runs a program with a number of permits, replayed from a seed if there is one; returns its output. None: the number is
    not given."""
    environment = {**os.environ, "MLTP_COORDINATOR": "off", "MLTP_MONITOR": monitor}
    environment.pop("MLTP_VPS", None)
    if permits is not None:
        environment["MLTP_VPS"] = str(permits)
    ended = subprocess.run([MLTP, "run", "--threads", *seed, "--", *words], text=True, capture_output=True,
                           check=False, env=environment, timeout=HANG_S)
    assert ended.returncode == 0 and ended.stderr == "", (permits, words, monitor, ended)
    return ended.stdout


def objects():
    """Each call on each kind of object does what it does without the gate."""
    for program in (OBJECTS, VARIANTS, EDGES, OLD_NAMES):
        assert subprocess.run([program], check=True, capture_output=True).stdout == b"right\n"
        for permits in (1, 2, 4, MANY):
            assert gated(permits, program) == "right\n"


def nobody_needs_the_monitor():
    """All waits of that program are the gate's own, also those in a child of a program whose threads wait."""
    assert gated(1, EDGES, monitor="off") == "right\n"


def the_last_thread_ends_the_program():
    """The first thread may end before another one, which ends the process."""
    assert subprocess.run([EDGES, "last"], check=True, capture_output=True).stdout == b"right\n"
    for permits in (1, 2):
        assert gated(permits, EDGES, "last") == "right\n"


def no_call_stops_others():
    """With one permit, too, a call that blocks lets the thread run that ends the wait."""
    assert subprocess.run([CALLS], check=True, capture_output=True).stdout == b"right\n"
    for permits in (1, 2):
        assert gated(permits, CALLS) == "right\n"


def as_many_as_permits():
    """Eight threads compute, and never more at a time than there are permits; as many as there are, if none makes a call.
    On a loaded machine the kernel stops threads that have permits, and the monitor would let others run instead."""
    for permits in (1, 2, THREADS - 1):
        for key in ("posix", "c11"):
            over, times = map(int, gated(permits, CROWD, str(permits), key, monitor="off").split())
            assert over == 0 and times > 0, f"{permits} permits, {key}: more threads computed at a time in {over} of {times} cases"
    gated(THREADS, CROWD, "together", monitor="off")


def other_programs_change_nothing():
    """Nearly the same with the monitor, while others have the CPU for longer than a slice: a thread that waits for a CPU does not
    keep its permit from those behind it, which would only wait there, too. One that sleeps still does, if the thread that is to
    wake it has lost its CPU."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(cpus)])
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(OTHERS)]
    try:
        over, times = map(int, gated(1, CROWD, "1").split())
    finally:
        os.sched_setaffinity(0, cpus)
        for other in others:
            other.kill()
            other.wait()
    assert over < times / 10, f"more threads computed at a time in {over} of {times} cases"


def all_have_turns():
    """A thread that has kept its permit for long gives way at its next call, although it has not to wait there."""
    for permits in (1, 2):
        gated(permits, CROWD, "turns")


def nobody_is_stranded():
    """Threads that spin or block while they have all permits do not stop the one they wait for."""
    for permits in (1, 2):
        gated(permits, CROWD, "spin")
        gated(permits, CROWD, "read")


def spinning_has_short_slices():
    """A thread that spins for others' answers, one after another, soon has each in less than a slice."""
    for permits in (1, 2):
        gated(permits, CROWD, "ask")
        gated(permits, CROWD, "stray")


def a_team_spins():
    """A thread that spins until three others have answered does not wait a slice for each of them."""
    gated(1, CROWD, "team")


def the_gate_stands_aside():
    """Without a number of permits, threads that compute for long between their calls all run at the same time."""
    gated(None, CROWD, "aside")


def threads_begin_at_once():
    """Without a number of permits, new threads do not sleep before they begin. With one permit they do."""
    assert gated(None, CROWD, "begin") == "0 4\n"
    assert gated(1, CROWD, "begin") != "0 4\n"


def calls_lend_permits():
    """A thread that waits in a call for another's answer has it sooner than the monitor could take the permit."""
    gated(1, CROWD, "talk")


def exported(*files):
    """Returns the names of the gate's functions in some of its files."""
    return [name for file in files for name in re.findall(r"^GT_EXPORT .*?(\w+)\(", file.read_text(encoding="utf-8"), re.M)]


def old_names(*files):
    """Returns their second names that a new program finds, too. The linker and dlsym() hide libc's others."""
    names = [name for file in files for name in re.findall(r"^GT_OLD_NAME\((\w+),", file.read_text(encoding="utf-8"), re.M)]
    return [name for name in names if "pthread_" not in name]


def each_call_lends():
    """With one permit and without the monitor the thread that ends a wait runs during each call. A call that finds what it
    waits for keeps its permit. All calls of calls.c and word.c are tried."""
    calls = exported(GATE / "calls.c", GATE / "word.c")
    assert calls and sorted(calls) == sorted(gated(1, LENT, "list").split()), calls
    assert subprocess.run([LENT], check=True, capture_output=True).stdout == b"right\n"
    assert gated(1, LENT, "gated", monitor="off") == "right\n"


def no_wake_is_lost():
    """A permit may be granted, taken back and granted again before its thread sleeps."""
    for permits in (1, 2, 3):
        gated(permits, CROWD, "come")


def priorities_count():
    """A thread that gets a real-time priority after its first wait is woken first from then on."""
    for permits in (1, 2):
        assert gated(permits, PRIORITIES) in ("right\n", "refused\n")


def calls_before_the_start():
    """Each call may be a program's first, before the gate has started: it is libc's then."""
    names = subprocess.run([EARLY, "list"], text=True, check=True, capture_output=True).stdout.split()
    assert len(names) > 20, names
    for name in names:
        assert gated(1, EARLY, name) == "right\n", name


def functions_by_a_handle():
    """A program that finds functions by a handle of libc gets the same that it calls by their names: each of the gate's."""
    names = exported(*GATE.glob("*.c"))
    others = old_names(*GATE.glob("*.c"))
    assert len(names) > 80 and len(others) > 5, (names, others)
    for words in ((), (*names, *others, "dlsym", "dlvsym")):
        assert subprocess.run([FOUND, *words], check=True, capture_output=True).stdout == b"right\n"
        for permits in (1, 2):
            assert gated(permits, FOUND, *words) == "right\n"


def children_have_threads():
    """The child of a program with threads begins with a gate of its own, for threads that it makes."""
    for permits in (1, 2):
        for seed in ((), ("--seed=3",)):
            assert gated(permits, sys.executable, "-W", "ignore", "-c", FORKING, seed=seed) == "4 4\n"


def loader_of(program):
    """Returns the path of the loader that a program names."""
    return re.search(rb"/[\w./-]*/ld-[\w.-]+", pathlib.Path(program).read_bytes())[0].decode()


def a_program_of_musl():
    """A program of another C library runs without the gate, whose options nobody reads then. That is said."""
    loader = pathlib.Path(loader_of(MUSL))
    assert loader.name.startswith("ld-musl-"), loader
    loader.unlink(missing_ok=True)
    loader.symlink_to(loader_of(OBJECTS))
    ended = subprocess.run([MLTP, "run", "--threads", "--", MUSL, "some"], text=True, capture_output=True, check=False,
                           env={**os.environ, "MLTP_VPS": "none"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended
    assert re.fullmatch(r"mltp: .* uses musl, another C library: it runs as it is\n", ended.stderr), ended


def as_it_is(program, why, printed="ran\n"):
    """A program that cannot be gated runs, and one line says why."""
    for options in ([], ["--threads"]):
        ended = subprocess.run([MLTP, "run", *options, "--", program], text=True, capture_output=True, check=False,
                               env={**os.environ, "MLTP_COORDINATOR": "off"})
        assert (ended.returncode, ended.stdout) == (0, printed), ended
        assert re.fullmatch(rf"mltp: \S+ {why}.*: it runs as it is\n", ended.stderr), ended


def programs_that_preload_nothing():
    """Statically linked ones, scripts of such an interpreter, and programs with rights of their own."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        text = '#include <stdio.h>\nint main(void) { puts("ran"); return 0; }'
        subprocess.run(["cc", "-x", "c", "-", "-static", "-o", program], text=True, check=True, input=text)
        as_it_is(program, "is linked statically")
        script = pathlib.Path(folder, "script")
        script.write_text(f"#! {program} -x\n", encoding="utf-8")
        other = pathlib.Path(folder, "other")
        other.write_text(f"#!{script}\n", encoding="utf-8")
        for name in (script, other):
            name.chmod(0o755)
            as_it_is(name, "is linked statically")
        if os.getuid() == 0 and not os.statvfs(folder).f_flag & os.ST_NOSUID:
            subprocess.run(["cc", "-x", "c", "-", "-o", program], text=True, check=True, input=text)
            os.chmod(folder, 0o755)
            os.chown(program, 65534, 65534)
            program.chmod(0o4755)
            as_it_is(program, "has rights of its own")


def a_machine_without_proc():
    """The command and the loader find libraries by /proc. The message names it, not the library."""
    bare = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
    if subprocess.run([*bare, "true"], capture_output=True, check=False).returncode != 0:
        print("gated.py: nothing may be unmounted here: no program runs without /proc")
        return
    ended = subprocess.run([*bare, MLTP, "run", "--threads", "--", "true"], text=True, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    assert ended.stderr == "mltp: cannot run true: /proc is missing, which says where libraries are (mount it)\n", ended


def shells_start_programs_of_musl():
    """Its loader finds no library to preload: it would end a program that preloads one of glibc. Programs of glibc are gated."""
    script = "import os; print(*os.environ['LD_PRELOAD'].split(':'), 'libmltp-gate.so' in open('/proc/self/maps').read())"
    library, is_gated = gated(1, "sh", "-c", '"$0" -c "$1"; :', sys.executable, script).split()
    assert library.endswith("/mltp/libmltp-gate.so") and is_gated == "True" and not os.path.exists(library), library
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "musl")
        if shutil.which("musl-gcc") is None:
            print("gated.py: no musl-gcc (musl-tools): no program of musl's is started")
            return
        subprocess.run(["musl-gcc", "-x", "c", "-", "-o", program], text=True, check=True,
                       input='#include <stdio.h>\nint main(void) { puts("right"); return 0; }')
        for options in ([], ["--threads"]):  # what adjusts teams is preloaded, too
            ended = subprocess.run([MLTP, "run", *options, "--", "sh", "-c", f"{program}; :"], text=True, capture_output=True, check=False,
                                   env={**os.environ, "MLTP_COORDINATOR": "off"})
            assert (ended.returncode, ended.stdout) == (0, "right\n"), ended


def programs_with_sanitizers():
    """AddressSanitizer starts behind the gate, and ThreadSanitizer sees what orders the threads. Neither starts by itself on
    every machine: some give it other addresses."""
    for program in SANITIZED:
        if subprocess.run([program], capture_output=True, check=False).stdout != b"right\n":
            print(f"gated.py: {program} does not run by itself: skipped")
            continue
        for permits in (1, 2, 4):
            assert gated(permits, program) == "right\n"


if __name__ == "__main__":
    for test in (objects, nobody_needs_the_monitor, the_last_thread_ends_the_program, no_call_stops_others, as_many_as_permits,
                 other_programs_change_nothing, all_have_turns,
                 nobody_is_stranded, spinning_has_short_slices, a_team_spins, the_gate_stands_aside, threads_begin_at_once,
                 calls_lend_permits, each_call_lends, no_wake_is_lost, priorities_count, calls_before_the_start, functions_by_a_handle,
                 children_have_threads, a_program_of_musl, programs_that_preload_nothing, a_machine_without_proc,
                 shells_start_programs_of_musl, programs_with_sanitizers):
        test()
        print(f"gated.py: {test.__name__}: passed")

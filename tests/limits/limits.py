#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of mltp-limits(7): what runs out, at what size, and what the program gets then, as programs find it.

usage: limits.py [--write] PAGE PROBE RANKS OUTSTANDING TMPIRUN
Each row's program meets the limit. Without --write the page must have the table that comes out; with it, it gets that.
A row that this machine cannot show (a very high vm.max_map_count) is taken from the page.
"""
import os
import pathlib
import re
import subprocess
import sys

TABLE = re.compile(r"^what\tsize\twhat the program gets then\n(.*?)^\.TE", re.M | re.S)
MIB = 1 << 20


class Unlike(Exception):
    """A limit was met in another way than the page can say."""


class Programs:
    def __init__(self, probe, ranks, outstanding, tmpirun):
        self.probe_path, self.ranks_path, self.outstanding_path, self.tmpirun = probe, ranks, outstanding, tmpirun

    @staticmethod
    def run(*command, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MLTP_")}
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=550,
                              env={**environment, "MLTP_COORDINATOR": "off", **settings})

    def probe(self, limit, *number, status=0, **settings):
        """What it printed, and its messages."""
        done = self.run(self.probe_path, limit, *map(str, number), **settings)
        if done.returncode != status:
            raise Unlike(f"{limit}: status {done.returncode}, not {status}: {done.stdout[-300:]}{done.stderr[-1000:]}")
        return done.stdout, done.stderr

    def size(self, limit, *number, **settings):
        """The size at which it was met, and the error."""
        size, error = self.probe(limit, *number, **settings)[0].split()
        return int(size), error

    def job(self, ranks, program, *arguments, status=0):
        done = self.run(self.tmpirun, "--vps", "2", "-n", str(ranks), program, *arguments)
        if done.returncode != status:
            raise Unlike(f"{ranks} ranks of {program}: status {done.returncode}: {done.stderr[-1000:]}")
        return done.stdout, done.stderr


def expect(holds, what):
    if not holds:
        raise Unlike(what)


def max_map_count():
    return int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())


def started(programs):
    slots = 16
    room = {"MLTP_STACK_SPACE": str(64 * MIB), "MLTP_STACK_SIZE": str(64 * MIB // slots), "MLTP_VPS": "1"}
    out, err = programs.probe("stacks", slots, status=86, **room)
    expect(out.count("began") == slots - 1, f"{out.count('began')} of {slots} threads began: the first VP has a stack, too")
    expect("no memory for its stack of 4096 KiB" in err, err)
    expect("waits for memory for its stack" in err, err)
    space, _ = programs.size("stack_space")
    return (f"{space:,} of the default size in {space * 256 >> 30} TiB of address space, or MLTP_STACK_SPACE bytes; half of the "
            "limit under ulimit \\-v",
            "the thread waits until another ends, and a message says so once: \"no memory for its stack\"; if all others wait for "
            "it, that is a deadlock, which is reported")


def created(programs):
    size, error = programs.size("descriptors")
    return f"{size:,}, or memory", f"mltp_create(3) returns {error}"


def stack_size(programs):
    size, error = programs.size("stack_size")
    return f"{size >> 30} GiB", f"mltp_create(3) returns {error} for more"


def guard_pages(programs):
    maximum = max_map_count()
    if maximum > 70000:
        return None
    few, many = maximum // 4 - 100, maximum // 4 + 100
    message = "further stacks have a canary"
    settings = {"MLTP_GUARD": "mprotect", "MLTP_VPS": "1"}
    expect(message not in programs.probe("guards", few, **settings)[1], f"a canary among {few} stacks")
    expect(message in programs.probe("guards", many, **settings)[1], f"no canary among {many} stacks")
    return ("without MADV_GUARD_INSTALL (Linux 6.13), where each takes two mappings: half of vm.max_map_count",
            f"a message says once: \"{message}\"")


def vps(programs):
    size, error = programs.size("vps")
    return f"{size:,}", f"mltp_set_vps(3) returns {error} for more"


def blocked(programs):
    count, err = programs.probe("blocking", 1200, MLTP_VPS="2")
    message = "1024 VPs of 1024 are blocked in the kernel, and there is no other for the ready threads"
    expect(err.count(message) == 1, err)
    return f"{int(count.split()[0]):,}, a VP each", "the next one keeps its VP's threads waiting until mltp_blocking_end(3)"


def semaphore(programs):
    count, _ = programs.size("semaphore", 200, MLTP_VPS="2", MLTP_MONITOR="off")
    most = 1 << (count - 1).bit_length()  # a VP that blocks for something else at the time counts, too
    expect(count > most - 4, f"{count} waiters block a VP")
    return f"{most}", "further waiters park"


def bound(programs):
    _, error = programs.size("bound")
    return "kernel threads of the user or the machine, or memory", f"mltp_create(3) returns {error}"


def keys(programs):
    size, error = programs.size("keys")
    return f"{size:,}", f"mltp_tss_create(3) returns {error}"


def nested(programs):
    _, err = programs.probe("nested", status=86, MLTP_STACK_SPACE=str(64 * MIB))
    expect("waits for memory for its stack" in err, err)
    return ("a stack for each host of simulated threads, which parents use by half",
            "the next thread waits for a stack, and all others for it: a deadlock, which is reported")


def ranks(programs):
    maximum = max_map_count()
    _, err = programs.job(maximum, programs.ranks_path, "descriptors", status=1)
    most = re.search(r"\(at most (\d+) ranks", err)
    expect(most is not None and int(most[1]) == (maximum - 200) // 2, err)
    return (f"two mappings for each, of vm.max_map_count: {(65530 - 200) // 2:,} where it is 65,530",
            "tmpirun(1) refuses more before any of them starts, and names the largest number")


def descriptors(programs):
    few, many = (int(programs.job(count, programs.ranks_path, "descriptors")[0]) for count in (2, 500))
    expect(few == many, f"2 ranks have {few} open files, 500 have {many}")
    return "none for a thread, a rank or a VP", "what the program's own open(2) or socket(2) returns"


def mailbox(programs):
    held = int(programs.job(2, programs.ranks_path, "mailbox")[0])
    expect(abs(held / MIB - round(held / MIB)) < 0.4, f"{held} bytes were sent")  # each message has a header, too
    return f"{round(held / MIB)} MiB of messages of up to 16 KiB", "a sender waits until the receiver takes some out or calls MPI"


def outstanding(programs):
    out, _ = programs.job(64, programs.outstanding_path, "measured")
    each = re.search(r"(\d+) bytes for each", out)
    error = re.search(r"then (MPI_ERR_\w+)", out)
    expect(each is not None and error is not None, out)
    return f"memory: less than {-(-int(each[1]) // 1024)} KiB each in each rank", f"the call returns {error[1]}"


ROWS = (
    ("threads that have started and not ended", started),
    ("threads that were created and not joined", created),
    ("the size of a stack", stack_size),
    ("guard pages", guard_pages),
    ("virtual processors", vps),
    ("threads in mltp_blocking_begin(3)", blocked),
    ("waiters of a lock of class SEMAPHORE that sleep with their VP", semaphore),
    ("bound threads", bound),
    ("thread-specific keys", keys),
    ("nested simulated threads", nested),
    ("ranks of a job", ranks),
    ("file descriptors", descriptors),
    ("messages that a rank has not received", mailbox),
    ("outstanding nonblocking collectives", outstanding),
)


def row_text(what, size, gets):
    return f"T{{\n{what}\nT}}\tT{{\n{size}\nT}}\tT{{\n{gets}\nT}}\n".replace("thread-specific", "thread\\-specific")


def row_of(page, what):
    """The row as the page has it."""
    rows = re.split(r"(?<=\nT\}\n)(?=T\{\n)", page)
    return next((row for row in rows if row.startswith(row_text(what, "", "").split("\nT}")[0])), "")


def main(arguments):
    write = arguments[:1] == ["--write"]
    path, *programs = arguments[write:]
    page = pathlib.Path(path).read_text(encoding="utf-8")
    table = TABLE.search(page)
    programs = Programs(*programs)
    made, failed = "", 0
    for what, meet in ROWS:
        try:
            met = meet(programs)
        except (Unlike, subprocess.TimeoutExpired) as error:
            print(f"limits: {what}: {error}")
            failed += 1
            continue
        if met is None:
            print(f"limits: {what}: not shown: this machine's limit is too high")
        made += row_text(what, *met) if met is not None else row_of(table[1], what)
    if failed:
        return 1
    if write:
        pathlib.Path(path).write_text(page[:table.start(1)] + made + page[table.end(1):], encoding="utf-8")
    elif made != table[1]:
        print(f"limits: the programs found:\n{made}\nmltp-limits(7) says (--write changes it):\n{table[1]}")
        return 1
    print(f"limits: {len(ROWS)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

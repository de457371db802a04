#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is said of mistakes: by the deadlock report, on demand, at a time-out.

usage: mistakes.py TMPIRUN PROGRAM
"""
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEADLOCK, TIMEOUT = 86, 124
TMPIRUN, PROGRAM = "", ""


def run(how, *options, ranks=4):
    arguments = (how,) if isinstance(how, str) else how
    return subprocess.run([TMPIRUN, "-n", str(ranks), *options, PROGRAM, *arguments], capture_output=True,
                          text=True, check=False)


class Mistakes(unittest.TestCase):
    def said(self, result, status, *patterns):
        self.assertEqual(result.returncode, status, result.stderr)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)

    def hangs(self, how, *patterns, ranks=4):
        result = run(how, ranks=ranks)
        self.said(result, DEADLOCK, *patterns)
        return result.stderr


class Deadlocks(Mistakes):
    def test_head_to_head(self):
        said = self.hangs("head-to-head",
                          "rank 0 waits in MPI_Send: no receive was posted by rank 3, tag 0, 400000 bytes, on"
                          " MPI_COMM_WORLD, at mistakes.c:[0-9]+ \\(head_to_head\\)",
                          "why: ranks 0 -> 3 -> 0 wait for each other in a circle: all send first")
        self.assertRegex(said, r"rank 0:\n +#0 .*PMPI_Send.*\n(.*\n)* +#[0-9]+ +mistakes.c:[0-9]+ \(main\)")

    def test_missing_in_a_collective(self):
        self.hangs("missing", "ranks 0-98 wait in MPI_Barrier on MPI_COMM_WORLD, at mistakes.c:",
                   "rank 99 waits in MPI_Recv: no message has come from rank 0, tag 9",
                   "why: rank 99 has not called MPI_Barrier on MPI_COMM_WORLD\n", ranks=100)

    def test_crossed_tags(self):
        self.hangs("crossed-tags", "rank 0 waits in MPI_Ssend: .* rank 1, tag 1",
                   "rank 1 waits in MPI_Recv: .* rank 0, tag 2",
                   "ranks 2-3 wait in MPI_Finalize on MPI_COMM_WORLD",
                   "why: rank 0 sends to rank 1 with tag 1, which receives from it with tag 2")

    def test_wrong_order(self):
        self.hangs("wrong-order-hangs",
                   "why: ranks 0, 2-3 called MPI_Bcast on .* where rank 1 called MPI_Barrier")
        self.hangs("wrong-order-two", "ranks 0, 2 wait in MPI_Barrier on first, at mistakes.c:",
                   "why: ranks 1, 3 have not called MPI_Barrier on first\n",
                   "why: ranks 0, 2 have not called MPI_Barrier on second\n")

    def test_wrong_root(self):
        self.hangs("wrong-root-hangs", "why: ranks 0-1, 3 called MPI_Bcast on MPI_COMM_WORLD with root 0 where rank 2"
                   " called it with root 2")

    def test_different_collectives_that_do_not_hang(self):
        """What a rank reads was not published for its call: without --check, too, no wrong result is used."""
        for how, call in (("wrong-root", "MPI_Bcast"), ("wrong-order", "MPI_Allreduce"), ("wrong-root-gather", "MPI_Gather"),
                          ("wrong-root-reduce", "MPI_Reduce"), ("wrong-kind", "MPI_All[a-z]+")):
            for options in ((), ("--vps=1",), ("--vps=4",)):
                self.said(run(how, *options), 16, f"^tmpi: rank [0-3]: {call} on MPI_COMM_WORLD: rank [0-3] of it is in another"
                          " collective, or names another root", "at mistakes.c:[0-9]+ \\(wrong_")

    def test_probes(self):
        self.hangs("probes", "rank 1 waits in MPI_Probe: no message has come from rank 0, tag 7, on MPI_COMM_WORLD, at",
                   "rank 2 waits in MPI_Mprobe: no message has come from any rank, any tag, on MPI_COMM_WORLD, at",
                   "why: rank 1 waits for rank 0, which is in MPI_Finalize")

    def test_request_that_was_never_started(self):
        self.hangs("never-started", "rank 1 waits in MPI_Recv: no message has come from rank 0, tag 5",
                   "why: rank 0 has waited for a persistent send to rank 1, tag 5, that it has not started",
                   "why: rank 1 waits for rank 0, which is in MPI_Finalize")

    def test_circle_of_receives(self):
        self.hangs("all-receive", "why: ranks 0 -> 1 -> 2 -> 3 -> 0 .*: all receive first")
        self.hangs("all-receive", "why: ranks 0 -> 1 .* -> ... \\(1000 ranks\\)",
                   "ranks 0-999 wait in MPI_Recv: .* another rank each.*: rank 0: rank 1; rank 1: rank 2", ranks=1000)

    def test_rank_that_has_ended(self):
        self.hangs("early-end", "rank 0 has ended", "ranks 1-3 wait in MPI_Recv: .* rank 0, tag 4",
                   "why: ranks 1-3 wait for rank 0, which has ended")

    def test_other_communicator(self):
        self.hangs("other-comm",
                   "why: rank 0 sends to rank 1 on copy, which receives from it on MPI_COMM_WORLD")

    def test_reported_in_under_a_second(self):
        """It takes less than a second more than a job that ends: on a busy machine both are slow."""
        longer = math.inf
        for _ in range(20):
            times = [time.monotonic()]
            for end in (lambda: self.said(run(""), 0), lambda: self.hangs("missing")):
                end()
                times.append(time.monotonic())
            longer = min(longer, times[2] - 2 * times[1] + times[0])
            if longer < 1:
                break
        self.assertLess(longer, 1)


class OnDemand(Mistakes):
    def test_timeout(self):
        for seconds in (1, 2, 4, 8, 16, 32, 64):  # on a busy machine ranks begin late
            result = run("computes", f"--timeout={seconds}")
            self.said(result, TIMEOUT, "time-out of 4 ranks", f"tmpirun: the program has not ended after {seconds} s")
            if "ranks 0, 2-3 wait in MPI_Barrier" in result.stderr:
                break
        self.said(result, TIMEOUT, "ranks 0, 2-3 wait in MPI_Barrier", "rank 1 is outside of MPI",
                  "why: rank 1 has not called MPI_Barrier")

    def test_no_timeout_when_it_ends_before(self):
        self.said(run("", "--timeout=550"), 0, "^$")

    def test_deadlock_before_the_timeout(self):
        self.said(run("missing", "--timeout=550"), DEADLOCK, "deadlock of 4 ranks")

    def looks_into(self, number, pattern, **environment):
        """Sends a signal until what is said of it is complete, twice: the program continues."""
        process = subprocess.Popen([TMPIRUN, "-n", "4", PROGRAM, "waits-for-word"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **environment})
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            for _ in range(2):
                said = ""
                while not re.search(pattern, said):
                    process.send_signal(number)
                    said = process.stderr.readline()
                    while not re.search(r"ranks? 0\b.* outside of MPI|\d+ threads; ", said.splitlines()[-1]):
                        said += process.stderr.readline()
            process.stdin.close()
            self.assertEqual(process.wait(), 0)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def test_signal(self):
        self.looks_into(signal.SIGUSR1, "(?s)report on SIGUSR1.*ranks? 0\\b.* outside of MPI")

    def test_dump_of_threads(self):
        self.looks_into(signal.SIGUSR2, "'rank 1' .*: waits for MPI_Recv, for", MLTP_DUMP_SIGNAL=str(int(signal.SIGUSR2)))


class Checked(Mistakes):
    """What --check finds; none of it is found without, and the program ends well then."""

    def found(self, how, *patterns, status=1):
        result = run(how, "--check")
        self.said(result, status, *patterns)
        return result.stderr

    def test_nothing_is_found_where_nothing_is_wrong(self):
        for how in ("", "same-data"):
            self.said(run(how, "--check"), 0, "^$")

    def test_wrong_root(self):
        self.found("wrong-root", "check: ranks of MPI_COMM_WORLD name different roots:\n",
                   "rank 2: MPI_Bcast\\(1 MPI_INT, root 1\\) at mistakes.c:[0-9]+ \\(wrong_root\\)\n")

    def test_wrong_order(self):
        for how in ("wrong-order", "wrong-order-hangs"):
            self.found(how, "check: ranks of MPI_COMM_WORLD call different collectives:",
                       "rank 1: MPI_Barrier\\(\\) at mistakes.c:")

    def test_each_collective(self):
        names = run("no-barrier").stdout.split()
        self.assertGreater(len(names), 10)
        for name in names:
            self.found(("no-barrier", name), "check: ranks of a communicator call different collectives:\n",
                       rf"rank 1: {name}\(.*\) at mistakes.c:\d+ \(call_", r"ranks? [0-3, -]+: MPI_Barrier\(\) at")

    def test_right_programs(self):
        """Collectives on intercommunicators, types that nobody frees, waiting for what was not started."""
        for how in ("intercomm", "f90-type", "inactive", "right-buffers"):
            self.said(run(how, "--check=strict"), 0, "^$")

    def test_messages_never_received(self):
        self.said(run("never-received"), 0, "^$")
        self.found("never-received", "rank 1: 2 messages were never received: 3 MPI_INT from rank 0 of MPI_COMM_WORLD, tag 4",
                   "rank 1: 1 message was never received: 1 MPI_INT from rank 3 of a communicator, tag 5",
                   "has found 2 mistakes")

    def test_arguments_of_collectives(self):
        self.found("other-op", "name different operations", "rank 3: MPI_Allreduce\\(4 MPI_INT, MPI_MAX\\)")
        self.found("other-count", "have different data", "rank 1: MPI_Reduce\\(5 MPI_INT, root 0, MPI_SUM\\)")
        self.found("other-type", "have different data", "rank 1: MPI_Bcast\\(4 MPI_FLOAT, root 0\\)")
        self.found("other-gather", "send other data than they receive",
                   "rank 0: MPI_Gather\\(sends 1 MPI_INT, receives 2 MPI_INT, root 0\\)")

    def test_types_of_messages(self):
        for how, count in (("wrong-type-small", 2), ("wrong-type-large", 100000)):
            self.said(run(how), 0, "^$")
            self.found(how, f"rank 1 receives {count} MPI_FLOAT from rank 0 of MPI_COMM_WORLD, which sent {count}"
                       " MPI_INT \\(tag 7\\)")

    def test_findings_without_end(self):
        said = self.found("wrong-type-often", "check: further findings are counted only\n", "has found 120 mistakes")
        self.assertEqual((said.count("which sent 2 MPI_INT"), said.count("further findings")), (100, 1))

    def test_truncation(self):
        self.found("too-long", "rank 1: MPI_Recv\\(2 MPI_INT, rank 0, tag 0\\) at .* longer than there is room")

    def test_accesses_to_windows_that_conflict(self):
        for how in ("put-put", "put-get", "put-without-flush"):
            self.said(run(how), 0, "^$")
        self.found("put-put", r"MPI_Put\(2 MPI_INT, rank 0\) at mistakes_windows.c:\d+ \(put_put\)", "memory of rank 0 on halo that",
                   r"in the same epoch \(a fence, flush or unlock", "has found 1 mistake\n")
        self.found("put-others-put", r"rank 3: MPI_Put\(.* of rank 1 writes", "has found 1 mistake\n")
        self.found("put-get", r"MPI_Get\(.*reads", r"MPI_Accumulate\(.*updates", "has found 1 mistake\n")
        self.found("put-without-flush", r"rank 2: MPI_Get\(.*MPI_Put\(.*of rank 1 writes", "has found 1 mistake\n")
        self.found("rput-rget", r"rank 1: MPI_Rget\(.*reads.*MPI_Rput\(.*of rank 1 writes", "has found 1 mistake\n")
        self.found("update-put", r"MPI_Put\(.*MPI_Rget_accumulate\(.*of rank 1 updates", "has found 1 mistake\n")
        self.found("rget-put", r"MPI_Put\(3.*MPI_Rget\(.*of rank 1 reads", "has found 1 mistake\n")
        self.found("put-flush-local-put", r"MPI_Put\(.*MPI_Put\(.*of rank 1 writes", "has found 1 mistake\n")
        for how in ("ordered-gets", "ordered-accesses"):
            self.said(run(how, "--check=strict"), 0, "^$")

    def test_window_that_is_not_freed(self):
        self.found("window-kept", r"ranks 0-3: 4 windows were not freed, of MPI_Win_create\(\) at mistakes_windows.c:\d+"
                   r" \(make_window\) \(MPI_Win_free\)", status=0)

    def test_leaks(self):
        self.said(run("leaks"), 0, "^$")
        leaks = ("ranks 0-3: 4 communicators were not freed, of MPI_Comm_dup\\(\\) at mistakes.c:",
                 "ranks 0-3: 4 groups were not freed, of MPI_Comm_group",
                 "ranks 0-3: 8 datatypes were not freed, of MPI_Type_contiguous\\(\\) at mistakes.c:")
        unfinished = "rank 2: 1 request was not completed, of MPI_Irecv"
        self.found("leaks", *leaks, unfinished, "3 kinds of leaks: no mistakes", "has found 1 mistake\n")
        self.said(run("leaks", "--check=strict"), 1, *leaks, unfinished, "has found 4 mistakes")
        self.said(run("only-leaks", "--check"), 0, "4 groups were not freed", "1 kind of leaks: no mistake")
        self.said(run("only-leaks", "--check=strict"), 1, "4 groups were not freed", "has found 1 mistake\n")

    def test_leaks_of_each_kind(self):
        lines = []
        for who, what, call, remedy in (
                ("ranks 0-3", "4 communicators were not freed", "Comm_dup", "Comm_free"),
                ("rank 1", "1 error handler was not freed", "Comm_create_errhandler", "Errhandler_free"),
                ("ranks 1-3", "3 groups were not freed", "Comm_group", "Group_free"),
                ("rank 0", "1 file was not freed", "File_open", "File_close"),
                ("rank 2", "1 info object was not freed", "Info_create", "Info_free"),
                ("rank 3", "1 operation was not freed", "Op_create", "Op_free"),
                ("rank 0", "1 request was not freed", "Recv_init", "Request_free"),
                ("rank 2", "1 request was not completed", "Recv_init", "Wait"),
                ("ranks 1, 3", "2 datatypes were not freed", "Type_contiguous", "Type_free"),
                ("ranks 0-3", "4 windows were not freed", "Win_create", "Win_free")):
            lines.append(f"tmpi: check: {who}: {what}, of MPI_{call}() at mistakes.c:N (leaks_of_each_kind) (MPI_{remedy})")
        for option in ("--check", "--check=strict"):
            result = run("leaks-of-each-kind", option)
            said = re.sub(r"\.c:\d+", ".c:N", result.stderr).splitlines()
            self.assertEqual(result.returncode, 1)
            self.assertEqual(sorted(line for line in said if " of MPI_" in line), sorted(lines))
            note = "tmpi: check: 9 kinds of leaks: no mistakes, so the exit status stays (--check=strict changes it)"
            self.assertEqual(note in said, option == "--check")

    def test_each_message_that_was_never_received(self):
        said = self.found("each-never-received", "has found 6 mistakes\n")
        found = [line.partition(" received: ")[2] for line in said.splitlines() if "never received" in line]
        world = "MPI_COMM_WORLD"
        wanted = (("1 MPI_INT from rank 0", world, 1), ("1 MPI_INT from rank 0", world, 2), ("2 MPI_INT from rank 0", world, 2),
                  ("2 MPI_FLOAT from rank 0", world, 2), ("2 MPI_FLOAT from rank 0", "copy", 2),
                  ("2 MPI_FLOAT from rank 2", "copy", 2))
        self.assertEqual(found, [f"{what} of {comm}, tag {tag}" for what, comm, tag in wanted])
        self.assertEqual(said.count("rank 1: 2 messages were "), 1)
        self.assertEqual(said.count("rank 1: 1 message was "), 5)

    def test_buffers(self):
        self.found("shared-buffer", "rank 0: MPI_Irecv.* uses memory that belongs to MPI_Irecv.* until")
        self.found("changed-buffer", "rank 0: what MPI_Isend.* sends was changed before that was complete")
        self.found("changed-persistent", "rank 0: what MPI_Start\\(\\) at mistakes.c:[0-9]+ \\(changed_persistent\\) sends was changed before that was complete")
        self.found("changed-contribution", "rank 3: what MPI_Iallreduce.* sends was changed before that was complete")
        same = "sends from a buffer where it receives"
        said = self.found("same-buffers", f"rank 1: MPI_Sendrecv.* {same} \\(MPI_Sendrecv_replace\\)\n",
                          f"rank 3: MPI_Allreduce.* {same} \\(MPI_IN_PLACE\\)\n", f"rank 0: MPI_Gather.* {same}")
        self.assertNotRegex(said, "rank [123]: MPI_Gather")

    def test_lines_when_the_first_rank_asks(self):
        result = run("changed-buffer", "--check", ranks=1)
        self.said(result, 1, r"rank 0: what MPI_Isend.* at mistakes.c:[0-9]+ \(changed_buffer\) sends was changed")

    def test_collective_that_is_not_complete(self):
        """It may be complete by chance; otherwise the message names it."""
        results = [run("kept-collective", ranks=ranks) for ranks in (2, 4) for _ in range(5)]
        for result in results:
            if result.returncode != 0:
                self.said(result, 16, "MPI_Ibarrier: not complete when its rank called MPI_Finalize\\(\\) \\(wait for it")


class Reports(Mistakes):
    def test_text(self):
        self.said(run("all-receive", "--report"), DEADLOCK)
        self.said(run("same-data", "--report"), 0, "(?m)^MPI_Bcast +4 +0 +64 ", "ranks have waited [1-9]",
                  "(?m)^MPI_Sendrecv +4 +4 +64 ", "(?m)^MPI_Type_commit +8 +0 +0 ")
        self.said(run("wrong-type-large", "--report"), 0, "(?m)^MPI_Recv +1 .*[^ ] +1$")  # the rank that was in it longest

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            name = pathlib.Path(folder, "report.json")
            self.said(run("wrong-type-large", f"--report={name}"), 0, "^$")
            report = json.loads(name.read_text(encoding="ascii"))
        self.assertEqual((report["size"], [rank["rank"] for rank in report["ranks"]]), (4, [0, 1, 2, 3]))
        libraries = {pathlib.Path(library["path"]).name.partition(".")[0]: library for library in report["libraries"]}
        self.assertGreater(libraries["mistakes"]["bytes"], 0)
        self.assertIsNone(libraries["mistakes"]["shared"])
        self.assertTrue(any(library["shared"] for library in libraries.values()), libraries)
        self.assertEqual(sum(rank["parks"] for rank in report["ranks"]), report["waits"]["parks"])
        calls = [rank["calls"] for rank in report["ranks"]]
        self.assertEqual((calls[0]["MPI_Send"]["messages"], calls[0]["MPI_Send"]["bytes"]), (1, 400000))
        self.assertEqual((calls[1]["MPI_Recv"]["calls"], calls[1]["MPI_Recv"]["bytes"]), (1, 0))
        self.assertNotIn("MPI_Send", calls[1])
        self.assertGreater(calls[2]["MPI_Finalize"]["seconds"], 0)

    def test_file_that_cannot_be_written(self):
        self.said(run("", "--report=/no/such/folder/file"), 0, "cannot be written to '/no/such/folder/file': No such")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that people make: the report names the cause that a person would. Right programs get none.

usage: causes.py TMPIRUN PROGRAM
"""
import re
import signal
import subprocess
import sys
import unittest

DEADLOCK = 86
TMPIRUN, PROGRAM = "", ""
WORLD = "on MPI_COMM_WORLD"
AT = r"at causes\.c:\d+"

# The mistake, the number of ranks, the status, and what is said.
MISTAKES = {
    "unreceived": (2, DEADLOCK, [f"rank 0 waits in MPI_Ssend: no receive was posted by rank 1, tag 3, 4 bytes, {WORLD}, {AT}",
                                 "why: rank 0 waits for rank 1, which is in MPI_Finalize"]),
    "large-to-oneself": (2, DEADLOCK, [f"rank 0 waits in MPI_Send: no receive was posted by rank 0, .*{AT}",
                                       "why: rank 0 waits for a receive of its own, which it cannot post while waiting"]),
    "too-many-receives": (4, DEADLOCK, ["why: rank 0 waits for a message from any rank, and every other rank"]),
    "one-tag-of-many": (1000, DEADLOCK, [f"why: rank 500 has sent rank 501 a message with tag 8 {WORLD}, which nobody receives:"
                                         f" rank 501 waits for tag 7 {WORLD}"]),
    "silent-all": (7, DEADLOCK, [f"rank 0 waits in MPI_Waitall: no message has come from rank 5, tag 0, 4 bytes, {WORLD}",
                                 "why: rank 0 waits for rank 5, which is in MPI_Finalize"]),
    "silent-late": (7, DEADLOCK, [f"rank 0 waits in MPI_Waitall: no message has come from rank 5, tag 0, 4 bytes, {WORLD}"]),
    "silent-any": (7, DEADLOCK, ["rank 0 waits in MPI_Waitany: no message has come from rank 5, tag 0"]),
    "silent-each": (7, DEADLOCK, ["rank 0 waits in MPI_Wait: no message has come from rank 5, tag 0"]),
    "elsewhere": (7, DEADLOCK, ["rank 0 waits in MPI_Waitall: no message has come from rank 5, tag 0",
                                f"why: ranks 1-4, 6 called MPI_Finalize {WORLD} where rank 5 called MPI_Barrier"]),
    "half-of-a-half": (4, DEADLOCK, [rf"rank 1 waits in MPI_Barrier on a communicator of 2 ranks \(1, 3\).*{AT} \(half_of_a_half\)",
                                     "why: rank 3 has not called MPI_Barrier"]),
    "lonely-fence": (2, DEADLOCK, ["rank 0 waits in MPI_Win_fence on a window", "why: rank 1 has not called MPI_Win_fence"]),
    "named-window": (2, DEADLOCK, [f"rank 0 waits in MPI_Win_fence on the table, {AT}",
                                   "why: rank 1 has not called MPI_Win_fence on the table"]),
    "lonely-sync": (4, DEADLOCK, [f"ranks 0-1, 3 wait in MPI_File_sync on a file, {AT}",
                                  "why: rank 2 has not called MPI_File_sync on a file"]),
    "session": (2, DEADLOCK, [f"rank 0 waits in MPI_Recv: no message has come from rank 1, tag 0, 4 bytes, on .*, {AT}",
                              "why: ranks 0 -> 1 -> 0 wait for each other in a circle: all receive first"]),
    "exits": (4, DEADLOCK, [f"why: rank 2 has not called MPI_Barrier {WORLD}, and has ended"]),
    "exits-with-status": (4, 3, ["rank 1 .*status 3"]),
    "crashes": (8, -signal.SIGSEGV, ["rank 7 crashed: SIGSEGV at address ", r"#0  causes\.c:\d+ \(store\)"]),
}
# What was printed before an end arrives.
PRINTED = {"prints-and-waits": DEADLOCK, "prints-and-aborts": -signal.SIGABRT,
           "prints-and-ends-the-job": 3}
RIGHT = ("sleeps", "polls", "forks", "calls-a-shell", "waits-for-an-alarm", "thread-sends", "thread-signals")


def run(how, ranks, **more):
    return subprocess.run([TMPIRUN, "-n", str(ranks), PROGRAM, how], capture_output=True, text=True, check=False, **more)


class Causes(unittest.TestCase):
    def test_mistakes(self):
        for how, (ranks, status, patterns) in MISTAKES.items():
            with self.subTest(how):
                ended = run(how, ranks)
                self.assertEqual(ended.returncode, status, ended)
                for pattern in patterns:
                    self.assertRegex(ended.stderr, pattern)

    def test_nobody_else_is_blamed(self):
        for how in ("silent-all", "silent-late", "silent-any", "silent-each"):
            with self.subTest(how):
                self.assertNotRegex(run(how, 7).stderr, "come from (rank [1-46]|another)")

    def test_what_was_printed_arrives(self):
        for how, status in PRINTED.items():
            with self.subTest(how):
                ended = run(how, 2)
                self.assertEqual(ended.returncode, status, ended)
                self.assertEqual(sorted(ended.stdout.splitlines()), ["rank 0 has printed", "rank 1 has printed"])

    def test_right_programs(self):
        for how in RIGHT:
            with self.subTest(how):
                ended = run(how, 4)
                self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_input_that_comes_late(self):
        with subprocess.Popen(["sleep", "0.3"], stdout=subprocess.PIPE) as late, \
                subprocess.Popen(["sh", "-c", "cat; echo x"], stdin=late.stdout, stdout=subprocess.PIPE) as given:
            ended = run("reads", 4, stdin=given.stdout)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_flush_while_another_rank_reads(self):
        with subprocess.Popen([TMPIRUN, "-n", "4", PROGRAM, "flushes"], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.read(7), "flushed")
            self.assertEqual(process.communicate("x"), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_abort_while_another_rank_reads(self):
        with subprocess.Popen([TMPIRUN, "-n", "4", PROGRAM, "aborts-beside-a-reader"], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.read(), "rank 0 has printed\n")  # its input stays open until the job has ended
            self.assertEqual(process.wait(), 3, process.stderr.read())

    def test_a_rank_that_probes(self):
        with subprocess.Popen([TMPIRUN, "-n", "2", PROGRAM, "probes"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                self.assertEqual(process.stdout.readline(), "on its way\n")
                said = ""
                while not re.search(rf"rank 0 is in MPI_Iprobe, which does not wait, {AT} \(probes\)", said):
                    process.send_signal(signal.SIGUSR1)
                    said = process.stderr.readline()
                    while not re.match(r"tmpi:   ranks? 0\b", said):
                        said = process.stderr.readline()
            finally:
                process.kill()


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --report counts: of each rank and call, how many calls, messages and bytes.

usage: traffic.py TMPIRUN PROGRAM
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM = "", ""
RANKS = 3

# The calls of all ranks: (calls, messages, bytes).
ALL = {
    "MPI_Init": (1, 0, 0),
    "MPI_Comm_rank": (1, 0, 0),
    "MPI_Comm_size": (1, 0, 0),
    "MPI_Sendrecv": (1, 1, 16),
    "MPI_Barrier": (1, 0, 0),
    "MPI_Bcast": (1, 0, 40),
    "MPI_Allreduce": (2, 0, 48),  # the same in place
    "MPI_Allgather": (1, 0, 8),
    "MPI_Ibarrier": (1, 0, 0),
    "MPI_Wait": (1, 0, 0),
    "MPI_Reduce_local": (1, 0, 0),
    "MPI_Finalize": (1, 0, 0),
}
SENDS = {
    "MPI_Type_vector": (1, 0, 0),
    "MPI_Type_commit": (1, 0, 0),
    "MPI_Type_free": (1, 0, 0),
    "MPI_Buffer_attach": (1, 0, 0),
    "MPI_Buffer_detach": (1, 0, 0),
    "MPI_Send": (4, 3, 12 + 32),
    "MPI_Ssend": (1, 1, 4),
    "MPI_Bsend": (1, 1, 8),
    "MPI_Isend": (1, 1, 14),
    "MPI_Send_init": (2, 0, 0),
    "MPI_Start": (1, 1, 8),
    "MPI_Startall": (1, 2, 8 + 16),
    "MPI_Wait": (3, 0, 0),
    "MPI_Waitall": (1, 0, 0),
    "MPI_Request_free": (2, 0, 0),
}
RECEIVES = {
    "MPI_Recv": (5, 0, 0),
    "MPI_Mprobe": (1, 0, 0),
    "MPI_Mrecv": (1, 0, 0),
    "MPI_Irecv": (1, 0, 0),
    "MPI_Recv_init": (1, 0, 0),
    "MPI_Start": (2, 0, 0),
    "MPI_Wait": (4, 0, 0),
    "MPI_Request_free": (1, 0, 0),
}
EXPECTED = [ALL | SENDS, ALL | RECEIVES, ALL]
# Calls that may wait for other ranks.
WAITS = re.compile("MPI_(Recv|Mrecv|Sendrecv|Ssend|Wait|Waitall|Mprobe|Barrier|Bcast|Allreduce|Allgather)$")


def sums():
    """The calls of all ranks together, by name."""
    names = {name for calls in EXPECTED for name in calls}
    return {name: tuple(sum(calls.get(name, (0, 0, 0))[i] for calls in EXPECTED) for i in range(3)) for name in names}


def run(option):
    done = subprocess.run([TMPIRUN, "-n", str(RANKS), option, PROGRAM], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


class Traffic(unittest.TestCase):
    maxDiff = None

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report.json")
            self.assertEqual(run(f"--report={file}"), (0, ""))
            report = json.loads(file.read_text(encoding="ascii"))
        self.assertEqual(report["size"], RANKS)
        for rank, expected in zip(report["ranks"], EXPECTED, strict=True):
            found = {name: (call["calls"], call["messages"], call["bytes"]) for name, call in rank["calls"].items()}
            self.assertEqual(found, expected, rank["rank"])
            self.assertEqual(rank["node"], 0)
        self.assertEqual(report["waits"]["calls"], sum(calls for name, (calls, *_) in sums().items() if WAITS.match(name)))

    def test_text(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report.text")
            self.assertEqual(run(f"--report={file}"), (0, ""))
            text = file.read_text(encoding="ascii")
        lines = re.findall(r"(?m)^(MPI_\w+) +(\d+) +(\d+) +(\d+) +\d+\.\d{6} +\d+\.\d{6}  [0-2]$", text)
        self.assertEqual({name: tuple(map(int, rest)) for name, *rest in lines}, sums())
        self.assertRegex(text, rf"^tmpi: report of {RANKS} ranks; ")
        self.assertIn(f"\nin {sum(c for name, (c, *_) in sums().items() if WAITS.match(name))} calls ranks have waited ", text)

    def test_without_a_file(self):
        status, said = run("--report")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"(?m)^MPI_Send +4 +3 +44 ")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

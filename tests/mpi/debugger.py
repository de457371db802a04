#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gdb over all ranks: breakpoints, backtraces, globals; of a running program, and of its core.

usage: debugger.py TMPIRUN PROGRAM GDB SCRIPT
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM, GDB, SCRIPT = "", "", "", ""
RANKS = 3


def gdb(*arguments, commands):
    line = [GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set breakpoint pending on",
            "-ex", f"source {SCRIPT}"]
    for command in commands:
        line += ["-ex", command]
    result = subprocess.run([*line, *arguments], capture_output=True, text=True, check=False)
    return result.stdout


class Debugger(unittest.TestCase):
    def test_breakpoint_in_every_rank(self):
        source = pathlib.Path(__file__).with_name("globals.c").read_text(encoding="ascii").splitlines()
        stop = next(number for number, line in enumerate(source, start=1) if "/* stop */" in line)
        look = ["bt 2", "print rank", "print rank_static", 'print $mltp_own("rank_global")', "info mltp threads",
                "continue"]
        output = gdb("--args", TMPIRUN, "-n", str(RANKS), PROGRAM,
                     commands=[f"break globals.c:{stop}", "run", *look * RANKS])
        hits = re.findall(rf"#0 .*stop_here \([^)]*\) at \S*globals\.c:{stop}\n#1 .* main .*globals\.c:\d+", output)
        self.assertEqual(len(hits), RANKS, output)
        values = [int(value) for value in re.findall(r"^\$\d+ = (\d+)$", output, re.M)]
        shown = sorted(zip(values[0::3], values[1::3], values[2::3]))
        self.assertEqual(shown, [(rank, 200 + rank, 100 + rank) for rank in range(RANKS)], output)
        for rank in range(RANKS):
            self.assertRegex(output, rf"(?m)^[* ] *\d+ +rank {rank} +unbound +running")
        self.assertRegex(output, r"exited normally")

    def check_waiting(self, *how):
        """Ranks 0 and 2 wait in a barrier, rank 1 reads."""
        rows = gdb(*how, commands=["info mltp threads"])
        numbers = {name: number for number, name in re.findall(r"^[* ] *(\d+) +(rank \d) +unbound", rows, re.M)}
        self.assertEqual(set(numbers), {f"rank {rank}" for rank in range(RANKS)}, rows)
        self.assertRegex(rows, r"(?m) rank 2 .* MPI_Barrier$")
        for rank in (0, 2):
            output = gdb(*how, commands=[f"mltp rank {rank}", "bt", "frame function main",
                                         "print rank_static", 'print $mltp_own("rank_global")'])
            self.assertRegex(output, r"(?m)^#\d+ .*\bPMPI_Barrier \(.*\n(.*\n)*?#\d+ .* main \(.*globals\.c:\d+$")
            values = [int(value) for value in re.findall(r"^\$\d+ = (\d+)$", output, re.M)]
            self.assertEqual(values, [200 + rank, 100 + rank], output)

    def check_dump(self, pid):
        """Each rank's frames have functions and lines, not those of the first copy alone."""
        result = subprocess.run([pathlib.Path(TMPIRUN).with_name("mltp"), "dump", "--json", str(pid)], check=False,
                                capture_output=True, text=True)
        if "built without" in result.stderr:
            return
        threads = {thread["name"]: thread for thread in json.loads(result.stdout)["threads"]}
        for rank in range(RANKS):
            frames = [(frame.get("function"), pathlib.Path(frame.get("file", "")).name)
                      for frame in threads[f"rank {rank}"]["frames"]]
            self.assertIn(("main", "globals.c"), frames)
        self.assertEqual(threads["rank 2"]["waits_for"]["call"], "MPI_Barrier")

    def test_running_program_and_core(self):
        # gdb cannot copy a mapping that has light guards in it
        with tempfile.TemporaryDirectory() as folder, \
                subprocess.Popen([TMPIRUN, "-n", str(RANKS), PROGRAM, "wait"], stdin=subprocess.PIPE, text=True,
                                 stdout=subprocess.PIPE, env={**os.environ, "MLTP_GUARD": "canary"}) as process:
            try:
                self.assertEqual(process.stdout.readline(), "ready\n")
                self.check_dump(process.pid)
                self.check_waiting("-p", str(process.pid))
                gdb("-p", str(process.pid), commands=[f"generate-core-file {folder}/core"])
            finally:
                process.stdin.close()
            self.assertEqual(process.wait(), 0)
            self.check_waiting(TMPIRUN, f"{folder}/core")


if __name__ == "__main__":
    TMPIRUN, PROGRAM, GDB, SCRIPT = sys.argv[1:5]
    if "NOTFOUND" in GDB or "yes" not in subprocess.run([GDB, "-nx", "-batch", "-ex", "python print('yes')"],
                                                        capture_output=True, text=True, check=False).stdout:
        print("skipped: no gdb with Python here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)

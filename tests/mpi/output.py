#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ranks print: --label, --output; no line is torn, none is lost.

usage: output.py TMPIRUN PROGRAM
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

LINES = 20
TMPIRUN, PROGRAM = "", ""


def run(*options, ranks=4, how="", status=0, given=""):
    result = subprocess.run([TMPIRUN, "-n", str(ranks), *options, PROGRAM, how], capture_output=True,
                            text=True, check=False, input=given)
    assert result.returncode == status, result
    return result


def expected(rank):
    """The lines of a rank on stdout, in order."""
    for i in range(LINES):
        yield from (f"line {i} of rank {rank}", f"pieces {i} of rank {rank}", f"write {i} of rank {rank}",
                    "twice")
    yield f"not ended by rank {rank}"


def by_rank(output):
    """Labelled lines -> {rank: its lines}."""
    found, widths = {}, set()
    for line in output.splitlines():
        label, rank, text = re.fullmatch(r"(\[ *([0-9]+)\]) (.*)", line).groups()
        widths.add(len(label))
        found.setdefault(int(rank), []).append(text)
    assert len(widths) == 1, widths
    return found


class Output(unittest.TestCase):
    def check_labels(self, ranks):
        result = run("--label", ranks=ranks)
        self.assertEqual(by_rank(result.stdout), {r: list(expected(r)) for r in range(ranks)})
        self.assertEqual(by_rank(result.stderr),
                         {r: [f"error {i} of rank {r}" for i in range(LINES)] for r in range(ranks)})

    def test_labels(self):
        self.check_labels(4)

    def test_labels_of_500_ranks(self):
        self.check_labels(500)

    def test_labels_of_kernel_threads(self):
        result = run("--label", "--one-to-one", ranks=16)
        self.assertEqual(by_rank(result.stdout), {r: list(expected(r)) for r in range(16)})

    def test_long_lines(self):
        found = by_rank(run("--label", how="long").stdout)
        for rank, lines in found.items():
            self.assertIn("abcd"[rank] * 100000, lines)

    def test_abort_loses_nothing(self):
        found = by_rank(run("--label", how="abort", status=9).stdout)
        self.assertEqual(found, {r: list(expected(r)) for r in range(4)})

    def test_pipe_that_does_not_block(self):
        """The reader is slow, and a write that finds the pipe full fails with EAGAIN."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with open(reader, encoding="ascii") as slow, \
                subprocess.Popen([TMPIRUN, "-n", "4", "--label", PROGRAM, "long"], stdout=writer,
                                 stderr=subprocess.DEVNULL) as job:
            os.close(writer)
            time.sleep(.2)
            found = by_rank(slow.read())
            self.assertEqual(job.wait(), 0)
        for rank in range(4):
            lines = list(expected(rank))
            self.assertEqual(found[rank], [*lines[:-1], "abcd"[rank] * 100000, lines[-1]])

    def check_files(self, ranks):
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder, "out")
            pathlib.Path(folder, "out.0").write_text("of an earlier run", encoding="ascii")
            result = run(f"--output={prefix}", ranks=ranks)
            self.assertEqual((result.stdout, result.stderr), ("", ""))
            for rank in range(ranks):
                text = pathlib.Path(folder, f"out.{rank}").read_text(encoding="ascii")
                wanted = list(expected(rank))
                for i in range(LINES):
                    wanted.insert(5 * i + 2, f"error {i} of rank {rank}")
                self.assertEqual(text.splitlines(), wanted)

    def test_files(self):
        self.check_files(4)

    def test_files_of_500_ranks(self):
        self.check_files(500)

    def test_without_locks(self):
        """What stdio does without a lock, and into a buffer that a rank sets, is that rank's, and complete."""
        for option in "--vps=4", "--one-to-one":
            with tempfile.TemporaryDirectory() as folder:
                run(option, f"--output={folder}/out", how="unlocked")
                for rank in range(4):
                    text = pathlib.Path(folder, f"out.{rank}").read_text(encoding="ascii")
                    self.assertEqual((len(text), set(text)), (5 * 5000, {"abcd"[rank]}))
            for how in "unlocked", "wide":
                text = run(option, how=how).stdout
                self.assertEqual({c: text.count(c) for c in set(text)}, {c: 5 * 5000 for c in "abcd"})

    def test_wide_characters(self):
        """They come with --label and --output as without, in the rank's own encoding."""
        def words(rank):
            return [f"wprintf {rank} ä", "fputws €", "fwprintf ß", "øp", f"listed {rank}", f"listed {rank}"]
        labelled = run("--label", how="words").stdout.splitlines()
        self.assertEqual(sorted(labelled), sorted(f"[{rank}] {word}" for rank in range(4) for word in words(rank)))
        with tempfile.TemporaryDirectory() as folder:
            run(f"--output={folder}/out", how="words")
            for rank in range(4):
                self.assertEqual(pathlib.Path(folder, f"out.{rank}").read_text(encoding="utf-8").splitlines(), words(rank))

    def test_copies_and_children(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as given:
            given.write(b"given")
            given.flush()
            result = subprocess.run([TMPIRUN, "-n", "4", f"--output={folder}/out", PROGRAM, "copies"], capture_output=True, text=True,
                                    check=False, stdin=given)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            for rank in range(4):
                self.assertEqual(pathlib.Path(folder, f"out.{rank}").read_text(encoding="ascii"),
                                 f"copy {rank}\ncopy {rank}\ncommand {rank}\nchild {rank}\n")

    def test_files_that_ranks_leave_open(self):
        for ranks in 1, 4:
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([TMPIRUN, "-n", str(ranks), PROGRAM, "stored"], cwd=folder, check=True)
                for rank in range(ranks):
                    self.assertEqual(pathlib.Path(folder, f"stored.{rank}").read_text(encoding="ascii"), f"flushed by {rank}, and left")

    def test_input_without_locks(self):
        self.assertEqual(run(how="read", given="xyzline\nthe\nrest").stdout, "x|y|z|line\n|the\nrest")

    def test_output_that_cannot_be_written(self):
        """The job fails, and says so."""
        for options in [], ["--label"]:
            with open("/dev/full", "w", encoding="ascii") as full:
                result = subprocess.run([TMPIRUN, "-n", "4", *options, PROGRAM, "read"], stdout=full, stderr=subprocess.PIPE,
                                        text=True, check=False, input="xyzline\nthe\nrest")
            self.assertNotEqual(result.returncode, 0, options)
        self.assertRegex(result.stderr, "tmpirun: output of ranks was lost: No space left on device \\(")

    def test_folder_that_is_not_there(self):
        result = run("--output=/no/such/folder/out", status=1)
        self.assertRegex(result.stderr, r"cannot write '/no/such/folder/out.0': No such file .*\(")


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

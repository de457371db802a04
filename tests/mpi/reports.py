#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reports say of ranks that wait, in all its forms; and with parts of tmpirun that are not there.

usage: reports.py TMPIRUN PROGRAM
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

DEADLOCK = 86
TMPIRUN, PROGRAM = pathlib.Path(), pathlib.Path()


class Reported(unittest.TestCase):
    def reported(self, status, command, *patterns, **environment):
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                                env={**os.environ, **environment})
        self.assertEqual(result.returncode, status, result)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)
        causes = [line for line in result.stderr.splitlines() if " why: " in line]
        self.assertEqual(len(causes), len(set(causes)), result.stderr)
        return result.stderr

    def hangs(self, how, *patterns, ranks=4):
        return self.reported(DEADLOCK, [TMPIRUN, "-n", ranks, PROGRAM, how], *patterns)


class Waits(Reported):
    def test_any_rank(self):
        self.hangs("any-rank", "rank 0 waits in MPI_Recv: no message has come from any rank, any tag, 4 bytes",
                   "why: rank 0 waits for a message from any rank, and every other rank has ended or is in MPI_Finalize")

    def test_kernel_threads(self):
        """The rank that ends reports what another kernel thread has noted."""
        self.reported(DEADLOCK, [TMPIRUN, "--one-to-one", "-n", 2, PROGRAM, "ended"],
                      "rank 0 waits in MPI_Recv: no message has come from rank 1, tag 0", "rank 1 has ended")

    def test_rank_that_failed(self):
        """Its status is that of the job, as if the others had not waited for it."""
        self.reported(1, [TMPIRUN, "-n", 3, PROGRAM, "failed"], "ranks 1-2 wait in MPI_Recv: .* on p, at reports.c",
                      "tmpi: rank 0 ended with status 1, and so does the job")

    def test_ranks_have_numbers_in_each_communicator(self):
        self.hangs("half", r"rank 1 waits in MPI_Recv: no message has come from rank 1 \(3 of all\), tag 0",
                   "why: rank 1 waits for rank 3, which is in MPI_Finalize")

        self.hangs("reversed", r"rank 1 waits in MPI_Recv: no message has come from rank 3 \(0 of all\), tag 0")

    def test_probe(self):
        self.hangs("probe", r"rank 0 waits in MPI_Probe: no message has come from rank \d, tag \d+, on MPI_COMM_WORLD, at"
                   r" reports.c:\d+ \(probe\)")

    def test_one_of_several(self):
        self.hangs("several", "rank 0 waits in MPI_Waitany: no message has come from rank 1, tag 0")

    def test_all_of_several_names_what_is_missing(self):
        self.hangs("all", r"rank 0 waits in MPI_Waitall: no message has come from rank 3, tag 7, 4 bytes, on MPI_COMM_WORLD"
                   r" \(1 of 3 requests missing\)", "why: rank 0 waits for rank 3, which is in MPI_Finalize")

    def test_message_with_another_tag(self):
        self.hangs("wrong-tag", "why: rank 0 has sent rank 1 a message with tag 5 on MPI_COMM_WORLD, which nobody receives:"
                   " rank 1 waits for tag 6 on MPI_COMM_WORLD")

    def test_message_on_another_communicator(self):
        said = self.hangs("wrong-comm", r"why: rank 0 has sent rank 1 a message with tag 5 on a communicator of 2 ranks"
                          r" \(0, 1\), which nobody receives: rank 1 waits for tag 5 on MPI_COMM_WORLD")
        self.assertNotIn("rank 3 has sent", said)

    def test_message_of_another_sender(self):
        said = self.hangs("wrong-sender", r"why: rank 0 has sent rank 1 a message with tag 5 on a communicator of 3 ranks"
                          r" \(0, 1, 2\), which waits there: rank 1 receives from rank 2")
        self.assertEqual(said.count("has sent"), 1)

    def test_collective_with_too_little_room(self):
        self.reported(15, [TMPIRUN, "-n", 4, PROGRAM, "rest-of-rows"], "rank 0: MPI_Gatherv on MPI_COMM_WORLD: rank 3 sent 112"
                      r" bytes, and there is room for 100 \(counts .*\), at reports.c:\d+ \(rest_of_rows\)")

    def test_type_that_was_freed(self):
        self.reported(3, [TMPIRUN, "-n", 4, PROGRAM, "freed-type"],
                      r"MPI_Bcast on MPI_COMM_WORLD: the datatype is MPI_DATATYPE_NULL, at reports.c:\d+ \(freed_type\)")

    def test_window_that_is_left(self):
        self.reported(0, [TMPIRUN, "-n", 4, "--check", PROGRAM, "window-left"], r"ranks 0-3: 4 windows were not freed, of"
                      r" MPI_Win_create\(\) at reports.c:\d+ \(window_left\) \(MPI_Win_free\)")

    def test_message_that_is_lost(self):
        self.reported(1, [TMPIRUN, "-n", 4, "--check", PROGRAM, "lost"], "rank 0: 1 message was never received: 1 MPI_INT from"
                      " rank 2 of MPI_COMM_WORLD, tag 2")

    def test_messages_that_are_lost(self):
        said = self.reported(1, [TMPIRUN, "-n", 2, "--check", PROGRAM, "lost-many"], "rank 0: 1 message was never received: 1 MPI_INT from rank 1",
                             "there may be more messages that were never received")
        self.assertLess(said.count("never received: "), 200)

    def test_partitions(self):
        self.hangs("partitions", r"ranks 0-1 wait in MPI_Wait: a partitioned message has not ended on MPI_COMM_WORLD, at"
                   r" reports.c:\d+ \(partitions\)")

    def test_error_has_its_place(self):
        self.reported(15, [TMPIRUN, "-n", 2, PROGRAM, "too-long"], r"longer than the 20 bytes .*, at reports.c:\d+ \(too_long\)")

    def test_request_of_the_program(self):
        self.hangs("own-request", r"rank 0 waits in MPI_Wait: nobody has called MPI_Grequest_complete\(\)")

    def test_buffer(self):
        self.hangs("drain", r"rank 0 waits in MPI_Buffer_detach, at reports.c:\d+ \(drain\)")

    def test_nonblocking_collective(self):
        self.hangs("nonblocking", "ranks 0, 2-3 wait in MPI_Wait: a nonblocking collective has not ended on MPI_COMM")

    def test_lock_of_a_window(self):
        self.hangs("window-lock", r"ranks 0, 2-3 wait in MPI_Win_lock: rank 1 holds a lock of rank 2 on halo, at"
                   r" reports.c:\d+ \(window_lock\)", "why: ranks 0, 2-3 wait for rank 1, which is in MPI_Finalize")

    def test_lock_of_all_targets(self):
        self.hangs("window-lock-all", "rank 0 waits in MPI_Win_lock_all: rank 1 holds exclusive locks on a window, at")

    def test_several_holders(self):
        self.hangs("window-shared", "rank 0 waits in MPI_Win_lock: ranks 1-2 hold a lock of rank 3 on a window, at",
                   "why: rank 0 waits for ranks? 1")
        self.hangs("window-first", "rank 2 waits in MPI_Win_lock: ranks 0-1 hold a lock of rank 3 on a window, at",
                   "why: rank 2 waits for rank 0")
        self.hangs("window-exclusive", "rank 0 waits in MPI_Win_lock_all: ranks 1-2 hold exclusive locks on a window, at")
        self.hangs("window-all", "rank 0 waits in MPI_Win_lock: rank 1 holds a lock of rank 3 on a window, at",
                   "why: rank 0 waits for rank 1")

    def test_locks_in_a_circle(self):
        self.hangs("window-circle", "rank 0 waits in MPI_Win_lock: rank 1 holds a lock of rank 1 on a window",
                   "why: ranks 0 -> 1 -> 0 wait for each other in a circle: for locks or epochs of windows")

    def test_epochs_of_a_window(self):
        self.hangs("window-epochs", "rank 0 waits in MPI_Win_start: ranks 2-3 have not called MPI_Win_post on a window",
                   "rank 1 waits in MPI_Win_wait: ranks 0, 2-3 have not called MPI_Win_complete on a window")

    def test_fence(self):
        self.hangs("window-fence", "ranks 0-2 wait in MPI_Win_fence on a window of MPI_COMM_WORLD",
                   "why: rank 3 has not called MPI_Win_fence on a window of MPI_COMM_WORLD")

    def test_collective_that_all_have_called(self):
        self.hangs("no-root", r"why: all ranks have called .* roots, counts or types may differ \(tmpirun --check")

    def test_message_to_oneself(self):
        said = self.hangs("own-send", "why: ranks 0-3 wait each for a receive of their own, which they cannot post while "
                          "waiting")
        self.assertNotIn("in a circle", said)
        self.hangs("own-send", "why: rank 0 waits for a receive of its own, which it cannot post while waiting", ranks=1)

    def test_no_more_than_can_be_read(self):
        said = self.hangs("circles", "ranks 0-39 wait in MPI_Send: .* another rank each",
                          "why: ranks 14 -> 15 -> 14 wait", "why: and 12 circles more", ranks=40)
        self.assertEqual(said.count("in a circle"), 8)
        self.hangs("every-other", "ranks 0, 2, 4, .*, 46, ... wait in MPI_Barrier", "why: ranks 1, 3, .* wait each for a message of their own, which "
                   "they cannot send while waiting", ranks=200)
        self.hangs("apart", r"and the other 2 ranks in 2 other ways\ntmpi:   \(tmpirun --full reports each rank\)", ranks=10)
        self.assertEqual(self.hangs("deep", r"rank 0:\n(.*\n){8}    \.\.\.\n", ranks=1).count("(deeper)"), 8)
        said = self.reported(DEADLOCK, [TMPIRUN, "--full", "-n", 1, PROGRAM, "deep"])
        self.assertIn(said.count("(deeper)"), range(40, 50))

    def test_values_that_differ(self):
        lines = {how: {} for how in ("own-tags", "own-sizes", "own-names")}
        for ranks in 16, 4096:
            for how, counts in lines.items():
                said = self.hangs(how, r"tmpirun --full reports each rank", ranks=ranks)
                counts[ranks] = said.count("\n")
                self.assertLessEqual(counts[ranks], 60, said)
        self.hangs("own-tags", "ranks 0-15 wait .* another rank each, another tag each, 4 bytes, on MPI_COMM_WORLD, at"
                   r" reports.c:\d+ \(own_tags\): rank 0: rank 1, tag 0; rank 1: rank 2, tag 1; rank 2: rank 3, tag 2; \.\.\.",
                   ranks=16)
        self.hangs("own-sizes", "another rank each, tag 0, other sizes, .*: rank 0: rank 1, 17000 bytes", ranks=16)
        self.hangs("own-names", "ranks 1, 3, .* wait in MPI_Barrier on another communicator each, .* rank 1: pair 0",
                   ranks=40)

    def test_full(self):
        said = self.reported(DEADLOCK, [TMPIRUN, "--full", "-n", 40, PROGRAM, "own-tags"], "rank 39 waits .* tag 39")
        self.assertEqual(said.count(" waits in MPI_Recv"), 40)
        self.assertEqual(len([line for line in said.splitlines() if line.startswith("tmpi: rank ")]), 40)


class Modules(Reported):
    def test_types_of_structures(self):
        self.reported(1, [TMPIRUN, "-n", 4, "--check", PROGRAM, "derived"],
                  "rank 1 receives 2 two items from rank 0 of MPI_COMM_WORLD, which sent 3 MPI_INT",
                  "rank 3 receives 24 MPI_INT from rank 2 .*, which sent 3 of a derived type of 24 bytes",
                  "has found 2 mistakes")

    def test_many_leaks(self):
        self.reported(1, [TMPIRUN, "-n", 1, "--check=strict", PROGRAM, "many-leaks"], "rank 0: 10000 datatypes were not freed")

    def test_report_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report")
            self.reported(0, [TMPIRUN, "-n", 3, f"--report={file}", PROGRAM, "persistent"], "^$")
            self.assertRegex(file.read_text(), r"(?m)^MPI_Startall +9 +9 +360 ")

    def stripped(self, *sections):
        """The program without these sections."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        program = pathlib.Path(folder, "program")
        shutil.copy(PROGRAM, program)
        subprocess.run(["objcopy", *(f"--remove-section={name}" for name in sections), program], check=True)
        return program

    def test_lines_without_a_table_of_units(self):
        """As clang leaves it out."""
        program = self.stripped(".debug_aranges")
        self.reported(DEADLOCK, [TMPIRUN, "-n", 2, program, "any-rank"], r"at reports.c:\d+ \(any_rank\)")

    def test_no_lines(self):
        program = self.stripped(".debug_info", ".debug_line", ".debug_aranges")
        self.reported(DEADLOCK, [TMPIRUN, "-n", 2, program, "any-rank"], r"at program\+0x[0-9a-f]+ \(any_rank\)")


class Without(Reported):
    """An installation of tmpirun alone."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        own, libraries = self.folder / "bin" / "tmpirun", self.folder / "lib"
        own.parent.mkdir()
        (libraries / "tmpi").mkdir(parents=True)
        shutil.copy(TMPIRUN, own)
        build = TMPIRUN.parents[1] / "lib"
        for name in ("libmltp.so.0", "libmpi_abi.so.1", "tmpi/private.so"):
            (libraries / name).symlink_to(build / name)
        self.tmpirun = own

    def test_no_checks(self):
        for option in ("--check", "--report"):
            self.reported(1, [self.tmpirun, option, PROGRAM],
                      r"--check and --report are not there: .*check.so: cannot open .* \(build with libjansson-dev")

    def test_checks_that_do_not_fit(self):
        """The remedy is another one where the module is there, and is of another build, or lacks a library."""
        module = self.folder / "lib" / "tmpi" / "check.so"
        for text, options, remedy in (("missing()", [], "from one build"), ("0", ["-l:libjansson.so.99"], "install libjansson")):
            (self.folder / "module.c").write_text(f"int missing(void); int module(void) {{ return {text}; }}\n", encoding="ascii")
            (self.folder / "stub.c").write_text("int stub;\n", encoding="ascii")
            library = ["-L", self.folder, "-Wl,--no-as-needed", *options] if options else []
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libjansson.so.99", "-o", self.folder / "libjansson.so.99",
                            self.folder / "stub.c"], check=True)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", module, self.folder / "module.c", *library], check=True)
            self.reported(1, [self.tmpirun, "--check", PROGRAM], rf"--check and --report are not there: .* \([^(]*{remedy}\)\n")

    def test_places_are_offsets(self):
        self.reported(DEADLOCK, [self.tmpirun, "-n", 3, PROGRAM, "deep"],
                  r"rank 0 waits in MPI_Recv: .*, at reports\+0x[0-9a-f]+ \(deeper\)",
                  r"rank 0:\n +#0 +libmpi_abi.so.1\+0x[0-9a-f]+ \(P?MPI_Recv\)\n +#1 +reports\+0x")

    def test_alone(self):
        """Started without tmpirun, a program is a job of one rank."""
        self.reported(DEADLOCK, [PROGRAM, "deep"], r"rank 0 waits in MPI_Recv: .*reports\+0x[0-9a-f]+ \(deeper\)",
                  r"#\d +.*reports\+0x[0-9a-f]+ \(deeper\)")

    def test_calls_at_the_wrong_time(self):
        """MPI_ERR_OTHER ends the process."""
        self.reported(16, [PROGRAM], "^mltp: MLTP_VPS: bad value 'x'", "tmpi: MPI_Init: no memory, or a bad MLTP_ variable",
                  MLTP_VPS="x")
        self.reported(16, [PROGRAM, "before"], r"^tmpi: MPI_Barrier: called before MPI_Init\(\) \(call that first\)")
        for how, why in {"before": "MPI_Barrier: called before", "before-complete": "MPI_Grequest_complete: called before",
                         "before-split": "MPI_Comm_split_type: called before", "after": "MPI_Barrier: called after",
                         "after-returning": "MPI_Comm_size: called after"}.items():
            self.reported(16, [TMPIRUN, PROGRAM, how], "^tmpi: rank 0: .*" + why)

    def test_generated_code(self):
        for command in [PROGRAM], [self.tmpirun, PROGRAM]:
            self.reported(DEADLOCK, [*command, "generated"], r"rank 0 waits in MPI_Recv.*reports\+0x")


class Running(unittest.TestCase):
    """Ranks that no call of MPI makes wait."""

    def asked(self, how, pattern, *options):
        """Asks what the ranks do until the answer fits."""
        with subprocess.Popen([TMPIRUN, "-n", "4", *options, PROGRAM, how], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                self.assertEqual(process.stdout.readline(), "on its way\n")
                said = ""
                while not re.search(pattern, said):
                    process.send_signal(signal.SIGUSR1)
                    said = ""
                    while not re.match(r"tmpi:   ranks? 0\b", said):
                        said = process.stderr.readline()
            finally:
                process.kill()

    def test_a_rank_that_polls_is_reported_with_its_call(self):
        self.asked("polls", r"rank 0 is in MPI_Test, which does not wait, at reports\.c:\d+ \(test_message\)")

    def test_a_rank_that_computes_is_reported_with_its_line(self):
        for options in [(), ("--vps=4",)]:
            self.asked("computes", r"rank 0 is outside of MPI, at reports\.c:\d+ \(compute\)", *options)

    def test_a_rank_that_sleeps_is_reported_with_its_line(self):
        self.asked("sleeps", r"rank 0 is outside of MPI.*, at reports\.c:\d+ \(sleep_long\)")


class Signals(Reported):
    def test_handler_that_was_taken_back(self):
        """What comes from outside ends the process then."""
        with subprocess.Popen([TMPIRUN, "-n", "2", PROGRAM, "taken-back"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(signal.SIGUSR2)
            self.assertEqual(process.wait(550), -signal.SIGUSR2)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = (pathlib.Path(word) for word in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

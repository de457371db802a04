#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How programs under tmpirun end: exit status, and what is said of which rank."""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TMPIRUN, PROGRAM = "", ""


def run(*arguments, ranks=4, program=None, options=()):
    return subprocess.run([TMPIRUN, "-n", str(ranks), *options, program or PROGRAM, *arguments],
                          capture_output=True, text=True, check=False)


class Endings(unittest.TestCase):
    def ends(self, how, status, *said, ranks=4):
        result = run(how, ranks=ranks)
        self.assertEqual(result.returncode, status, result)
        for pattern in said:
            self.assertRegex(result.stderr, pattern)
        return result

    def test_success_is_silent(self):
        self.assertEqual(self.ends("", 0).stderr, "")

    def test_status_of_one_rank_is_that_of_all(self):
        self.ends("status", 7, r"rank 1 ended with status 7 \(1 of 4")

    def test_exit_in_a_callee_ends_the_rank(self):
        self.ends("callee", 3, "rank 2 ended with status 3")

    def test_handlers_run_once_for_each_rank(self):
        self.assertEqual(self.ends("handlers", 0).stdout.count("handler of rank ran"), 4)

    def test_end_without_finalize_is_reported(self):
        self.ends("no-finalize", 1, r"without MPI_Finalize\(\) \(4 of 4")

    def test_abort_names_the_rank(self):
        self.ends("abort", -6, r"rank 1 called abort\(\)")

    def test_mpi_abort_ends_the_job(self):
        self.ends("mpi-abort", 5, r"rank 1 called MPI_Abort\(5\)")

    def test_sent_signal_ends_the_job_by_it(self):
        for signo in [signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGILL]:
            said = "rank 1 called abort" if signo == signal.SIGABRT else f"rank 1 raised {signo.name}"
            for ranks in [2, 4]:
                self.ends(f"raise-{int(signo)}", -signo, said, ranks=ranks)
                self.ends(f"pthread_kill-{int(signo)}", -signo, said, ranks=ranks)
                self.ends(f"kill-{int(signo)}", -signo, f"{signo.name} has come from the program itself", ranks=ranks)

    def test_signal_that_ends_the_job_names_its_sender(self):
        for signo in [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR2]:
            for call in ["raise", "pthread_kill", "kill"]:
                self.ends(f"{call}-{int(signo)}", -signo, f"^tmpirun: rank 1 sent {signo.name}: the job ends\n$")

    def test_signal_that_one_rank_ignores(self):
        for other, status in [("by one", -signal.SIGINT), ("by all", 0)]:
            done = subprocess.run([TMPIRUN, "-n", "3", PROGRAM, f"kill-{int(signal.SIGINT)}", "ignored", other], check=False,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done)

    def test_signals_that_the_caller_ignores(self):
        """As after exec(): nohup ignores the first one."""
        first, last = signal.SIGHUP, signal.SIGRTMAX
        done = subprocess.run([TMPIRUN, "-n", "2", PROGRAM, "ignoring"], check=True, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: [signal.signal(signo, signal.SIG_IGN) for signo in (first, last)])
        wanted = [f"rank {rank}: {text}" for rank in range(2)
                  for text in (f"{first:d} {last:d}", f"{first:d} {signal.SIGUSR1:d} {last:d}")]
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(wanted))

    def test_signal_before_there_are_ranks(self):
        for tenths in range(60):  # of a millisecond after the start
            with subprocess.Popen([TMPIRUN, "--timeout", "5", "-n", "2", PROGRAM, "sleep"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as job:
                time.sleep(tenths / 10000)
                job.send_signal(signal.SIGSEGV)
                self.assertEqual(job.wait(), -signal.SIGSEGV, f"after {tenths} tenths of a ms")

    def late(self, what, other, status, *said, ranks=2):
        """Rank 1 ends while rank 0 reads its input, computes, or waits for it. @return what is said of it."""
        reader, writer = os.pipe()
        try:
            result = subprocess.run([TMPIRUN, "-n", str(ranks), "--vps", "2", PROGRAM, "late", what, other], stdin=reader,
                                    capture_output=True, text=True, check=False)
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(result.returncode, status, result)
        for pattern in said:
            self.assertRegex(result.stderr, pattern)
        return result.stderr

    def test_failure_ends_the_job(self):
        exited = r"rank 1 ended with status 4 without MPI_Finalize\(\): the job ends \(1 of 2 ranks had not ended\)"
        returned = r"rank 1 ended with status 0 without MPI_Finalize\(\): the job ends"
        cases = [("exit", 4, exited), ("return", 1, returned), ("abort", -6, r"rank 1 called abort\(\)"),
                 ("mpi-abort", 3, r"rank 1 called MPI_Abort\(3\)")]
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for a second
            jobs = [pool.submit(self.late, what, other, status, said)
                    for other in ["computing", "reading", "piped"] for what, status, said in cases]
        for job in jobs:
            job.result()

    def test_failure_that_others_wait_for(self):
        waited_for = "rank 1 has not called MPI_Barrier .* has ended"
        for _ in range(50):  # on a busy machine rank 0 may not wait yet
            if re.search(waited_for, self.late("exit", "waiting", 4, "rank 1 ended with status 4")):
                break
        else:
            self.fail("no report names the rank that has ended")
        self.late("return", "waiting", 86, waited_for)

    def test_pthread_of_a_rank_ends_the_rank(self):
        for call in ["exit", "_exit", "quick_exit"]:
            result = run("pthread", call)
            self.assertEqual(result.returncode, 5, result)
            self.assertRegex(result.stderr, r"rank 1 ended with status 5 \(1 of 4")
            self.assertNotIn("continued", result.stdout)

    def test_rank_ends_with_its_last_pthread(self):
        for options in [(), ("--vps", "1"), ("--one-to-one",)]:
            result = run("last-pthread", "", options=options)
            self.assertEqual((result.returncode, result.stderr), (0, ""), options)
            for line in ["pthread was last", "handler of rank ran"]:
                self.assertEqual(result.stdout.count(line), 4, result.stdout)
            self.assertLess(result.stdout.index("pthread was last"), result.stdout.index("handler of rank ran"))
            result = run("last-pthread", "exit", options=options)
            self.assertEqual(result.returncode, 5, result)
            self.assertNotIn("pthread was last", result.stdout)
            result = run("last-pthread", "waits", options=options)
            self.assertEqual(result.returncode, 86, result)

    def test_standard_descriptors_that_are_closed(self):
        """No file of tmpirun's gets such a number: ranks would read the program from it, say."""
        for closed in range(8):
            def close(closed=closed):
                for fd in range(3):
                    if closed >> fd & 1:
                        os.close(fd)
            for words in (["-n", "1"], ["-n", "2"], ["-n", "2", "--label"]):
                result = subprocess.run([TMPIRUN, *words, PROGRAM, "standard"], stdin=subprocess.DEVNULL, check=False,
                                        capture_output=True, preexec_fn=close)
                self.assertEqual(result.returncode, 32 + closed, (words, result))

    def test_on_exit_gets_the_status(self):
        said = self.ends("on_exit", 7).stdout
        self.assertEqual(said.count("on_exit of status 0 ran"), 3)
        self.assertEqual(said.count("on_exit of status 7 ran"), 1)

    def test_exit_in_a_signal_handler(self):
        with subprocess.Popen([TMPIRUN, "-n", "3", PROGRAM, "signal-handler"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            job.stdout.readline()
            job.send_signal(signal.SIGTERM)
            said = job.communicate()[1]
        self.assertEqual(job.returncode, signal.SIGTERM + 20, said)
        self.assertRegex(said, "rank [0-2] ended with status 35")

    def test_exit_in_a_handler_that_has_interrupted_malloc(self):
        """It neither waits for a lock of what it has interrupted, nor ends the other rank's work with success."""
        for number in range(10):
            what, status = ("success", 1) if number % 2 else ("failure", signal.SIGTERM + 20)
            with subprocess.Popen([TMPIRUN, "-n", "2", "--vps", "1", PROGRAM, "handler-in-malloc", what],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
                job.stdout.readline()
                job.send_signal(signal.SIGTERM)
                said = job.communicate()[1]
            self.assertEqual(job.returncode, status, said)
            self.assertRegex(said, r"rank 1 ended with status \d+ in a signal handler without MPI_Finalize\(\)")

    def test_exit_in_a_handler_while_no_kernel_thread_can_be_made(self):
        self.ends("handler-in-setgid", signal.SIGTERM + 20, "rank 0 ended with status 35", ranks=2)

    def test_signal_from_outside_ends_the_job_by_it(self):
        with subprocess.Popen([TMPIRUN, "-n", "3", PROGRAM, "sleep"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as job:
            job.stdout.readline()
            job.send_signal(signal.SIGFPE)
            said = job.communicate()[1]
        self.assertEqual(job.returncode, -signal.SIGFPE, said)
        self.assertIn(f"SIGFPE has come from outside (process {os.getpid()})", said)

    def test_mpi_abort_never_succeeds(self):
        self.ends("mpi-abort-256", 1, r"rank 1 called MPI_Abort\(256\)")

    def test_others_continue(self):
        """MPI_Abort() ends its communicator alone, and a rank that fails itself, if the user wants that."""
        result = run("odd-abort", ranks=6, options=["-disable-auto-cleanup"])
        self.assertEqual(result.returncode, 8, result)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} continued to 6" for rank in (0, 2, 4)])
        self.assertRegex(result.stderr, r"^WARNING: tmpi: rank 1 called MPI_Abort\(8\) \(the 3 ranks [^\n]*\n$")
        result = run("status", options=["-disable-auto-cleanup"])
        self.assertEqual(result.returncode, 7, result)
        self.assertEqual(run("mpi-abort", options=["--disable-auto-cleanup"]).returncode, 5)

    def test_nobody_waits_for_an_aborted_rank(self):
        result = run("awaited-abort", ranks=3, options=["-disable-auto-cleanup"])
        self.assertNotEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r"rank 0 waits in MPI_Recv: no message has come from rank 2")

    def test_crash_names_the_rank(self):
        self.ends("crash", -11, "rank 1 crashed: SIGSEGV at address 0x8")

    def test_crash_in_a_library(self):
        """The message is about the call of the program, if frames lead to one."""
        hint = "where that is a call of MPI, a buffer may be too small"
        self.ends("crash-in-mpi", -11, "rank 1 crashed: SIGSEGV at address 0x8", hint)
        result = self.ends("crash-among-wrong-frames", -11, "rank 1 crashed: SIGSEGV at address 0x8")
        self.assertNotIn(hint, result.stderr)

    def test_wrong_argument_names_rank_and_call(self):
        self.ends("bad-rank", 6, "rank [0-3]: MPI_Send on MPI_COMM_WORLD: rank 4 is not one of the 4")

    def test_no_communicator_is_not_the_world(self):
        self.ends("no-comm", 5, "rank [0-3]: MPI_Barrier: the communicator is MPI_COMM_NULL")

    def test_no_line_is_lost(self):
        output = self.ends("lines", 0, ranks=500).stdout
        expected = {f"line {i} of rank {r}" for i in range(20) for r in range(500)}
        self.assertEqual(sorted(output.splitlines()), sorted(expected))


class Refused(unittest.TestCase):
    def refused(self, program, why):
        result = run(program=str(program))
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, why)

    def test_file_that_is_not_there(self):
        self.refused("/no/such/program", "cannot run '/no/such/program': No such file")

    def test_text_file(self):
        with tempfile.NamedTemporaryFile("w") as text:
            text.write("no program\n")
            text.flush()
            self.refused(text.name, "it is no ELF file")

    def test_library(self):
        library = next(pathlib.Path(TMPIRUN).parents[1].glob("lib/libmpi_abi.so.1"))
        self.refused(library, "it is a library, not a program")

    def test_damaged_files(self):
        whole = pathlib.Path(PROGRAM).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            damaged = pathlib.Path(folder, "damaged")
            for length in [1, 63, 64, 200, 1000, 4096]:
                damaged.write_bytes(whole[:length])
                self.refused(damaged, "cannot run .*: .* \\(.*\\)")

    def test_usage(self):
        for words in [["-n", "0", PROGRAM], ["-n", "x", PROGRAM], ["-n", "2"], ["--no-such-option"]]:
            result = subprocess.run([TMPIRUN, *words], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, words)
            self.assertTrue(re.search("Usage|--help", result.stderr), result.stderr)


if __name__ == "__main__":
    # A shell without job control starts what is in the background so that it ignores two of them, and nohup the third.
    for each in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

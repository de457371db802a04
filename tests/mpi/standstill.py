#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in which each thread waits for another one, some of them in the kernel: tmpirun ends them, or says so.

usage: standstill.py TMPIRUN STANDSTILL
"""
import itertools
import os
import signal
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM = "", ""
THREADS = (), ("--vps=1",), ("--one-to-one",)  # what ranks run on
ENDLESS = "semaphore", "crosswise"
ENDING = "pthread", "child", "alarm", "often"  # a pthread, a child, a timer, short waits


def start(how, options=(), **environment):
    return subprocess.Popen([TMPIRUN, "-n", "2", *options, PROGRAM, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})


class Standstill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All jobs at once: each waits for at least ten seconds."""
        words = [*itertools.product(ENDLESS, THREADS), *itertools.product((*ENDING, "handler"), THREADS[::2])]
        cls.jobs = {one: start(*one) for one in words}
        cls.unseen = start("semaphore", ("--timeout=13",), MLTP_DEADLOCK="off")
        cls.continued = start("semaphore", MLTP_DEADLOCK="report")

    @classmethod
    def tearDownClass(cls):
        for job in (*cls.jobs.values(), cls.unseen, cls.continued):
            job.kill()
            job.communicate()

    def read_until(self, job, text):
        said = ""
        while text not in said:
            line = job.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        return said

    def test_deadlocks_end_the_job(self):
        for how in itertools.product(ENDLESS, THREADS):
            errors = self.jobs[how].communicate()[1]
            self.assertEqual(self.jobs[how].returncode, 86, (how, errors))
            for text in "deadlock of 2 ranks", "rank 0 is outside of MPI", "rank 1 waits in MPI_Barrier":
                self.assertIn(text, errors, how)

    def test_waits_that_end(self):
        """Such waits are not reported."""
        for how in itertools.product(ENDING, THREADS[::2]):
            job = self.jobs[how]
            self.assertEqual((job.communicate(), job.returncode), (("continued\n", ""), 0), how)

    def test_a_handler_may_end_it(self):
        """tmpirun reports it once, and the job continues."""
        for options in THREADS[::2]:
            job = self.jobs["handler", options]
            self.assertIn("standstill of 2 ranks", self.read_until(job, "only a signal can end that"))
            os.kill(job.pid, signal.SIGUSR2)
            self.assertEqual((job.communicate()[0], job.returncode), ("continued\n", 0))

    def test_it_is_not_looked_for(self):
        errors = self.unseen.communicate()[1]
        self.assertEqual(self.unseen.returncode, 124, errors)
        self.assertNotIn("deadlock", errors)

    def test_the_job_continues_after_a_report(self):
        self.read_until(self.continued, "3 threads;")
        self.continued.terminate()
        self.assertEqual(self.continued.wait(), -signal.SIGTERM)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

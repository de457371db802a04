# SPDX-License-Identifier: Apache-2.0
"""The thesis's experiment (Figure 4.1): copies of a program under the same load to the end of the slowest.

A copy that finishes its first iteration is started anew, so that the others keep their competitors. What
counts is the time to completion (TTC): from the fork to the end of the slowest copy's first iteration.
"""
import dataclasses
import os
import signal
import time

from .refusal import Refusal


@dataclasses.dataclass(frozen=True)
class Run:
    """Times of one run in seconds: TTC, and each copy's first iteration."""

    ttc: float
    iterations: tuple

    @property
    def mean(self):
        """The average of the first iterations, as in the thesis's Appendix A."""
        return sum(self.iterations) / len(self.iterations)


def spawn(command, cpus, quiet):
    """Starts a copy that gives up its turn before it begins, as the thesis's children do."""
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if cpus:
            os.sched_setaffinity(0, cpus)
        if quiet:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
        os.sched_yield()
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"dkctl: program {command[0]}: {error.strerror} (check its name)\n".encode())
    os._exit(127)


def end(pids):
    """Kills copies and waits for them."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


def run(command, copies, cpus=None, quiet=True, tick=None):
    """Runs the experiment. cpus: the affinity of the copies, or None. tick: called once while copies run.

    A copy that fails ends the run: its time would be no measurement.
    """
    began = time.monotonic()
    first = {spawn(command, cpus, quiet): began for _ in range(copies)}
    running, done = set(first), {}
    if tick:
        tick()
    try:
        while len(done) < copies:
            pid, status = os.wait()
            if pid not in running:
                continue
            running.discard(pid)
            if status:
                raise Refusal(f"program {command[0]}", f"it ended with status {os.waitstatus_to_exitcode(status)}",
                              "run it by hand first")
            if pid in first:
                done[pid] = time.monotonic() - began
            if len(done) < copies:
                running.add(spawn(command, cpus, quiet))
    finally:
        end(running)
    return Run(max(done.values()), tuple(done.values()))

# SPDX-License-Identifier: Apache-2.0
"""What the tests of debuggers share: a program to look into."""
import contextlib
import os
import subprocess

# Name of a thread -> what it waits for, in the words of dumps, and where.
CAST = {
    "locked-out": ("lock", "props", "wait_for_lock"),
    "listening": ("condition", "curtain", "wait_for_condition"),
    "at-the-door": ("barrier", "stage-door", "wait_at_barrier"),
    "queueing": ("semaphore", "tickets", "wait_for_ticket"),
    "joining": ("join of thread", None, "join_given"),
    "sleeping": ("sleep", None, "sleep_long"),
    "bound-one": ("semaphore", "tickets", "wait_for_ticket"),
    "visitor": ("semaphore", "tickets", "be_foreign"),
}


@contextlib.contextmanager
def scene(program, threads=0, **environment):
    """Runs a scene (scene.c) until all its threads wait; checks that it ends well."""
    process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "MLTP_VPS": "2", **environment})
    try:
        assert process.stdout.readline() == "ready\n", "the scene did not start"
        yield process
        process.stdin.close()
        assert process.wait() == 0, "the scene did not continue"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containers that may use fewer CPUs than the machine has: the daemon and the gate go by what they have.

usage: limited.py MLTPD MLTP

A container is a mount namespace in which the files of control groups say one CPU's quota. tests/fault/quota.c has what these
files may say.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "coord"))
from stage import END, LIST, MESSAGE, Daemon, message, wait_for  # pylint: disable=wrong-import-position

SKIPPED = 77
MLTPD, MLTP = sys.argv[1:3]
CONTAINER = """#!/bin/sh
groups=/sys/fs/cgroup
if [ -z "$INSIDE" ]; then
  INSIDE=yes exec unshare --mount {user} "$0" "$@"
fi
mount --make-rprivate / && mount -t tmpfs none $groups || exit {skipped}
echo 100000 100000 >$groups/cpu.max && echo 0::/ >$groups/own && mount --bind $groups/own /proc/$$/cgroup || exit {skipped}
unset INSIDE
exec {command} "$@"
"""


def container(folder, name, *command):
    """Returns the file of a script that runs a command in a container."""
    path = pathlib.Path(folder, name)
    path.write_text(CONTAINER.format(user="" if os.geteuid() == 0 else "--map-root-user", skipped=SKIPPED,
                                     command=" ".join(command)))
    path.chmod(0o755)
    return str(path)


def the_daemon_divides_what_there_is(folder):
    with Daemon(container(folder, "mltpd", MLTPD), MLTP) as daemon:
        connection = daemon.connect()
        connection.send(message(LIST))
        answer = MESSAGE.unpack(connection.recv(4096))
        connection.close()
    assert answer[2] == END and answer[5] == 1, answer


def a_gated_program_asks_for_what_there_is(folder):
    """It tells a daemon of the machine how many threads may run at a time."""
    words = [container(folder, "gated", MLTP, "run", "--threads", "--", "cat")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLTP_")}
    with Daemon(MLTPD, MLTP, "--cpus", "2") as daemon:
        with subprocess.Popen(words, stdin=subprocess.PIPE, env={**environment, "MLTP_COORDINATOR": daemon.socket}) as gated:
            entry = wait_for(lambda: daemon.of(gated.pid), "it has joined")
            gated.stdin.close()
        assert gated.returncode == 0 and entry["most"] == 1, entry


if __name__ == "__main__":
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as place:
        if subprocess.run([container(place, "none", "true")], check=False).returncode != 0:
            print("limited.py: no mount namespace of one's own can be made here")
            sys.exit(SKIPPED)
        for test in (the_daemon_divides_what_there_is, a_gated_program_asks_for_what_there_is):
            test(place)
            print(f"limited.py: {test.__name__}: passed")

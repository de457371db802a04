# SPDX-License-Identifier: Apache-2.0
"""The machine as dkctl sees it: text files of /proc, /sys and /run, and tasks with their affinity.

Everything that dkctl reads or changes goes through a Host, so that the tests can give it a machine that
does not exist. Reads return None where there is nothing to read.
"""
import dataclasses
import os
import pathlib

PF_KTHREAD = 0x00200000
PF_NO_SETAFFINITY = 0x04000000


@dataclasses.dataclass(frozen=True)
class Task:
    """A thread of the machine. `start` tells a thread from a later one with the same id."""

    tid: int
    pid: int
    comm: str
    kthread: bool
    pinned: bool  # by the kernel: nobody can change its affinity
    start: int
    affinity: frozenset


class Host:
    """The running machine."""

    root = pathlib.Path("/")

    def read(self, path):
        """The text of a file, without the last newline; None if it cannot be read."""
        try:
            return (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").rstrip("\n")
        except OSError:
            return None

    def write(self, path, text):
        """Writes a file in one call, as /proc and /sys want it. OSError: the kernel refuses."""
        descriptor = os.open(self.root / path.lstrip("/"), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, (text + "\n").encode())
        finally:
            os.close(descriptor)

    def writable(self, path):
        """True if the file is there and neither its mode nor its mount forbids writing."""
        return os.access(self.root / path.lstrip("/"), os.W_OK)

    def names(self, path):
        """The names in a folder, ordered; none if there is no such folder."""
        try:
            return sorted(os.listdir(self.root / path.lstrip("/")))
        except OSError:
            return []

    def tasks(self):
        """All threads of the machine, ordered by id."""
        found = []
        for pid in sorted(int(name) for name in self.names("/proc") if name.isdigit()):
            for tid in sorted(int(name) for name in self.names(f"/proc/{pid}/task")):
                task = self.task(tid, pid)
                if task:
                    found.append(task)
        return found

    def task(self, tid, pid=None):
        """The thread with this id, or None if it has ended."""
        stat = self.read(f"/proc/{tid}/stat" if pid is None else f"/proc/{pid}/task/{tid}/stat")
        if not stat:
            return None
        comm, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
        try:
            affinity = frozenset(os.sched_getaffinity(tid))
        except OSError:
            return None
        flags = int(rest[6])
        return Task(tid, pid or tid, comm, bool(flags & PF_KTHREAD), bool(flags & PF_NO_SETAFFINITY),
                    int(rest[19]), affinity)

    def set_affinity(self, tid, wanted):
        """Sets a thread's affinity. OSError: the kernel refuses."""
        os.sched_setaffinity(tid, wanted)

    def privileged(self):
        """True if this process may change what belongs to the machine."""
        return os.geteuid() == 0

    def boot_id(self):
        """What tells this boot of the machine from others."""
        return self.read("/proc/sys/kernel/random/boot_id") or ""

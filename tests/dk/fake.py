# SPDX-License-Identifier: Apache-2.0
"""A machine of files and threads in memory, in the place of dkctl's Host."""
import dataclasses
import errno
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "dk"))
sys.dont_write_bytecode = True
from dkctl import cpus  # noqa: E402  (found through the lines above)
from dkctl.host import Task  # noqa: E402


class Killed(BaseException):
    """SIGKILL of dkctl: nothing of it runs any more."""


class FakeHost:
    """Files by path, threads by id. Behaves as the kernel does where dkctl depends on it."""

    def __init__(self, files, tasks, refused=(), readonly=(), root=True):
        self.files, self.threads = dict(files), {task.tid: task for task in tasks}
        self.refused, self.readonly, self.root_user = set(refused), tuple(readonly), root
        self.writes, self.kill_at, self.events = 0, None, {}
        self.boot = "boot-1"

    def step(self):
        """Counts a write; is killed at one, or has something happen before another."""
        if self.writes == self.kill_at:
            raise Killed
        event = self.events.pop(self.writes, None)
        self.writes += 1
        if event:
            event(self)

    def read(self, path):
        return self.files.get(path)

    def write(self, path, text):
        self.step()
        if path not in self.files:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if path.startswith(self.readonly) and self.readonly:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        if path in self.refused:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if path.endswith("cgroup.subtree_control"):
            self.control(path, text)
            return
        if path.endswith("_list") and not cpus.parse_list(text) & self.online():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if path.endswith("cpuset.cpus") and not text:  # the groups of these machines have tasks
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.files[path] = text

    def control(self, path, text):
        """Switches a controller: CPU sets of the groups below come and go with it."""
        groups = {name.split("/")[4] for name in self.files if name.count("/") == 5 and "/cgroup.procs" in name}
        old = self.files[path].split()
        if text == "+cpuset":
            self.files[path] = " ".join(["cpuset", *[word for word in old if word != "cpuset"]])
        else:
            self.files[path] = " ".join(word for word in old if word != "cpuset")
        for group in groups:
            name = f"/sys/fs/cgroup/{group}/cpuset.cpus"
            if text == "+cpuset":
                self.files.setdefault(name, "")
            else:
                self.files.pop(name, None)

    def online(self):
        return cpus.parse_list(self.files["/sys/devices/system/cpu/online"])

    def writable(self, path):
        return path in self.files and not (self.readonly and path.startswith(self.readonly))

    def names(self, path):
        path = path.rstrip("/") + "/"
        return sorted({name[len(path):].split("/")[0] for name in self.files if name.startswith(path)})

    def tasks(self):
        return [self.threads[tid] for tid in sorted(self.threads)]

    def task(self, tid, _pid=None):
        return self.threads.get(tid)

    def set_affinity(self, tid, wanted):
        self.step()
        task = self.threads.get(tid)
        if not task:
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        if task.pinned or not wanted & self.online():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.threads[tid] = dataclasses.replace(task, affinity=frozenset(wanted))

    def privileged(self):
        return self.root_user

    def boot_id(self):
        return self.boot

    def state(self):
        """All that a snapshot of the machine holds."""
        return dict(self.files), dict(self.threads)


def thread(tid, comm, affinity, kthread=False, pinned=False, start=None):
    """A thread with an affinity given as a list."""
    return Task(tid, tid, comm, kthread, pinned, start or 100 + tid, cpus.parse_list(affinity))


def offline(cpu):
    """An event: a CPU leaves the machine."""
    def event(host):
        path = "/sys/devices/system/cpu/online"
        left = cpus.parse_list(host.files[path]) - {cpu}
        host.files[path] = cpus.format_list(left)
        for tid, task in host.threads.items():
            if task.affinity == {cpu}:  # the kernel lets such a thread run anywhere
                host.threads[tid] = dataclasses.replace(task, affinity=left)
    return event

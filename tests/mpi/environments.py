#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of ranks where something is missing: the right output with status 0, or a message with another status;
no hang, no death without a word.

usage: environments.py TMPIRUN PROGRAM
"""
import ctypes
import itertools
import os
import re
import resource
import subprocess
import sys
import unittest

TMPIRUN, PROGRAM = "", ""
RANKS, SECONDS = 8, 60
EPERM, ENOSYS = 1, 38
CALLS = """read write close open openat stat fstat newfstatat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
    rt_sigpending rt_sigtimedwait sigaltstack ioctl pread64 readv writev access faccessat2 pipe2 poll ppoll sched_yield
    mremap madvise dup fcntl nanosleep clock_nanosleep getpid gettid getppid clone clone3 kill tgkill uname flock
    readlink readlinkat getrlimit setrlimit prlimit64 getrusage sysinfo getuid geteuid getgid futex futex_waitv
    sched_setaffinity sched_getaffinity sched_setscheduler sched_getscheduler sched_getparam sched_setattr sched_getattr
    set_tid_address set_robust_list clock_gettime clock_getres gettimeofday epoll_create1 epoll_ctl epoll_wait
    timerfd_create timerfd_settime eventfd2 signalfd4 process_vm_readv getcpu getrandom memfd_create membarrier mlock
    mlock2 mincore statx statfs fstatfs rseq close_range prctl arch_prctl socket connect sendto sendmsg recvmsg setitimer
    timer_create timer_settime perf_event_open get_mempolicy getdents64""".split()
WORDLESS = {"write": "no message can be written", "mmap": "ld.so dies"}
MEANS = [r"(?m)^(tmpirun|tmpi|mltp): ", r"error while loading shared libraries", r"cannot (set|allocate|create|make)",
         r"Fatal glibc error", r"libgcc_s", r"failed to"]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # of BPF: a word; equal to a constant; a constant
ERRNO, ALLOW = 0x00050000, 0x7fff0000


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def numbers():
    text = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-"], input="", text=True, capture_output=True,
                          check=True).stdout
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}


def refuse(number, error):
    """From the next execve(2) on, a system call of the process fails."""
    program = (Instruction * 4)(Instruction(LOAD, 0, 0, 0), Instruction(JUMP_EQUAL, 0, 1, number),
                                Instruction(RETURN, 0, 0, ERRNO | error), Instruction(RETURN, 0, 0, ALLOW))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(Filter(len(program), program)), 0, 0) != 0:
            os._exit(77)
    return install


def limit(what, value):
    def install():
        most = resource.getrlimit(what)[1]
        resource.setrlimit(what, (value if most == resource.RLIM_INFINITY else min(value, most), most))
    return install


def run(install=None, wrapper=()):
    return subprocess.run([*wrapper, TMPIRUN, "-n", str(RANKS), "--vps", "2", PROGRAM], capture_output=True, text=True,
                          check=False, preexec_fn=install, timeout=SECONDS, stdin=subprocess.DEVNULL)


class Environments(unittest.TestCase):
    def holds(self, what, wordless=False, **settings):
        right = sorted(run().stdout.splitlines())
        with self.subTest(what):
            try:
                result = run(**settings)
            except subprocess.TimeoutExpired as late:
                self.fail(f"{what}: hangs: {late.stderr}")
            if result.returncode == 0:
                self.assertEqual(sorted(result.stdout.splitlines()), right, (what, result.stderr))
            elif not wordless:
                self.assertTrue(any(re.search(meaning, result.stderr) for meaning in MEANS), (what, result))

    def test_system_calls(self):
        known = numbers()
        for name, error in itertools.product([name for name in CALLS if name in known], (EPERM, ENOSYS)):
            self.holds(f"{name} {error}", wordless=name in WORDLESS, install=refuse(known[name], error))

    def test_limits(self):
        limits = {resource.RLIMIT_AS: [1 << 26, 1 << 28, 1 << 30, 1 << 34], resource.RLIMIT_NOFILE: [3, 4, 8, 16],
                  resource.RLIMIT_STACK: [1 << 16, 1 << 20, 1 << 30], resource.RLIMIT_DATA: [1 << 20, 1 << 24, 1 << 28],
                  resource.RLIMIT_MEMLOCK: [0], resource.RLIMIT_FSIZE: [0], resource.RLIMIT_SIGPENDING: [0],
                  resource.RLIMIT_NPROC: [0, 1]}
        for what, values in limits.items():
            for value in values:
                self.holds(f"limit {what} {value}", install=limit(what, value))

    def test_without_proc(self):
        bare = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
        if subprocess.run([*bare, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        self.holds("no /proc", wrapper=bare)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of ranks where something is missing: the right output with status 0, or a message with another status;
no hang, no death without a word.

usage: environments.py TMPIRUN PROGRAM
"""
import ctypes
import itertools
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM = "", ""
RANKS = 8
SECONDS = 550  # until a job hangs; a busy machine may be slow
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


def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def endless(folder):
    """@return a program that computes in all ranks until it is killed, and tells when it does."""
    source, program = pathlib.Path(folder, "long.c"), pathlib.Path(folder, "long")
    source.write_text("""
        #include <mpi.h>
        #include <unistd.h>
        static volatile double x;
        static void compute(void) { for (;;) for (int i = 0; i < 1000; i++) x += i; }
        int main(int argc, char **argv) {
          MPI_Init(&argc, &argv);
          MPI_Barrier(MPI_COMM_WORLD);
          write(1, "here\\n", 5);
          compute();
        }""")
    wrapper = pathlib.Path(TMPIRUN).with_name("tmpicc")
    subprocess.run([wrapper, "-O1", source, "-o", program], check=True)
    return program


SLEEPS = """
    #include <mpi.h>
    #include <unistd.h>
    int main(int argc, char **argv) {
      int rank;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      for (int i = 0; i < 3; i++) {
        usleep(20000 * rank);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      MPI_Finalize();
      return 0;
    }"""
HOLDS = """
    #include <mpi.h>
    #include <stdio.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static volatile double x;
    int main(int argc, char **argv) {
      int rank;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) {
        flockfile(stderr);
        syscall(SYS_sched_yield);
        funlockfile(stderr);
      }
      for (;;) x += 1;
    }"""
CLOCK = """
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>
    int clock_gettime(clockid_t clock, struct timespec *now) {
      long error = syscall(SYS_clock_gettime, clock, now);
      now->tv_sec += 1000000;
      return error;
    }"""


class Time(unittest.TestCase):
    """What ranks do until a deadline, where time is another or others compute first."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, compiler, text, program, *options):
        source = self.folder / f"{program}.c"
        source.write_text(text)
        subprocess.run([compiler, "-O1", source, "-o", self.folder / program, *options], check=True)
        return self.folder / program

    def run_it(self, *command, **settings):
        return subprocess.run([TMPIRUN, "-n", "4", "--vps", "2", *command], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, **settings)

    def test_clock_of_a_preloaded_library(self):
        """As faketime(1) does it: the kernel waits by another clock."""
        clock = self.build("cc", CLOCK, "clock.so", "-shared", "-fPIC")
        sleeps = self.build(pathlib.Path(TMPIRUN).with_name("tmpicc"), SLEEPS, "sleeps")
        result = self.run_it(sleeps, env={**os.environ, "LD_PRELOAD": str(clock)}, timeout=SECONDS)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_real_time_priority(self):
        """A VP computes with it; the thread that looks at the time has to run beside it."""
        self.ends_with_real_time_priority(endless(self.folder))

    def test_real_time_priority_and_a_lock(self):
        """A rank that holds a lock never runs again, and a report takes that lock."""
        holds = self.build(pathlib.Path(TMPIRUN).with_name("tmpicc"), HOLDS, "holds")
        self.ends_with_real_time_priority(holds)

    def ends_with_real_time_priority(self, program):
        """On one CPU: other programs hardly run there meanwhile."""
        def install():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            subprocess.run(["true"], check=True, preexec_fn=install)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest("no real-time priority may be had here")
        result = self.run_it("--timeout=1", program, preexec_fn=install, timeout=SECONDS)
        self.assertEqual(result.returncode, 124, result)
        self.assertIn("outside of MPI", result.stderr)


class Named(unittest.TestCase):
    """The message names what was met."""

    def says(self, words, program=None, wrapper=(), install=None):
        result = subprocess.run([*wrapper, TMPIRUN, "-n", "4", "--vps", "2", program or PROGRAM], capture_output=True,
                                text=True, check=False, preexec_fn=install, stdin=subprocess.DEVNULL)
        self.assertIn(words, result.stderr)
        self.assertEqual(result.returncode, 1)

    def as_nobody(self, more=lambda: None):
        """@return what makes a child one that is no administrator; this test is skipped where none can be."""
        def install():
            if os.geteuid() == 0:
                nobody()
            more()
        try:
            subprocess.run([TMPIRUN, "--version"], capture_output=True, check=True, preexec_fn=install)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest("other users may not run what was built")
        return install

    def test_limit_of_processes(self):
        self.says("ulimit -u is 1 (", install=self.as_nobody(limit(resource.RLIMIT_NPROC, 1)))

    def test_limit_of_a_cgroup(self):
        group = pathlib.Path(f"/sys/fs/cgroup/pids/mltp-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            self.skipTest("no cgroup of version 1 may be made here")
        try:
            group.joinpath("pids.max").write_text("1")
            self.says("pids.max of its cgroup is 1 (",
                      install=lambda: group.joinpath("cgroup.procs").write_text(str(os.getpid())))
        finally:
            group.rmdir()

    def test_filter(self):
        known = numbers()

        def install():
            for name in "clone3", "clone":
                refuse(known[name], EPERM)()
        self.says("a filter of system calls refuses threads: Operation not permitted", install=install)

    def test_program_that_may_not_be_read(self):
        install = self.as_nobody()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder).chmod(0o755)
            copy = pathlib.Path(shutil.copy(PROGRAM, folder))
            copy.chmod(0o111)
            self.says("Permission denied (ranks are loaded by reading the file: chmod +r)", copy, install=install)

    def test_no_plain_file(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = pathlib.Path(folder, "fifo")
            os.mkfifo(fifo)
            self.says("it is no plain file", fifo)

    def test_file_system_without_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = ["unshare", "--mount", "sh", "-c",
                    f'mount -t tmpfs -o noexec none {folder} && cp "{PROGRAM}" {folder}/program && exec "$@"', "sh"]
            if subprocess.run([*bare, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("nothing may be mounted here")
            self.says("its file system is mounted noexec", f"{folder}/program", wrapper=bare)

    def test_program_that_is_written_to(self):
        """Ranks on several VPs crash at once, also on one that the monitor has made; there is one whole report."""
        with tempfile.TemporaryDirectory() as folder:
            program = endless(folder)
            with subprocess.Popen([TMPIRUN, "-n", "4", "--vps", "2", program], text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                for _ in range(4):
                    self.assertEqual(job.stdout.readline(), "here\n")
                os.truncate(program, 0)
                text = job.communicate()[1]
            self.assertEqual(job.returncode, -signal.SIGBUS, text)
            self.assertRegex(text, r"^tmpirun: rank \d crashed: SIGBUS at address .*\ntmpirun: '.*/long' was written to")
            self.assertEqual(text.count("crashed"), 1)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)

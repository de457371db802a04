# SPDX-License-Identifier: Apache-2.0
"""The pthread programs of gated.py, which nobody wrote for MLTP: how each runs, and what its right answer is.

A program has a run of its own in a folder: prepare() makes its input there, and a copy is one process, or a server and
its client. Sizes are chosen so that a run takes some seconds; `quick` takes a tenth.
"""
import hashlib
import os
import random
import re
import shutil
import subprocess
import time
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = ["/usr/bin/python3", "-B", os.path.join(HERE, "clients.py")]
THREADS = 8
AGAIN = 3  # runs of a stressor that could not begin


class Wrong(Exception):
    """A run failed, or its answer is not the right one."""


class Use(typing.NamedTuple):
    """What a process and its children used: CPU time, waits, and times that a thread lost its CPU to another."""
    cpu: float
    waits: int
    losses: int


def end_of(process):
    """Waits for a process. Returns its exit status and what it used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, Use(usage.ru_utime + usage.ru_stime, usage.ru_nvcsw, usage.ru_nivcsw)


def use_of(ends):
    """The sum of what processes used."""
    return Use(*(sum(column) for column in zip(*(use for _, use in ends))))


def text(folder, size):
    """A file of words in an order that is the same each time: it can be compressed, as most files can."""
    path = folder / f"text-{size}"
    if not path.exists():
        source = random.Random(size)
        words = [f"{source.getrandbits(source.choice((16, 40, 64))):x}" for _ in range(5000)]
        with open(path, "w", encoding="ascii") as file:
            while file.tell() < size:
                file.write(" ".join(source.choices(words, k=10000)) + "\n")
    return path


def film(folder, frames, width=640, height=352):
    """A film in the format y4m: waves that move, and noise."""
    path = folder / f"film-{frames}.y4m"
    if not path.exists():
        source = random.Random(frames)
        noise = source.randbytes(width * height * 2)
        row = bytes((128 + (x * x // 97) % 101) for x in range(2 * width + frames * 8))
        with open(path, "wb") as file:
            file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
            for frame in range(frames):
                file.write(b"FRAME\n")
                for y in range(height):
                    start = frame * 3 + (y * y // 53) % width
                    file.write(row[start:start + width - 64] + noise[y * width + frame:][:64])
                file.write(noise[frame * 977:][:width * height // 2])
    return path


class Batch:
    """A program that reads its input and ends. Its answer is the hash of what it writes, or what reads() makes of it."""

    has_threads = counts_all = True

    def __init__(self, name, words, prepare, package=None, answer=None, module=None):
        self.name, self.words, self.input, self.own_answer = name, words, prepare, answer
        self.package = package or name
        self.command, self.module = words[0], module

    def missing(self):
        found = shutil.which(self.command) is not None
        if found and self.module:
            found = subprocess.run([self.command, "-c", f"import {self.module}"], capture_output=True, check=False).returncode == 0
        return None if found else f"{self.module or self.command} is not installed (package {self.package})"

    def prepare(self, folder, quick):
        self.made = self.input(folder, quick)

    def answer(self, path):
        """What a run wrote, as a short text."""
        if self.own_answer is not None:
            return self.own_answer(path.read_text(encoding="utf-8", errors="replace"))
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    def run(self, prefix, environment, folder, copies):
        """Runs copies at the same time. Returns wall time, what all used, and their answers."""
        outputs = [folder / f"out-{copy}" for copy in range(copies)]
        begin = time.monotonic()
        processes = []
        for output in outputs:
            words = [word.format(input=self.made, out=output) for word in self.words]
            with open(output, "wb") as file:
                processes.append(subprocess.Popen([*prefix, *words], stdout=file, stderr=subprocess.DEVNULL, cwd=folder,
                                                  stdin=subprocess.DEVNULL, env=environment))
        ends = [end_of(process) for process in processes]
        wall = time.monotonic() - begin
        for status, _ in ends:
            if status != 0:
                raise Wrong(f"{self.name}: status {status}")
        answers = {self.answer(output) for output in outputs}
        return wall, use_of(ends), answers


class Server:
    """A server and its client, over a socket of the file system. The client checks the answers; CPU time is the server's."""

    has_threads, counts_all = True, False

    def __init__(self, name, words, sizes, package=None):
        self.name, self.words, self.sizes = name, words, sizes
        self.package = package or name

    def missing(self):
        return None if shutil.which(self.words[0]) else f"{self.words[0]} is not installed (package {self.package})"

    def prepare(self, _folder, quick):
        self.requests = self.sizes[quick]

    def start(self, prefix, environment, folder, socket):
        words = [word.format(socket=socket) for word in self.words]
        return subprocess.Popen([*prefix, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
                                stdin=subprocess.DEVNULL, env=environment)

    def run(self, prefix, environment, folder, copies):
        sockets = [folder / f"{self.name}-{copy}.sock" for copy in range(copies)]
        for socket in sockets:
            socket.unlink(missing_ok=True)
        servers = [self.start(prefix, environment, folder, socket) for socket in sockets]
        try:
            for _ in range(1000):
                if all(socket.exists() for socket in sockets):
                    break
                time.sleep(0.01)
            begin = time.monotonic()
            clients = [subprocess.Popen([*CLIENT, self.name, socket, str(self.requests)], stdout=subprocess.PIPE)
                       for socket in sockets]
            answers = {client.communicate()[0].decode().strip() for client in clients}
            wall = time.monotonic() - begin
        finally:
            for server in servers:
                server.terminate()
            ends = [end_of(server) for server in servers]
        return wall, use_of(ends), answers


class Stress(Batch):
    """A stressor of stress-ng. It is right if all of its checks held, and it has done as much as it was to do."""

    def __init__(self, name, operations, seconds=100, has_threads=True):
        """seconds: at most. sem always takes as long, since its threads wait for one another after the last operation.
        has_threads: its workers are not processes of one thread each, for which a gate can do nothing."""
        self.has_threads = has_threads
        words = ["stress-ng", f"--{name}", "2", f"--{name}-ops", "{input}", "--verify", "--timeout", str(seconds),
                 "--temp-path", ".", "--stdout", "--metrics-brief"]
        self.stressor = name
        super().__init__(f"stress-ng {name}", words, lambda _, quick: operations // (10 if quick else 1), "stress-ng")

    def run(self, prefix, environment, folder, copies):
        """The mutex stressor may say that it could create no threads, plain too: if its first thread, which has a real-time
        priority, has done all operations before its creator has a CPU. Then it runs again. The signal that ends it may also come
        just before its creator waits for it, plain too: then it ends at its timer, a second later, and minima tell more."""
        for _ in range(AGAIN):
            try:
                return super().run(prefix, environment, folder, copies)
            except Wrong:
                if not any("could not create any pthreads" in (folder / f"out-{copy}").read_text() for copy in range(copies)):
                    raise
        raise Wrong(f"{self.name}: could not create threads {AGAIN} times in a row")

    def answer(self, path):
        output = path.read_text(encoding="utf-8", errors="replace")
        done = re.search(rf"^stress-ng: metrc: .* {self.stressor} +(\d+) ", output, re.M)
        if "successful run completed" not in output or not done:
            raise Wrong(f"{self.name}: {output[-200:]}")
        if int(done[1]) < self.made:
            raise Wrong(f"{self.name}: {done[1]} of {self.made} operations in the time")
        return "passed"


def of_text(size):
    return lambda folder, quick: text(folder, size // (10 if quick else 1))


def sysbench(test, *words):
    return Batch(f"sysbench {test}", ["sysbench", test, f"--threads={THREADS}", *words, "run"], lambda _, quick: 1000 if quick else 10000,
                 "sysbench", answer=lambda output: "done" if "execution time (avg/stddev)" in output else output[-200:])


PROGRAMS = (
    Batch("pbzip2", ["pbzip2", f"-p{THREADS}", "-kc", "{input}"], of_text(24000000)),
    Batch("pigz", ["pigz", f"-p{THREADS}", "-9", "-nc", "{input}"], of_text(60000000)),
    Batch("x264", ["x264", "--quiet", "--threads", str(THREADS), "--preset", "medium", "--muxer", "raw", "-o", "-",
                   "{input}"], lambda folder, quick: film(folder, 10 if quick else 80)),
    Batch("sqlite", [*CLIENT, "sqlite", "{input}"], lambda _, quick: 2000 if quick else 20000, "python3",
          answer=str.strip),
    Batch("numpy", [*CLIENT, "blas", "{input}"], lambda _, quick: 300 if quick else 3000, "python3-numpy",
          answer=str.strip, module="numpy"),
    Server("memcached", ["memcached", "-u", "root", "-t", str(THREADS), "-s", "{socket}"], (1000000, 20000)),
    Server("redis", ["redis-server", "--port", "0", "--unixsocket", "{socket}", "--io-threads", "4", "--save", ""],
           (100000, 20000), "redis-server"),
    Stress("mutex", 400000), Stress("sem", 200000, 20), Stress("pthread", 40000), Stress("sleep", 40000),
    Stress("futex", 400000, has_threads=False), Stress("peterson", 40000000, has_threads=False),
    sysbench("threads", "--events={input}", "--time=0", "--thread-locks=2", "--thread-yields=100"),
    sysbench("mutex", "--mutex-num=4", "--mutex-locks={input}", "--mutex-loops=100"),
    Batch("lbzip2", ["lbzip2", "-n", str(THREADS), "-kc", "{input}"], of_text(24000000)),
    Batch("plzip", ["plzip", "-n", str(THREADS), "-kc", "-3", "{input}"], of_text(24000000)),
    Batch("zstd", ["zstd", f"-T{THREADS}", "-15", "-kqc", "{input}"], of_text(24000000)),
)

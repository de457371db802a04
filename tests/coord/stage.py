# SPDX-License-Identifier: Apache-2.0
"""What the tests of mltpd share: a daemon of their own, programs that obey, bare connections."""
import contextlib
import hashlib
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import threading
import time

MAGIC, VERSION = 0x4d4c5450, 1
HELLO, WELCOME, REFUSED, BELL, LIST, ENTRY, END = range(1, 8)
MESSAGE = struct.Struct("=IIIIIIi32s")
ENTRY_FORMAT = struct.Struct("=IIIiIIIIIIIxxxxQQ32s")
TIME_LIMIT = 550  # seconds until something that must happen counts as never; a loaded machine needs many


def wait_for(condition, what, seconds=TIME_LIMIT):
    """Waits until a condition holds; returns what it returned."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"never came to be: {what}"
        time.sleep(0.005)


class Daemon:
    """An mltpd in a directory of its own."""

    def __init__(self, mltpd, mltp, *options):
        self.mltpd, self.mltp, self.options = mltpd, mltp, options
        self.directory = tempfile.TemporaryDirectory(prefix="mltpd-")
        self.socket = str(pathlib.Path(self.directory.name) / "s")
        self.errors = str(pathlib.Path(self.directory.name) / "errors")
        self.process = None

    def start(self):
        """Starts it, and waits until it listens."""
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen([self.mltpd, "--socket", self.socket, *self.options],
                                            stderr=errors)
        wait_for(self.answers, "mltpd answers")
        return self

    def answers(self):
        """Returns whether it listens."""
        assert self.process.poll() is None, f"mltpd ended: {self.messages()}"
        with contextlib.suppress(OSError):
            self.connect().close()
            return True
        return False

    def messages(self):
        """Returns what it wrote so far."""
        return pathlib.Path(self.errors).read_text()

    def connect(self):
        """Returns a bare connection."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self.socket)  # waits for room in the queue
        connection.settimeout(TIME_LIMIT)
        return connection

    def list(self):
        """Returns its programs as dictionaries, by name."""
        connection, programs, start = self.connect(), [], 0
        while True:
            connection.send(message(LIST, most=start))
            data = connection.recv(4096)
            while struct.unpack_from("=I", data, 8)[0] == ENTRY:
                values = ENTRY_FORMAT.unpack(data)
                names = ("pid", "uid", "role", "most", "demand", "active", "granted", "share",
                         "switches", "since")
                programs.append(dict(zip(names, values[3:13]),
                                     name=values[13].split(b"\0")[0].decode()))
                data = connection.recv(4096)
            assert struct.unpack_from("=I", data, 8)[0] == END
            start = MESSAGE.unpack(data)[4]
            if start == 0:
                connection.close()
                return programs

    def of(self, pid):
        """Returns the program with a pid, or None."""
        return next((p for p in self.list() if p["pid"] == pid), None)

    def switches(self):
        """Returns how often it has gone to sleep."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])

    def kill(self):
        """Kills it by SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends it in peace."""
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(TIME_LIMIT) == 0, self.messages()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class Worker:
    """A program (worker.c) that obeys commands."""

    def __init__(self, program, where, vps=2, before=(), **more):
        environment = {**os.environ, "MLTP_COORDINATOR": where, "MLTP_VPS": str(vps), **more}
        environment.pop("MLTP_OVERSUBSCRIBE", None)
        self.process = subprocess.Popen([*before, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        assert line == "ready\n", f"{line}{self.process.stderr.read()}"

    def ask(self, command):
        """Gives a command, returns the last word of the answer."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer, f"no answer to {command}: {self.process.stderr.read()}"
        return answer[-1]

    def active(self):
        """Returns how many VPs work."""
        return int(self.ask("active"))

    def end(self):
        """Ends it, and checks that it ended well."""
        out, errors = self.process.communicate("end\n", timeout=TIME_LIMIT)
        assert self.process.returncode == 0 and out == "end\n", f"{out}{errors}"
        assert errors == "", errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


def message(kind, role=0, most=0, weight=1, name=b"bare", version=VERSION, magic=MAGIC):
    """Returns the bytes of a message."""
    return MESSAGE.pack(magic, version, kind, role, most, weight, 0, name)


def join(connection, most=2, **more):
    """Says HELLO. Returns the kind of the answer, its error, and the two descriptors."""
    with contextlib.suppress(BrokenPipeError):  # refused already: the answer says why
        connection.send(message(HELLO, most=most, **more))
    try:
        data, fds, _, _ = socket.recv_fds(connection, MESSAGE.size, 2)
    except ConnectionResetError:  # refused before HELLO was read: the answer is behind the reset
        data, fds, _, _ = socket.recv_fds(connection, MESSAGE.size, 2)
    values = MESSAGE.unpack(data)
    return values[2], values[6], fds


@contextlib.contextmanager
def computing():
    """Meanwhile this process uses a part of a CPU: mltpd takes CPUs away from programs that hold them idle."""
    stop = threading.Event()

    def compute():
        while not stop.wait(0.01):
            hashlib.sha256(bytes(4 << 20)).digest()  # without the interpreter's lock

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run(tests):
    """Runs functions in turn, and says which."""
    for test in tests:
        begin = time.monotonic()
        print(f"{test.__name__}: {test.__doc__}", flush=True)
        test()
        print(f"  {time.monotonic() - begin:.2f} s", flush=True)

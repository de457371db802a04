# SPDX-License-Identifier: Apache-2.0
"""The sched_ext backend: starts dk-sched, which holds the BPF scheduler, and talks to it by a socket.

dk-sched answers each line with a line of JSON. When it ends, by whatever cause, the kernel returns every task
to the stock scheduler; the reason is in the file last-exit of the state folder.
"""
import json
import os
import pathlib
import socket
import subprocess
import time

from .refusal import Refusal

STATE = "/sys/kernel/sched_ext/state"
START_SECONDS = 60  # the verifier of a loaded machine, or of an emulated one, needs its time
FALLBACK = "use --backend fallback, which needs no sched_ext"


class Scheduler:
    """A running or startable dk-sched of a state folder."""

    def __init__(self, state, program):
        self.state, self.program = pathlib.Path(state), pathlib.Path(program)
        self.socket = self.state / "sched.sock"

    def ask(self, line):
        """Sends a line, returns the answer as a dict; None if no dk-sched is running."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(START_SECONDS)
            try:
                connection.connect(str(self.socket))
                connection.sendall(line.encode() + b"\n")
                answer = connection.makefile().readline()
            except OSError:
                return None
        return json.loads(answer) if answer else None

    def tell(self, line):
        """As ask(); a refusal of dk-sched becomes ours."""
        answer = self.ask(line)
        if answer is None or answer.get("error"):
            why = answer["error"] if answer else "it does not answer"
            raise Refusal("scheduler dk-sched", why, "see dkctl status")
        return answer

    def running(self):
        """True if dk-sched runs and the kernel uses its scheduler."""
        return self.ask("status") is not None

    def last_exit(self):
        """Why the last scheduler left, as a text; None if none has."""
        try:
            return (self.state / "last-exit").read_text(encoding="utf-8").strip() or None
        except OSError:
            return None

    def start(self, roles, options, on_exit):
        """Starts dk-sched with roles, and returns when the kernel has taken over its scheduler."""
        (self.state / "last-exit").unlink(missing_ok=True)
        command = [str(self.program), "--socket", str(self.socket), "--exit-file",
                   str(self.state / "last-exit"), "--on-exit", on_exit, *options, *words(roles)]
        with open(self.state / "sched.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, close_fds=True)
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            if self.running():
                return
            time.sleep(0.05)
        if process.poll() is None:
            process.kill()
            process.wait()
        raise Refusal("scheduler dk-sched", self.log(), FALLBACK)

    def log(self):
        """The last line that dk-sched wrote."""
        try:
            lines = (self.state / "sched.log").read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        lines = [line for line in lines if line.strip()]
        return lines[-1] if lines else "it did not start in time"

    def stop(self):
        """Ends dk-sched, and returns when the kernel is back at its stock scheduler."""
        self.ask("stop")
        deadline = time.monotonic() + START_SECONDS
        while self.socket.exists() and time.monotonic() < deadline:
            time.sleep(0.02)


def words(roles):
    """The arguments of dk-sched that carry roles."""
    epochs = ",".join(str(cpu) for cpu in sorted(roles.epochs))
    return ["--roles", roles.text(), *(["--epochs", epochs] if epochs else [])]


def core_cookies(host):
    """True if a thread of the machine has a core-scheduling cookie (prctl(2), PR_SCHED_CORE)."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    cookie = ctypes.c_ulonglong(0)
    for task in host.tasks():
        if libc.prctl(62, 0, task.tid, 0, ctypes.byref(cookie)) == 0 and cookie.value:
            return True
    return False


def missing(host, program, smt):
    """Why the sched_ext backend cannot be used here, as (why, what to do); None if it can."""
    if host.read(STATE) is None:
        return "this kernel has no sched_ext", FALLBACK
    if host.read("/sys/kernel/btf/vmlinux") is None:
        return "this kernel shows no BTF, which the BPF scheduler needs", FALLBACK
    if not os.access(program, os.X_OK):
        return f"this dkctl was built without its BPF scheduler ({program})", FALLBACK
    if smt and core_cookies(host):
        return ("core-scheduling cookies are in use, and sched_ext can hang such a machine for good",
                "end the programs that use core scheduling, or " + FALLBACK)
    try:
        checked = subprocess.run([program, "--check"], capture_output=True, text=True, check=False,
                                 timeout=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"dk-sched does not run: {error}", FALLBACK
    if checked.returncode:
        lines = checked.stderr.strip().split("\n")
        return f"the kernel refuses the BPF scheduler: {lines[-1]}", FALLBACK
    return None

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the server examples with real clients: many connections at once for echo, curl for http.

usage: serve.py FOLDER_OF_EXAMPLES
Exit status: 0: all answers were right; 77: no curl here.
"""
import concurrent.futures
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

CLIENTS = 60
MESSAGE = bytes(range(256)) * 40


class Server:
    """An example that serves while the block runs; its first line says where."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline().strip()

    def __exit__(self, *unused):
        assert self.process.poll() is None, f"{self.command[0]} ended by itself"
        self.process.kill()
        self.process.communicate()


def call_echo(port):
    """Sends in pieces, and compares the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=550) as connection:
        for start in range(0, len(MESSAGE), 1000):
            connection.sendall(MESSAGE[start:start + 1000])
        got = b""
        while len(got) < len(MESSAGE):
            piece = connection.recv(65536)
            if not piece:
                return False
            got += piece
    return got == MESSAGE


def check_echo(program):
    with Server(program, "0") as line:
        port = int(line.split()[-1])
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(call_echo, [port] * CLIENTS))
    assert all(answers), f"{answers.count(False)} of {CLIENTS} connections got another answer"


def curl(*arguments):
    return subprocess.run(["curl", "--silent", "--max-time", "550", *arguments], check=True,
                          capture_output=True).stdout


def check_http(program):
    with tempfile.TemporaryDirectory() as folder:
        large = b"0123456789abcdef" * 200_000  # more than a socket takes at once
        (pathlib.Path(folder) / "large").write_bytes(large)
        (pathlib.Path(folder) / "small").write_text("hello\n")
        status = ["--output", "/dev/null", "--write-out", "%{http_code}"]
        with Server(program, "0", folder) as url:
            assert curl(url + "small") == b"hello\n"
            assert curl(url + "large") == large
            # two requests on one connection
            assert curl(url + "small", url + "small") == b"hello\nhello\n"
            assert curl(*status, url + "absent") == b"404"
            assert curl(*status, "--path-as-is", url + "../small") == b"404"
            assert curl(*status, "--data", "x", url + "small") == b"405"


def main():
    folder = pathlib.Path(sys.argv[1])
    check_echo(folder / "echo")
    if shutil.which("curl") is None:
        print("skipped: curl is not installed (Debian package curl)")
        return 77
    check_http(folder / "http")
    return 0


if __name__ == "__main__":
    sys.exit(main())

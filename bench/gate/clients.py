#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of gated.py's servers, and a program of threads that use SQLite.

Usage: clients.py memcached|redis SOCKET REQUESTS
       clients.py sqlite ROWS
       clients.py blas PRODUCTS

Each prints "right" if every answer was the expected one; otherwise it fails.
"""
import socket
import sqlite3
import subprocess
import sys
import threading

CONNECTIONS, BATCH, THREADS, SIDE = 16, 50, 8, 160


def memcached(path, requests):
    """Stores values over many connections, a batch at a time on each, and reads them again from the next one."""
    connections = []
    for _ in range(CONNECTIONS):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        connections.append((connection, connection.makefile("rb")))
    rounds = requests // (2 * CONNECTIONS * BATCH)
    for number in range(rounds):
        for i, (connection, _) in enumerate(connections):
            connection.sendall(b"".join(b"set k%d-%d 0 0 %d\r\n%d\r\n" % (i, j, len(b"%d" % (number * j)), number * j)
                                        for j in range(BATCH)))
        for _, answers in connections:
            for _ in range(BATCH):
                assert answers.readline() == b"STORED\r\n"
        for i, (connection, _) in enumerate(connections):
            connection.sendall(b"".join(b"get k%d-%d\r\n" % ((i + 1) % CONNECTIONS, j) for j in range(BATCH)))
        for i, (_, answers) in enumerate(connections):
            for j in range(BATCH):
                value = b"%d" % (number * j)
                head = b"VALUE k%d-%d 0 %d\r\n" % ((i + 1) % CONNECTIONS, j, len(value))
                assert answers.read(len(head) + len(value) + 7) == head + value + b"\r\nEND\r\n"


def redis(path, requests):
    """redis-benchmark increments one number from many connections; then it must be that of the requests."""
    subprocess.run(["redis-benchmark", "-s", path, "-c", "50", "-n", str(requests), "-t", "incr", "-q"], check=True,
                   stdout=subprocess.DEVNULL)
    got = subprocess.run(["redis-cli", "-s", path, "get", "counter:__rand_int__"], check=True, capture_output=True, text=True)
    assert int(got.stdout) == requests, got.stdout


def sqlite(rows):
    """Threads write and read one database over one connection, whose mutex they wait for."""
    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.execute("create table numbers (thread integer, n integer, squared integer)")
    database.execute("create index by_number on numbers (n)")

    def work(thread):
        for n in range(rows):
            database.execute("insert into numbers values (?, ?, ?)", (thread, n, n * n))
            if n % 50 == 0:
                own = database.execute("select count(*) from numbers where n = ? and thread = ?", (n, thread)).fetchone()
                assert own == (1,)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = database.execute("select count(*), sum(n), sum(squared) from numbers").fetchone()
    expected = (THREADS * rows, THREADS * sum(range(rows)), THREADS * sum(n * n for n in range(rows)))
    assert got == expected, (got, expected)


def blas(products):
    """NumPy multiplies matrices of small integers, whose product a double holds exactly, by the threads of its BLAS."""
    import numpy  # pylint: disable=import-outside-toplevel
    source = numpy.random.default_rng(products)
    left, right = (source.integers(-9, 9, (SIDE, SIDE)) for _ in range(2))
    expected, left, right = left @ right, left.astype(float), right.astype(float)  # integers need no BLAS
    for _ in range(products):
        assert (left @ right == expected).all()


if __name__ == "__main__":
    if sys.argv[1] in ("sqlite", "blas"):
        {"sqlite": sqlite, "blas": blas}[sys.argv[1]](int(sys.argv[2]))
    else:
        {"memcached": memcached, "redis": redis}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    print("right")

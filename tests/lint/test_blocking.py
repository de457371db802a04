#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of mltp-blocking(7) has the calls that the tests make, in their order, and says what stands before libc's."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


# Names of functions that wait. A thread that waits for pthread_spin_lock() computes, and mltp-signals(7) has waits for signals.
WAITS = re.compile(r"pthread_(?!try)\w*join\w*|pthread_once|pthread_barrier_wait|pthread_cond_\w*wait|"
                   r"pthread_(?:mutex|rwlock)_(?:timed|clock)?(?:rd|wr)?lock|sem_(?:timed|clock)?wait|mtx_(?:timed)?lock|"
                   r"cnd_(?:timed)?wait|thrd_(?:join|sleep)|call_once|\w*sleep|wait(?:3|4|pid|id)?|system|pclose|flock|"
                   r"fcntl|lockf|syscall")
REPLACED_FOR_MORE = {"write"}  # in ranks: it has its row of output, and blocks as libc's


def sources(folder):
    return "\n".join(path.read_text() for path in sorted((TOP / folder).glob("*.c")))


def waiting(names):
    return {name for name in names if WAITS.fullmatch(name)}


class Blocking(unittest.TestCase):
    """The page and the tests."""

    def setUp(self):
        page = (TOP / "docs/man/mltp-blocking.7").read_text()
        table = page[page.index(".TS"):page.index(".TE")]
        self.rows = re.findall(r"^(\w+)\t(\w+)\t(\w+)\t(\w+)$", table, re.M)
        self.ranks = set(re.findall(r'\{"(\w+)", \(tm_any \*\)', sources("src/tmpi/run")))
        exported = re.compile(r"^GT_EXPORT [^(]*?\b(\w+)\(", re.M)
        self.gate = set(exported.findall(sources("src/gate")))
        self.lent = set(exported.findall("".join((TOP / "src/gate" / file).read_text() for file in ("calls.c", "word.c"))))

    def test_rows(self):
        """Each call of the tests is a row of the page, and no other is."""
        tested = [name for file in ("calls", "locks") for name in re.findall(
            r'^ +\{"(\w+)", \w+, \w+, \w+\},$', (TOP / f"tests/support/blocking_{file}.c").read_text(), re.M)]
        self.assertGreater(len(tested), 20)
        self.assertEqual(tested, [row[0] for row in self.rows])
        self.assertLessEqual({way for row in self.rows for way in row[1:]}, {"parks", "announced", "caught", "refused"})

    def test_complete(self):
        """Each function that waits, and stands before libc's, is a row."""
        names = {row[0] for row in self.rows}
        self.assertGreater(len(waiting(self.gate)), 20)
        self.assertGreater(len(waiting(self.ranks)), 20)
        self.assertEqual(waiting(self.gate | self.ranks) - names, set())

    def test_ways(self):
        """A call is caught unless a function stands before libc's."""
        for name, _, rank, gated in self.rows:
            own = name == "pthread_once"  # libmltp's, for ranks as for threads
            self.assertEqual(rank != "caught", own or name in self.ranks - REPLACED_FOR_MORE, name)
            way = "announced" if name in self.lent else "parks" if name in self.gate else "caught"
            self.assertEqual(gated, way, name)


if __name__ == "__main__":
    unittest.main()

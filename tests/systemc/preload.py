#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SystemC programs with our coroutine package: the same output as without, and what is better."""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

ARGS = None  # the command line


def run(name, *arguments, ours=True):
    """Runs a program with the package or without. It prints no banner then, for its date."""
    environment = dict(os.environ, SYSTEMC_DISABLE_COPYRIGHT_MESSAGE="1")
    program = ARGS.programs / name
    if ours and ARGS.linked:
        program = ARGS.programs / f"{name}-linked"
    elif ours:
        environment["LD_PRELOAD"] = str(ARGS.preload)
    else:  # AddressSanitizer does not know SystemC's own switches: it may keep locals elsewhere, and looks for leaks in guard pages
        unknown = "detect_stack_use_after_return=0:detect_leaks=0"
        environment["ASAN_OPTIONS"] = f"{environment.get('ASAN_OPTIONS', '')}:{unknown}"
    return subprocess.run([program, *map(str, arguments)], env=environment, capture_output=True,
                          text=True, check=False)


class Same(unittest.TestCase):
    """Byte for byte."""

    def same(self, *command):
        stock, ours = run(*command, ours=False), run(*command)
        self.assertEqual(stock.returncode, 0, stock)
        self.assertTrue(stock.stdout)
        # SystemC's own package does not tell AddressSanitizer all, which warns of it
        said = re.sub(r"(?m)^==\d+==WARNING: ASan is ignoring.*\n.*\n.*issues/189\n", "", stock.stderr)
        self.assertEqual((ours.stdout, ours.stderr, ours.returncode),
                         (stock.stdout, said, stock.returncode))

    def test_producer_and_consumer(self):
        self.same("prodcons", 1000)

    def test_processes_created_and_joined(self):
        self.same("tfmul", 20)

    def test_kill_reset_suspend_throw_spawn_pause(self):
        self.same("processes")


class Better(unittest.TestCase):
    """Where SystemC's own package does worse; reported when it no longer does."""

    def owners(self, result):
        """The process that caught each exception."""
        self.assertEqual(result.returncode, 0, result)
        got = re.findall(r"(\w+) got the one of (\w+)", result.stdout)
        self.assertEqual(len(got), 10)
        return got

    def test_exceptions_belong_to_the_process(self):
        for who, whose in self.owners(run("exceptions")):
            self.assertEqual(who, whose)

    def test_exceptions_are_mixed_without(self):
        got = self.owners(run("exceptions", ours=False))
        self.assertTrue(any(who != whose for who, whose in got), got)

    def test_rounding_belongs_to_the_process(self):
        said = run("rounding").stdout.splitlines()
        self.assertEqual(sorted(set(said)), [
            "down: downward, rounds 1/3 down and down", "inherits: toward zero",
            "sc_main: toward zero", "up: upward, rounds 1/3 up and up"])

    def test_rounding_is_mixed_without(self):
        self.assertIn("up: downward", run("rounding", ours=False).stdout)

    def test_overflow_names_the_process(self):
        result = run("overflow")
        self.assertEqual(result.returncode, -signal.SIGABRT, result)
        self.assertRegex(result.stderr, r"mltp-systemc: process 'top\.deep': stack overflow: it "
                                        r"used more than its \d+ KiB \(give it more by set_stack")

    def test_overflow_is_a_bare_crash_without(self):
        result = run("overflow", ours=False)
        self.assertEqual(result.returncode, -signal.SIGSEGV, result)
        self.assertNotIn("top.deep", result.stderr)


class Preload(unittest.TestCase):
    """What only preloading has to care for."""

    def test_another_version_is_refused(self):
        result = subprocess.run([ARGS.programs / "prodcons", "1"],
                                env=dict(os.environ, LD_PRELOAD=str(ARGS.other_version)),
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"mltp-systemc: this program runs with SystemC \d\.\d\.\d"
                                        r", and the coroutine package was built for SystemC 0\.0\.0")
        self.assertNotIn("iterations", result.stdout)

    def test_programs_that_know_nothing_of_it(self):
        result = subprocess.run(["sh", "-c", "echo done"], capture_output=True, check=False,
                                env=dict(os.environ, LD_PRELOAD=str(ARGS.preload)))
        self.assertEqual((result.stdout, result.stderr), (b"done\n", b""))


class Many(unittest.TestCase):
    """Within memory bounds."""

    def test_a_hundred_thousand_at_once(self):
        result = run("crowd", 100000)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(re.findall(r"(\d+) alive", result.stdout), ["100000", "0"] * 2)
        seen = {when: (int(rss), int(mappings)) for when, rss, mappings in re.findall(
            r"(\w+): rss (\d+) mappings (\d+)", result.stdout)}
        rss, mappings = seen["crowd"]
        # a page of stack and SystemC's own objects
        self.assertLess(rss, 100000 * 7)
        self.assertLess(mappings, 40000)  # a kernel without light guards takes half of 65,530
        self.assertLess(seen["after"][0], rss * 1.1)

    def test_that_many_are_refused_without(self):
        result = run("crowd", 100000, ours=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("failed to allocate stack memory", result.stderr + result.stdout)

    def test_a_million_one_after_the_other(self):
        few, many = (self.peak(turns) for turns in (100, 10000))
        self.assertLess(many, few + 4096)

    def peak(self, turns):
        """KiB of memory a run takes at most."""
        with subprocess.Popen([ARGS.programs / "tfmul", str(turns)], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, LD_PRELOAD=str(ARGS.preload))) as child:
            self.assertIn(f"{turns * 100} processes", child.stdout.read())
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss


def main():
    global ARGS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--preload", type=pathlib.Path)
    parser.add_argument("--other-version", type=pathlib.Path)
    parser.add_argument("--linked", action="store_true", help="use the programs that are linked to it")
    parser.add_argument("classes", nargs="+")
    ARGS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], *ARGS.classes], verbosity=2)


if __name__ == "__main__":
    main()

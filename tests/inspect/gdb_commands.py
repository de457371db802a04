#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gdb commands, on running programs and on cores.

usage: gdb_commands.py GDB SCRIPT SCENE STATIC_SCENE STRIPPED_SCENE
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

from stage import CAST, scene

GDB, SCRIPT, SHARED, STATIC, STRIPPED = sys.argv[1:6]
del sys.argv[1:]
THREADS = 10000
LIST_SECONDS = 15  # of CPU, gdb's start included: far less than a listing that is not linear


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def gdb(*arguments, commands, load=True):
    """Runs gdb commands. @return what they print."""
    script = ["-ex", f"source {SCRIPT}"] if load else []
    line = [GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", *map(str, arguments), *script]
    for command in commands:
        line += ["-ex", command]
    return subprocess.run(line, capture_output=True, text=True, check=False).stdout


def rows(output):
    """What `info mltp threads` printed, as name -> (number, rest of the row) of each thread."""
    found = {}
    for number, name, rest in re.findall(r"^\*? +(\d+) +(\S+) +(\S+ +\S+ .*)$", output, re.M):
        found.setdefault(name, []).append((int(number), rest))
    return found


class Commands(unittest.TestCase):

    def check_list(self, output, with_functions=True):
        by_name = rows(output)
        for name, (what, object_name, function) in CAST.items():
            with self.subTest(name):
                self.assertIn(name, by_name, output[:4000])
                (_, rest), = by_name[name]
                self.assertRegex(rest, rf"\bparked\b.*\b{what}\b")
                self.assertIn(f"'{object_name}'" if object_name else "", rest)
                if with_functions:
                    self.assertRegex(rest, rf"\b({function}|wait_for_ticket)\b")
        self.assertIn("held by thread 1 'director'", by_name["locked-out"][0][1])
        self.assertRegex(by_name["busy"][0][1], r"^bound +running")
        return by_name

    def check_extras(self, by_name):
        self.assertEqual(len(by_name["extra"]), THREADS)
        for _, rest in by_name["extra"]:
            self.assertRegex(rest, r"^unbound +parked +\d +wait_for_ticket +semaphore 0x\w+ 'tickets'$")

    def check_backtraces(self, *how, by_name):
        """Of a thread of the cast each, and of the last of many."""
        extra = max(by_name["extra"])[0]
        numbers = {by_name[name][0][0]: function for name, (_, _, function) in CAST.items()}
        commands = []
        for number in [*numbers, extra]:
            commands += [f"echo \\n== {number}\\n", f"mltp thread {number}", "bt"]
        output = gdb(*how, commands=commands)
        traces = dict(re.findall(r"^== (\d+)\n(.*?)(?=^== |\Z)", output, re.M | re.S))
        for number, function in {**numbers, extra: "wait_for_ticket"}.items():
            with self.subTest(number=number, function=function):
                self.assertRegex(traces[str(number)],
                                 rf"(?m)^#\d+ .*\b{function} \(.*\) at \S*scene\.c:\d+$")
        return output

    def test_running_program(self):
        with scene(SHARED, 3) as process:
            by_name = self.check_list(gdb("-p", process.pid, commands=["info mltp threads"]))
            self.check_backtraces("-p", process.pid, by_name=by_name)

    def test_kernel_backend(self):
        with scene(SHARED, 3, MLTP_BACKEND="kernel") as process:
            by_name = rows(gdb("-p", process.pid, commands=["info mltp threads"]))
            self.check_backtraces("-p", process.pid, by_name=by_name)

    def test_static_and_stripped_programs(self):
        for program in (STATIC, STRIPPED):
            with self.subTest(program), scene(program) as process:
                output = gdb("-p", process.pid, commands=["info mltp threads"])
                self.check_list(output, with_functions=program == STATIC)

    def test_ten_thousand_threads_running_and_in_gdbs_core(self):
        with tempfile.TemporaryDirectory() as folder:
            core = f"{folder}/core"
            # gdb cannot copy a mapping that has light guards in it, and is slow with many mappings
            with scene(SHARED, THREADS, MLTP_GUARD="canary") as process:
                start = cpu_of_children()
                by_name = self.check_list(gdb("-p", process.pid, commands=["info mltp threads"]))
                self.assertLess(cpu_of_children() - start, LIST_SECONDS)
                self.check_extras(by_name)
                gdb("-p", process.pid, commands=[f"generate-core-file {core}"])
            self.check_core(core)

    def test_ten_thousand_threads_in_the_kernels_core(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip()
        if pattern != "core":
            self.skipTest(f"cores go to {pattern}")
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(SHARED, folder)
            here = os.getcwd()
            limits = resource.getrlimit(resource.RLIMIT_CORE)
            try:
                os.chdir(folder)
                resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
                with self.assertRaisesRegex(AssertionError, "did not continue"), \
                        scene(SHARED, THREADS) as process:
                    process.send_signal(6)
                    process.wait()
            finally:
                os.chdir(here)
                resource.setrlimit(resource.RLIMIT_CORE, limits)
            cores = list(pathlib.Path(folder).glob("core*"))
            if not cores:
                self.skipTest("no core was written (see ulimit -c)")
            self.assertTrue(program)
            self.check_core(cores[0])

    def check_core(self, core):
        start = cpu_of_children()
        by_name = self.check_list(gdb(SHARED, core, commands=["info mltp threads"]))
        self.assertLess(cpu_of_children() - start, LIST_SECONDS)
        self.check_extras(by_name)
        self.check_backtraces(SHARED, core, by_name=by_name)

    def test_apply_and_selection(self):
        with scene(SHARED, 3) as process:
            output = gdb("-p", process.pid, commands=[
                "mltp thread 2", "info mltp threads", "mltp thread apply 3 5 bt 3", "echo \\n==\\n", "bt",
                "mltp thread off", "echo \\n==\\n", "bt", "mltp thread apply all frame"])
        first, still, off = output.split("\n==\n")
        self.assertRegex(first, r"\n\* 2 +locked-out ")
        self.assertRegex(first, r"MLTP thread 3 'listening'.*\n#\d+ .*\n(?s:.*)MLTP thread 5 'queueing'")
        self.assertIn("wait_for_lock", still)
        self.assertNotIn(" main ", still)
        self.assertRegex(off, r"\n#\d+ .* (main|mt_idle_loop) \(")  # or it is on another VP
        self.assertNotIn("wait_for_lock", off.split("MLTP thread")[0])
        self.assertEqual(len(re.findall(r"^MLTP thread \d+ ", off, re.M)), 13)

    def test_wrong_use(self):
        with scene(SHARED) as process:
            line = [GDB, "-nx", "-batch", "-p", str(process.pid), "-ex", f"source {SCRIPT}"]
            for command, complaint in (("mltp thread 4711", "No MLTP thread has the number 4711"),
                                       ("mltp thread", "Which thread?"),
                                       ("mltp thread apply all", "To which threads, and what?")):
                with self.subTest(command):
                    result = subprocess.run([*line, "-ex", command], capture_output=True, text=True,
                                            check=False)
                    self.assertIn(complaint, result.stderr)

    def test_gdb_loads_it_by_itself(self):
        library = pathlib.Path(SHARED).parents[2] / "lib"
        with scene(SHARED) as process:
            output = gdb("-iex", f"set auto-load safe-path {library}", "-p", process.pid,
                         commands=["info mltp threads"], load=False)
        self.check_list(output)


if __name__ == "__main__":
    if "NOTFOUND" in GDB or "yes" not in gdb(commands=["python print('yes')"], load=False):
        print("skipped: no gdb with Python here")
        sys.exit(77)
    unittest.main()

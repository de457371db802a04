#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mltp dump: what it shows of programs, and what it says of those it cannot look into.

usage: dump.py MLTP SCENE STATIC_SCENE STRIPPED_SCENE
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from stage import CAST, scene

MLTP, SHARED, STATIC, STRIPPED = sys.argv[1:5]
del sys.argv[1:]
THREADS = 10000


def dump(*arguments, **how):
    return subprocess.run([MLTP, "dump", *map(str, arguments)], capture_output=True, text=True,
                          check=False, **how)


def threads_of(process):
    result = dump("--json", process.pid)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["threads"]


def state_of(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(line.split()[1] for line in status if line.startswith("State:"))


def resident_in_watched(process):
    """Returns the KiB of memory in mappings whose page faults the process serves itself."""
    total, resident, seen = 0, 0, False
    with open(f"/proc/{process.pid}/smaps", encoding="ascii") as smaps:
        for line in smaps:
            name, *words = line.split()
            if name == "Rss:":
                resident = int(words[0])
            elif name == "VmFlags:" and "um" in words:
                total, seen = total + resident, True
    return total if seen else None


def wait_until_packed(process):
    """Waits until the stacks of a thousand threads, which are in these mappings, have less than a tenth of their 4 MiB. Up to
    64 more pages are there, which the packer has filled for threads that were never created."""
    while (resident := resident_in_watched(process)) is None or resident > 400:
        time.sleep(0.01)


class Dump(unittest.TestCase):

    def check_cast(self, threads):
        by_name = {thread["name"]: thread for thread in threads}
        for name, (what, object_name, _) in CAST.items():
            with self.subTest(name):
                wait = by_name[name]["waits_for"]
                self.assertEqual(by_name[name]["state"], "parked")
                self.assertEqual((wait["what"], wait.get("name")), (what, object_name))
                self.assertLess(wait["seconds"], 1000)
        self.assertEqual(by_name["locked-out"]["waits_for"]["held_by"], by_name["director"]["id"])
        self.assertEqual(by_name["joining"]["waits_for"]["thread"], by_name["queueing"]["id"])
        self.assertEqual(by_name["busy"]["state"], "running")
        self.assertEqual([by_name[name]["kind"] for name in ("visitor", "bound-one")],
                         ["foreign", "bound"])
        return by_name

    def check_frames(self, by_name):
        places = {name: function for name, (_, _, function) in CAST.items()}
        for name, function in {**places, "busy": "rehearse", "director": "main"}.items():
            with self.subTest(name):
                frame = next((f for f in by_name[name]["frames"] if f.get("function") == function),
                             {})
                self.assertTrue(frame.get("file", "").endswith("scene.c"), by_name[name]["frames"])
                self.assertGreater(frame["line"], 1)

    def test_shared_and_static_programs_on_both_backends(self):
        for program in (SHARED, STATIC):
            for backend in ("native", "kernel"):
                with self.subTest(program=program, backend=backend), \
                        scene(program, MLTP_BACKEND=backend) as process:
                    threads = threads_of(process)
                    if backend == "native":
                        self.check_cast(threads)
                    self.check_frames({thread["name"]: thread for thread in threads})

    def test_stripped_program(self):
        with scene(STRIPPED) as process:
            by_name = self.check_cast(threads_of(process))
            self.assertGreater(len(by_name["locked-out"]["frames"]), 3)

    def test_ten_thousand_threads(self):
        with scene(SHARED, THREADS) as process:
            extras = [thread for thread in threads_of(process) if thread["name"] == "extra"]
        self.assertEqual(len(extras), THREADS)
        self.assertEqual(len({thread["id"] for thread in extras}), THREADS)
        for thread in extras:
            self.assertEqual(thread["waits_for"]["name"], "tickets")
            self.assertIn("wait_for_ticket", [frame.get("function") for frame in thread["frames"]])

    def test_text(self):
        with scene(SHARED) as process:
            result = dump(process.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"thread \d+ 'locked-out' \(unbound\): waits for lock 0x\w+"
                         r" 'props' \(held by thread 1 'director'\), for at most [\d.]+ s")
        self.assertRegex(result.stdout, r"#\d+ +wait_for_lock at .*scene\.c:\d+\n")
        # the usher, which has reported that all are there, may not have left yet
        # the director blocks in read(2), and the usher slept before, so the monitor may have put other VPs in their places
        vps = min(2, len(os.sched_getaffinity(0)))
        self.assertRegex(result.stdout, rf"\n  1[01] threads; [{vps}-9] VPs, \d awake\n$")

    def test_stopped_program_stays_stopped(self):
        with scene(SHARED) as process:
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            self.check_cast(threads_of(process))
            self.assertEqual(state_of(process), "T")
            process.send_signal(signal.SIGCONT)
            self.check_cast(threads_of(process))

    def test_packed_stacks(self):
        settings = {"MLTP_PACK_MS": "0"}
        try:
            with scene(SHARED, 0, **settings):
                pass
        except AssertionError:
            self.skipTest("stacks cannot be packed here")
        with scene(SHARED, 1000, **settings) as process:
            wait_until_packed(process)
            self.check_frames(self.check_cast(threads_of(process)))
            wait_until_packed(process)
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            threads = threads_of(process)  # does not wait for the packer, which is stopped
            self.assertEqual(len([t for t in threads if t["name"] == "extra"]), 1000)
            process.send_signal(signal.SIGCONT)
            self.check_frames(self.check_cast(threads_of(process)))

    def check_refusal(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        for word in words:
            self.assertIn(word, result.stderr)

    def test_no_such_process(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.check_refusal(dump(child.pid), f"process {child.pid}: No such process (")

    def test_another_program(self):
        with subprocess.Popen(["sleep", "1000"]) as child:
            self.check_refusal(dump(child.pid), "does not use libmltp")
            self.assertIsNone(child.poll())
            child.kill()

    def test_no_permission(self):
        if os.getuid() != 0:
            self.check_refusal(dump(1), "not permitted", "use sudo")
            return
        with scene(SHARED) as process:
            try:
                result = dump(process.pid, user=65534)
            except PermissionError:
                self.skipTest("another user cannot run the program where it was built")
            self.check_refusal(result, "not permitted", "use sudo")

    def test_usage(self):
        for arguments in ((), ("x",), ("-1",), ("1", "2"), ("0",)):
            with self.subTest(arguments):
                self.assertEqual(dump(*arguments).returncode, 2)


if __name__ == "__main__":
    if "built without" in dump(1).stderr:
        print("skipped: this mltp command was built without libdw")
        sys.exit(77)
    unittest.main()

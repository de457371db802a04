#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench: what it runs, what it records, how it continues, what it refuses."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = ROOT / "bench" / "report" / "run.py"
BENCH = sys.argv.pop(1)
sys.path.insert(0, str(DRIVER.parent))

import plan  # noqa: E402
import results  # noqa: E402
import store  # noqa: E402
import work  # noqa: E402


class Driver(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.calls = self.folder / "calls"
        self.bench = self.folder / "fake-bench"
        shutil.copy(pathlib.Path(__file__).with_name("fake_bench.py"), self.bench)
        self.bench.chmod(0o755)
        self.environment = {**os.environ, "FAKE_CALLS": str(self.calls)}

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, "-B", DRIVER, "--bench", self.bench, "--out", self.out, *arguments],
            env={**self.environment, **environment}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def run_driver(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        stdout, stderr = process.communicate()
        return process.returncode, stdout, stderr

    def called(self):
        """The experiments that were started, in order; forgets them."""
        lines = self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return [line.split()[0] for line in lines]

    def state(self, mode="quick"):
        return json.loads((self.out / mode / "state.json").read_text(encoding="utf-8"))

    def statuses(self):
        return {name: step["status"] for name, step in self.state()["steps"].items()}

    def test_whole_plan(self):
        code, stdout, stderr = self.run_driver("--quick")
        self.assertEqual(code, 0, stderr)
        self.assertIn("./dev report makes a page", stdout)
        self.assertIn(f"/{sum(step.planned for step in plan.STEPS)}] ", stderr)
        self.assertEqual(self.called(), ["handshake", "pi"])
        statuses = self.statuses()
        self.assertEqual((statuses["pi"], statuses["barrier"]), ("done", "skipped"))
        self.assertEqual(statuses["model"], "done")  # of the paper's machine alone
        self.assertNotIn("micro", statuses)
        self.assertIn("no such experiment", self.state()["steps"]["barrier"]["why"])

    def test_program_of_its_own(self):
        dkctl = self.folder / "dkctl"
        dkctl.write_text("#!/bin/sh\necho '{\"rows\": [1]}'; echo beside >&2; exit ${FAKE_DKCTL:-0}\n", encoding="utf-8")
        dkctl.chmod(0o755)
        code, _, stderr = self.run_driver("--quick", "dk-modes")
        self.assertEqual((code, self.statuses()), (0, {"dk-modes": "done"}), stderr)
        written = self.out / "quick" / "dk-modes.json"
        self.assertEqual(json.loads(written.read_text(encoding="utf-8")), {"rows": [1]})
        self.assertEqual(results.Results(self.out / "quick").documents, {"dk-modes": {"rows": [1]}})
        code, _, stderr = self.run_driver("--quick", "dk-modes", FAKE_DKCTL="3")
        self.assertEqual(code, 1)
        self.assertIn("exit status 3: beside", stderr)
        self.assertFalse(written.exists())

    def test_done_steps_run_again_only_when_named(self):
        self.run_driver("--quick")
        self.called()
        self.run_driver("--quick")
        self.assertEqual(self.called(), [])
        self.assertIn("fake: measured pi", self.run_driver("--quick", "pi")[1])
        self.assertEqual(self.called(), ["pi"])

    def test_full_and_quick_are_kept_apart(self):
        self.run_driver("pi")
        self.run_driver("--quick", "handshake")
        self.assertIn("pi", self.state("full")["steps"])
        self.assertEqual(self.statuses(), {"handshake": "done"})

    def interrupt(self, number):
        """Sends a signal to a driver that has finished `handshake` and is inside of `pi`."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        process = self.start("--quick", "handshake", "pi", FAKE_WAIT="pi", FAKE_PIPE=str(pipe))
        with open(pipe, encoding="utf-8") as file:
            child = int(file.readline())
            process.send_signal(number)
            stderr = process.communicate()[1]
            if number == signal.SIGKILL:
                os.kill(child, signal.SIGKILL)  # nobody else could
            self.assertEqual(file.read(), "", "the pipe closes when the child is gone")
        self.assertEqual(self.called(), ["handshake", "pi"])
        self.assertEqual(self.statuses(), {"handshake": "done"})
        return process.returncode, stderr

    def goes_on(self):
        """The same plan again runs what is missing."""
        self.run_driver("--quick")
        self.assertEqual(self.called(), ["pi"])
        self.assertEqual(self.statuses()["pi"], "done")

    def test_interrupted(self):
        code, stderr = self.interrupt(signal.SIGINT)
        self.assertEqual(code, 1)
        self.assertIn("continues from here", stderr)
        self.goes_on()

    def test_killed(self):
        self.interrupt(signal.SIGKILL)
        self.goes_on()

    def test_failed_step(self):
        code, _, stderr = self.run_driver("--quick", "handshake", "pi", FAKE_FAIL="handshake")
        self.assertEqual(code, 1)
        self.assertIn("handshake: failed: exit status 3: fake: the answer is wrong", stderr)
        self.assertEqual(self.statuses(), {"handshake": "failed", "pi": "done"})
        self.called()
        self.run_driver("--quick")  # a failed step is not done
        self.assertEqual(self.called(), ["handshake"])

    def forge(self, key):
        """Makes the results those of another machine or commit."""
        state = self.state()
        state["identity"][key] = "another"
        (self.out / "quick" / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def test_another_commit_or_machine_starts_anew(self):
        for key in ("commit", "cpu", "kernel"):
            with self.subTest(key=key):
                self.run_driver("--quick", "pi")
                self.forge(key)
                _, stdout, _ = self.run_driver("--quick", "handshake")
                self.assertIn("quick.previous", stdout)
                self.assertEqual(self.statuses(), {"handshake": "done"})
                self.assertTrue((self.out / "quick.previous" / "pi.json").exists())

    def test_keep(self):
        self.run_driver("--quick", "pi")
        self.forge("commit")
        self.run_driver("--quick", "--keep", "handshake")
        self.assertEqual(self.statuses(), {"pi": "done", "handshake": "done"})

    def run_steps(self, seconds, **environment):
        identity = store.identity(self.bench, True)
        results = store.Store(self.out / "quick", identity)
        steps = [step for step in plan.STEPS if step.name in ("handshake", "pi")]
        with unittest.mock.patch.object(plan, "BUDGET", (seconds, seconds)), \
                unittest.mock.patch.dict(os.environ, {**self.environment, **environment}), \
                contextlib.redirect_stderr(io.StringIO()):
            work.run_steps(self.bench, steps, results, True)

    def test_budget_over(self):
        self.run_steps(0)
        self.assertEqual(self.statuses(), {"handshake": "skipped", "pi": "skipped"})
        self.assertIn("for all were over", self.state()["steps"]["pi"]["why"])

    def test_step_without_end_is_ended(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDWR)
        self.run_steps(2, FAKE_WAIT="handshake", FAKE_PIPE=str(pipe))
        child = int(os.read(end, 100))
        os.close(end)
        self.assertRaises(ProcessLookupError, os.kill, child, 0)
        self.assertEqual(self.statuses(), {"handshake": "failed", "pi": "skipped"})
        self.assertIn("it was ended after", self.state()["steps"]["handshake"]["why"])

    def test_bad_arguments(self):
        for arguments, complaint in ((("nonsense",), "nonsense: no such experiment"),
                                     (("pi", "--out"), "expected one argument")):
            with self.subTest(arguments=arguments):
                code, _, stderr = self.run_driver(*arguments)
                self.assertEqual(code, 2)
                self.assertIn(complaint, stderr)
        self.assertEqual(self.called(), [])

    def test_missing_program(self):
        self.bench.unlink()
        code, _, stderr = self.run_driver("pi")
        self.assertEqual(code, 1)
        self.assertIn("build it first", stderr)

    def test_options_of_mltp_bench_make_a_plain_call(self):
        link = self.folder / "build" / "bin"
        link.mkdir(parents=True)
        (link / "mltp-bench").symlink_to(BENCH)
        command = [sys.executable, "-B", DRIVER, "pi", "--quick", "--threads", "1"]
        for extra, code in (("pthreads", 0), ("nobody", 2)):
            result = subprocess.run([*command, "--impl", extra], text=True, capture_output=True,
                                    check=False, cwd=self.folder)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertFalse((self.folder / "build" / "bench").exists(), "nothing is recorded")
        self.assertIn("--impl nobody", result.stderr)

    def test_list(self):
        self.run_driver("--quick", "pi")
        code, stdout, _ = self.run_driver("--quick", "--list")
        self.assertEqual(code, 0)
        self.assertRegex(stdout, r"\n  pi +.* \[done\]\n")
        self.assertRegex(stdout, r"\n  micro +.* \[when named\]\n")


class Plan(unittest.TestCase):

    def test_names_are_names_of_files(self):
        names = [step.name for step in plan.STEPS]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, "^[a-z-]+$")

    def test_fits_its_budget(self):
        for quick in (False, True):
            self.assertLess(sum(step.seconds[quick] for step in plan.STEPS if step.planned),
                            plan.BUDGET[quick])

    def test_steps_are_known_to_the_real_program(self):
        known = work.known_experiments(BENCH)
        ours = {"pi", "matmul", "ocean", "switch", "forkjoin", "fib", "mutex", "handshake",
                "roundtrip", "barrier", "memory", "micro"}
        self.assertLessEqual(ours, known & {step.experiment for step in plan.STEPS})


if __name__ == "__main__":
    unittest.main()

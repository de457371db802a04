# SPDX-License-Identifier: Apache-2.0
"""python3 -m model from a measurement to JSON and plots; its words and exit status."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv.pop(1)


def model(*arguments):
    return subprocess.run([sys.executable, "-B", "-m", "model", *arguments], capture_output=True,
                          text=True, check=False)


class CommandLine(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_help(self):
        result = model("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("--json", "--plots", "calibrate", "exit status"):
            self.assertIn(word, result.stdout)

    def test_the_paper_needs_no_measurement(self):
        path = self.folder / "model.json"
        result = model("--json", str(path))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotIn("FAILS", result.stdout)
        found = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(set(found), {"paper"})
        self.assertEqual([f["figure"] for f in found["paper"]["figures"]], [2, 5, 9, 10, 11, 12])

    def test_from_this_machine_to_predictions(self):
        measured, path = self.folder / "calibrate.json", self.folder / "model.json"
        bench = subprocess.run([BENCH, "calibrate", "--quick", "--runs", "1", "--json", measured],
                               capture_output=True, text=True, check=False)
        self.assertEqual((bench.returncode, bench.stderr), (0, ""), bench.stdout)
        report = json.loads(measured.read_text(encoding="utf-8"))
        self.assertTrue(all(row["verified"] for row in report["rows"]))
        if report["env"]["cpus"] < 2:
            self.skipTest("one CPU: no line can be transferred")
        result = model(str(measured), "--json", str(path))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        here = json.loads(path.read_text(encoding="utf-8"))["here"]
        shared = [r for r in report["rows"]
                  if r["metric"] == "shared" and r["params"]["processors"] > 1]
        self.assertEqual(sorted(p["measured_seconds"] for p in here["predictions"]),
                         sorted(1e-9 * r["median"] for r in shared))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_plots(self):
        result = model("--plots", str(self.folder / "plots"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        drawn = sorted(p.name for p in (self.folder / "plots").iterdir())
        self.assertEqual(drawn, [f"paper-{n}.svg" for n in (10, 11, 12, 2, 5, 9)])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_a_figure_draws_every_series_of_its_own_data_only(self):
        from model import curves, figures
        data = curves.figure5()
        axes = figures.figure5(data).axes[0]
        self.assertEqual([list(line.get_ydata()) for line in axes.lines],
                         [series["y"] for series in data["series"]])
        self.assertEqual(axes.get_xlabel(), data["x"])
        self.assertRaisesRegex(ValueError, "figure 9 was asked for", figures.figure9, data)

    def test_failures_say_why(self):
        empty = self.folder / "empty.json"
        empty.write_text('{"rows": []}', encoding="utf-8")
        for arguments, status, complaint in (
                ((str(empty),), 1, "mltp-bench calibrate"),
                (("/nonexistent.json",), 1, "No such file"),
                (("--json", "/nonexistent/model.json"), 1, "cannot write /nonexistent/model.json"),
                (("--spin", "madly"), 2, "madly"), (("--bogus",), 2, "--bogus")):
            with self.subTest(arguments=arguments):
                result = model(*arguments)
                self.assertEqual(result.returncode, status)
                self.assertIn(complaint, result.stderr)
                self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()

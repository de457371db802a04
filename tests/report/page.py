#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev report: a page from real, tiny measurements has all its parts and no number of its own."""
import contextlib
import copy
import csv
import html
import io
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

try:
    import jinja2  # noqa: F401
    import matplotlib.pyplot as plt
except ImportError as error:
    print(f"skipped: {error} (install python3-matplotlib and python3-jinja2)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "bench" / "report"
BENCH = sys.argv.pop(1)
sys.path.insert(0, str(REPORT))

import blocks  # noqa: E402
import markdown  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402
import sections  # noqa: E402
import verdicts  # noqa: E402

FIGURES = [f"thesis-figure-{n}" for n in (7, 8, 10, 11, 13, 14)] + \
    [f"anderson-figure-{n}" for n in range(1, 13)] + ["tmpi2-figure-6", "tmpi2-table-3", "tmpi2-table-8", "mpi-collectives", "systemc-waits", "smt-figure-4-2",
                                                         "echo-servers"]
NUMBER = re.compile(r"\d[\d \N{NO-BREAK SPACE}]*(?:\.\d+)?(?:e[+-]\d+)?")
MEASURED = ("min", "median", "max")


def numbers(text):
    return [re.sub(r"[ \N{NO-BREAK SPACE}]", "", found) for found in NUMBER.findall(text)]


def sentences(measured):
    """What the page says of its figures."""
    said = {}
    for module in sections.ALL:
        said.update({block.key: block.sentence for block in module.section(measured).blocks
                     if isinstance(block, blocks.Figure)})
        plt.close("all")
    return said


def made(source, out):
    """The page, as ./dev report makes it."""
    with contextlib.redirect_stdout(io.StringIO()):
        page.main(["--from", str(source), "--out", str(out)])
    return (out / "index.html").read_text(encoding="utf-8")


def invented_mpi():
    made = []
    for place, impl in enumerate(("tmpi", "one-to-one", "openmpi-yield")):
        common = {"verified": True, "runs": 3, "vps": 2, "clock": "wall", "impl": impl, "cpu_ms": 5.5}
        for ranks in (2, 16):
            made += [{**common, "experiment": "mpi", "metric": metric, "ranks": ranks, "unit": unit,
                      **dict.fromkeys(MEASURED, 3.5 + place + ranks)}
                     for metric, unit in (("barrier", "us"), ("latency, 8 bytes", "us"), ("latency, 1 MiB", "us"),
                                          ("start to end", "ms"), ("memory of a rank", "kB"))]
            made += [{**common, "experiment": "mpi-programs", "metric": metric, "ranks": ranks, "unit": "ms",
                      **dict.fromkeys(MEASURED, 30.5 + place * ranks)}
                     for metric in ("GE 1728", "LU 7320")]
    made += [{"verified": True, "runs": 3, "experiment": "mpi-load", "metric": "barrier", "impl": side, "unit": "us", "ranks": 16,
              "vps": 2, "competing": 2 * place, **dict.fromkeys(MEASURED, 2.5 + 3.5 * place)} for place, side in enumerate(("quiet", "loaded"))]
    made += [{"verified": True, "runs": 3, "experiment": "mpi-wait", "metric": "LU 7320", "impl": way, "unit": "ms",
              "degree": degree, "ranks": 2 * degree, "calls": 12, "parks": 5, "spins_paid": 4, "spins_vain": 3, "vain_ms": 0.6,
              "cpu_ms": 11.5 + place * degree, **dict.fromkeys(MEASURED, 30.5 + place)}
             for place, way in enumerate(("conscious", "spin:50", "spin:2000", "spin", "park")) for degree in (1, 2, 3)]
    made += [{"verified": True, "runs": 3, "clock": "cpu", "experiment": "systemc", "metric": metric, "unit": "ns",
              "label": metric, "impl": impl, **dict.fromkeys(MEASURED, value)}
             for metric in ("wait", "process") for impl, value in (("systemc", 50.5), ("mltp-systemc", 30.5))]
    return made + invented_growth() + invented_coordination() + invented_echo()


def invented_echo():
    """Requests for each CPU second: ours twice those of Go at one connection."""
    return [{"verified": True, "runs": 3, "experiment": "io", "metric": metric, "impl": impl, "unit": unit, "connections": connections,
             **dict.fromkeys(MEASURED, 1000.5 * connections / (place + 1))}
            for metric, unit in (("requests_per_cpu_second", "1/s"), ("latency_p50", "us"))
            for place, impl in enumerate(("mltp", "go")) for connections in (1, 100)]


def invented_coordination():
    """Four intervals at which we take 100 ms, and others twice and thrice as long; a program of others and a copy."""
    common = {"verified": True, "runs": 3, "cpus": 2}
    made = [{**common, "experiment": "workload", "metric": metric, "impl": way, "interval_s": interval, "unit": "ms",
             **dict.fromkeys(MEASURED, 100.5 * (place + 1))}
            for place, way in enumerate(("coordinated", "uncoordinated", "openmpi-yield"))
            for interval in (0, 0.25, 0.375, 0.625, 1.25) for metric in ("GE1", "mean")]
    made += [{**common, "experiment": "foreign", "metric": "dgemm", "impl": impl, "unit": "s", **dict.fromkeys(MEASURED, 1.5)}
             for impl in ("mltp run", "plain")]
    return made + [{**common, "experiment": "copies", "metric": "copies", "impl": "coordinated", "lock": "ticket", "copies": 2,
                    "unit": "s", **dict.fromkeys(MEASURED, 1.5)}]


def invented_growth():
    made = []
    for place, n in enumerate((300, 3000, 30000)):
        common = {"verified": True, "runs": 3, "clock": "cpu", "n": n, "size": n, "threads": n, "vps": 2, "ranks": 2}
        for experiment, impl, row, metric, unit in (
                ("growth", "mltp", "timers", "seconds_per_thing", "s"), ("growth", "mltp", "timers", "slope", ""),
                ("mpi-growth", "tmpi", "waitany", "each", "ns"), ("mpi-growth", "tmpi", "waitany", "slope", "1"),
                ("mpi-growth", "openmpi-yield", "waitany", "each", "ns"),
                ("recursion", "mltp", "uts", "uts", "ns"), ("recursion", "argobots", "uts", "uts", "ns")):
            made.append({**common, "experiment": experiment, "impl": impl, "row": row, "metric": metric, "unit": unit,
                         **dict.fromkeys(MEASURED, 0.125 + 2.5 * place)})
    return made


def invented(measured):
    """Rows as lifecycle, latency, spin, mpi, mpi-programs and systemc write them, which other tests run."""
    made = invented_mpi()
    for vps in (1, 2):
        for place, strategy in enumerate(("single", "freelist", "local", "default")):
            common = {"verified": True, "runs": 3, "strategy": strategy, "vps": vps, "clock": "wall"}
            made += [{**common, "experiment": "lifecycle", "work_us": work, "threads": 100,
                      "metric": "seconds",
                      "unit": "s", **dict.fromkeys(MEASURED, 1.5 + place / vps + work)}
                     for work in (0, 300)]
            made += [{**common, "experiment": "latency", "runnable": count, "unit": "s",
                      **dict.fromkeys(MEASURED, 40.5 + place + count)} for count in (1, 4)]
            made += [{**common, "experiment": "spin", "figure": figure, "algorithm": strategy,
                      "processors": vps, "section_size": 10, "unit": "s",
                      **dict.fromkeys(MEASURED, 0.25 * vps + place)} for figure in (6, 7, 8)]
    copied = copy.copy(measured)
    copied.rows = measured.rows + made
    return copied


class Page(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([sys.executable, "-B", REPORT / "run.py", "--quick", "--bench", BENCH,
                        "--out", cls.folder, "pi", "handshake"], check=True, cwd=ROOT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.source = cls.folder / "quick"
        cls.out = cls.folder / "page"
        cls.text = made(cls.source, cls.out)

    def setUp(self):
        self.measured = results.Results(self.source)

    def test_every_section_and_figure(self):
        text = self.text
        for module in sections.ALL:
            section = module.section(self.measured)
            self.assertIn(f'id="{section.key}"', text)
            self.assertIn(f'href="#{section.key}"', text)
        for key in FIGURES:
            self.assertIn(f'<h3 id="{key}">', text)
        for key in ("thesis-figure-8", "peers-handshake"):
            for suffix in ("svg", "png"):
                self.assertGreater((self.out / "figures" / f"{key}.{suffix}").stat().st_size, 1000)

    def test_wide_parts_scroll_on_a_narrow_screen(self):
        for part in ["<img ", "<table>"]:
            self.assertEqual(self.text.count(part), self.text.count(f'<div class="wide">{part}'), part)

    def test_self_contained(self):
        text = self.text
        self.assertNotIn("<script", text)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text), [])

    def write_pages(self, folder):
        """The Markdown pages. @return the overview."""
        with unittest.mock.patch.object(page, "save", return_value="data:"), \
                contextlib.redirect_stdout(io.StringIO()):
            page.main(["--from", str(self.source), "--out", str(self.folder / "beside"),
                       "--measurements", str(folder)])
        plt.close("all")
        return (folder / "README.md").read_text(encoding="utf-8")

    def test_pages_in_markdown(self):
        folder = self.folder / "measurements"
        folder.mkdir()
        (folder / "gone.md").write_text(f"{markdown.NOTICE}\na section that is no more")
        (folder / "other.md").write_text("<!-- Written by another command. -->\n# Another page\n")
        overview = self.write_pages(folder)
        self.assertFalse((folder / "gone.md").exists())
        self.assertTrue((folder / "other.md").exists())
        self.assertIn("[Another page](other.md)", overview)
        self.assertIn("quick", overview)
        for module in sections.ALL:
            self.measured.used = set()
            section = module.section(self.measured)
            plt.close("all")
            text = (folder / f"{section.key}.md").read_text(encoding="utf-8")
            self.assertIn(f"]({section.key}.md)", overview)
            for word in (section.title, self.measured.identity["cpu"]):
                self.assertIn(word, text)
            measured = self.measured.environments["pi"] if self.measured.used else self.measured.identity
            self.assertIn(measured["commit"], text)
        row = self.measured.select(experiment="pi", impl="mltp")[0]
        self.assertIn(blocks.quantity(row["median"]), (folder / "thesis-pi.md").read_text(encoding="utf-8"))

    def test_a_page_stays_while_too_little_of_it_is_measured(self):
        """Of the summary's operations only handshakes are."""
        folder = self.folder / "stay"
        folder.mkdir()
        for key in ("mpi", "summary", "smt", "thesis-pi"):
            (folder / f"{key}.md").write_text(f"{markdown.NOTICE}\n# of an earlier run\n")
        overview = self.write_pages(folder)
        for key, stays in (("mpi", True), ("smt", True), ("summary", True), ("thesis-pi", False)):
            text = (folder / f"{key}.md").read_text(encoding="utf-8")
            self.assertEqual("of an earlier run" in text, stays, key)
            self.assertEqual(f"]({key}.md), of an earlier run" in overview, stays, key)

    def test_a_page_names_what_it_was_measured_with(self):
        """Not what other steps of the same folder were."""
        self.measured.environments["handshake"]["commit"] = "0ther123"
        rows = [dict(page.environment_of(self.measured, steps).rows) for steps in ({"pi"}, {"handshake"}, None)]
        self.assertEqual(["0ther123" in row["commit"] for row in rows], [False, True, True])

    def test_machine_and_steps(self):
        text = html.unescape(self.text)
        for word in (self.measured.identity["cpu"], self.measured.identity["kernel"],
                     self.measured.environments["pi"]["commit"], self.measured.environments["pi"]["versions"]["libc"],
                     "pi --vps", "Made from a quick run"):
            self.assertIn(word, text)

    def test_each_commit_and_the_last_date(self):
        """--keep adds to what another commit measured."""
        with tempfile.TemporaryDirectory() as folder:
            both = pathlib.Path(folder, "both")
            shutil.copytree(self.source, both)
            report = json.loads((both / "pi.json").read_text(encoding="utf-8"))
            report["env"].update(commit="0ther123", date="2001-01-01T00:00:00Z")
            (both / "pi.json").write_text(json.dumps(report), encoding="utf-8")
            rows = dict(page.environment_of(results.Results(both)).rows)
        self.assertIn("0ther123", rows["commit"])
        self.assertIn(self.measured.environments["pi"]["commit"], rows["commit"])
        self.assertNotIn("2001", rows["last measured"])

    def test_what_is_missing_is_said(self):
        said = sentences(self.measured)
        for key in ("peers-barrier", "anderson-figure-1", "anderson-figure-6", "anderson-figure-9",
                    "thesis-figure-13"):
            self.assertIn("not measured yet", said[key])

    def forged(self, **facts):
        """The results again, with another record of a step."""
        folder = self.folder / "forged"
        folder.mkdir(exist_ok=True)
        for path in self.source.glob("*.json"):
            (folder / path.name).write_bytes(path.read_bytes())
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        state["steps"]["barrier"] = {"experiment": "barrier", "about": "", "seconds": 1.5, **facts}
        (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
        return folder

    def test_failed_and_skipped_steps_show(self):
        for status in ("failed", "skipped"):
            forged = self.forged(status=status, why="exit status <9>")
            with unittest.mock.patch.object(page, "save", return_value="data:"):
                text = html.unescape(made(forged, self.folder / "other"))
            plt.close("all")
            self.assertRegex(text, r"1 of \d+ steps failed or were\s+skipped")
            self.assertIn(f"barrier: {status}: exit status <9>.", text)
            self.assertIn(f'<tr class="{status}"><td>barrier</td>', text)

    def test_rows_that_are_wrong_are_left_out(self):
        self.measured.rows[0]["verified"] = False
        self.assertNotIn(self.measured.rows[0], self.measured.select())

    def test_absent_packages_are_named(self):
        self.measured.rows.append({"metric": "absent", "impl": "pth", "verified": False})
        self.assertRegex(sections.peers.section(self.measured).intro,
                         r"Not installed here, and so absent: .*\bGNU Pth\b")
        plt.close("all")

    def test_dkctl_stands_beside_the_thesis(self):
        self.measured.documents = {
            "dk-modes": {"cpus": [0, 1], "smt": False, "rows": [
                {"program": "fp", "copies": 2, "mode": "dk", "net": False, "ttc": [5.25, 4.25], "mean": [5, 4]}]},
            "dk-hybrid": {"cpus": [0, 1], "smt": True, "rows": [
                {"programs": ["fp", "cache"], "copies": 2, "best": ["dk", "smt"], "projected": 7,
                 "static": {"up": 10, "smt": 9, "dk": 8}, "measured": [6, 8, 7.5]}]}}
        tables = [block for block in sections.smt.section(self.measured).blocks if isinstance(block, blocks.Table)]
        rows = [row for table in tables if "Measured here" in table.caption for row in table.rows]
        self.assertEqual([row[:2] + row[-1:] for row in rows], [["fp", 2, "5.25"], ["fp + cache", "DK + SMT", "0.94"]])
        self.assertIn("two cores", next(table.caption for table in tables if "experiment modes" in table.caption))

    def test_summary_verdicts(self):
        for judged, verdict in (({"pth": "ahead", "st": "ahead"}, "first"), ({"pth": "even", "st": "ahead"}, "even with pth"),
                                ({"pth": "behind", "st": "even"}, "behind pth"), ({}, "nobody beside us"),
                                ({"pth": None}, "too few runs")):
            rows = [{"impl": impl, **({"verdict": word} if word else {})} for impl, word in judged.items()]
            self.assertEqual(verdicts.of(rows, lambda row: row["impl"]), verdict)
        rows = {row["impl"]: row for row in self.measured.select(metric="sem")}
        rows["pthreads"]["verdict"] = "behind"
        table, sentence = sections.summary.table_of(self.measured)
        line = next(line for line in table.rows if "semaphore" in line[0])
        self.assertEqual(line[-1], "behind pthreads")
        self.assertIn("behind in 1.", sentence)

    def test_worst_ratio_beside_a_load(self):
        table = sections.mpi.loaded(invented(self.measured))
        self.assertIn("2.40 by min, 2.40 by median", table.caption) # 2.5 and 6 us
        self.assertIsNone(sections.mpi.loaded(self.measured))

    def test_workload_beside_the_paper(self):
        """Table 3's normalized means agree with the paper's, which rounds before it divides."""
        table = sections.coordination.beside_paper(invented(self.measured))
        for line, (tmpi, sgi) in zip(table.rows, ((1.07, 1.54), (1.17, 2.51), (1.27, 2.25), (1.30, 2.61)), strict=True):
            self.assertAlmostEqual(float(line[1]), tmpi, delta=0.015)
            self.assertAlmostEqual(float(line[2]), sgi, delta=0.015)
        self.assertEqual([line[3:] for line in table.rows], [[f"{at} s", "2.00", "3.00"] for at in ("1.250", "0.625", "0.375", "0.250")])
        said = sentences(invented(self.measured))["tmpi2-table-3"]
        self.assertIn("2.00 (MLTP without mltpd) at 1.25 s", said)
        self.assertIn("not measured yet", sentences(self.measured)["tmpi2-table-3"])

    def test_echo_servers(self):
        said = sentences(invented(self.measured))["echo-servers"]
        self.assertIn("over Go 2.00 (2.00) at 1, 2.00 (2.00) at 100.", said)
        self.assertIn("not measured yet", sentences(self.measured)["echo-servers"])

    def shaken(self, seed):
        """Every sentence, with every measured and printed number replaced by another one."""
        chance = random.Random(seed)
        measured = invented(self.measured)
        measured.rows = [dict(row) for row in measured.rows]
        for row in measured.rows:
            factors = sorted(0.7 + 0.6 * chance.random() for _ in MEASURED)
            row.update(zip(MEASURED, sorted(row.get(key, 1) * factor for key, factor
                                            in zip(MEASURED, factors))))
            if "cpu_ms" in row:
                row["cpu_ms"] *= 0.7 + 0.6 * chance.random()
        papers = self.folder / f"papers-{seed}"
        papers.mkdir()
        for path in results.PAPERS.glob("*.csv"):
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(line for line in file if line[0] != "#"))
            for row in rows:
                factor = 0.7 + 0.6 * chance.random()
                row.update({key: float(row[key]) * factor for key in ("min", "mean", "max", "value")
                            if row.get(key)})
            with open(papers / path.name, "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        with unittest.mock.patch.object(results, "PAPERS", papers):
            return sentences(measured)

    def test_no_number_is_typed(self):
        """A number that survives when all data change was not worked out from them: it must be
        one of what was varied (threads, VPs, switches, ...) or count something."""
        first, *others = [self.shaken(seed) for seed in range(1, 5)]  # two may agree by chance
        varied = {str(value) for row in invented(self.measured).rows for key, value in row.items()
                  if key in ("threads", "vps", "runnable", "processors", "section_size", "ranks", "connections")}
        varied |= {blocks.quantity(row["interval_s"]) for row in invented(self.measured).rows if "interval_s" in row}
        varied |= {str(row["switches"]) for row in results.paper("thesis-switch")}
        varied |= {str(self.measured.identity["cpus"])}
        counts = {str(count) for count in range(17)}
        for key, sentence in first.items():
            kept = set(numbers(sentence)).intersection(*(numbers(other[key]) for other in others))
            self.assertLessEqual(kept, varied | counts, f"{key}: {sentence}")
        worked_out = sum(any(first[key] != other[key] for other in others) for key in first)
        self.assertGreaterEqual(worked_out, 11, "the data must move what is said of them")

    def test_no_results(self):
        with self.assertRaises(SystemExit) as caught:
            page.main(["--from", str(self.folder / "nowhere"), "--out", str(self.folder / "out")])
        self.assertIn("measure anew", str(caught.exception))


class Papers(unittest.TestCase):
    """The typed data do not contradict themselves."""

    def test_means_lie_among_their_runs(self):
        for name in ("thesis-switch", "thesis-programs"):
            rows = results.paper(name)
            self.assertGreater(len(rows), 40)
            for row in rows:
                if row["min"] is not None:
                    self.assertLessEqual(row["min"], row["mean"], row)
                    self.assertLessEqual(row["mean"], row["max"], row)

    def test_every_table_that_can_be_read_is_there(self):
        tables = {row["table"] for name in ("thesis-switch", "thesis-programs")
                  for row in results.paper(name)}
        self.assertEqual(set(range(1, 40)) - tables, {6, 7, 9, 10, 37})


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""What a page is made of: rows that were measured, and figures of the papers."""
import csv
import json
import pathlib

PAPERS = pathlib.Path(__file__).parents[1] / "papers"


def flat_row(row, step, facts):
    """A row as one dictionary: what was varied beside what was measured."""
    flat = {"step": step, "experiment": facts["experiment"], **facts.get("labels", {}),
            **row.get("params", {}), **row}
    flat.pop("params", None)
    if "median" not in flat and "seconds" in flat:  # a single run, of an experiment with plain keys
        flat.update(metric="time", unit="s", clock="wall", runs=flat.get("runs", 1),
                    min=flat["seconds"], median=flat["seconds"], max=flat["seconds"])
    return flat


class Results:
    """The rows of a folder of results, and what became of each step."""

    def __init__(self, folder):
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        self.identity = state["identity"]
        self.steps = state["steps"]
        self.env = {}
        self.commits, self.dates = {self.identity["commit"]}, []
        self.loads = []
        self.rows = []
        self.documents = {}  # of steps that write something else than rows of mltp-bench
        for step, facts in self.steps.items():
            path = folder / f"{step}.json"
            if not path.exists():
                continue
            report = json.loads(path.read_text(encoding="utf-8"))
            if "env" not in report:
                self.documents[step] = report
                continue
            self.env = report["env"]
            self.loads += self.env["load"][:1]
            if not self.identity["commit"].startswith(self.env["commit"]):
                self.commits.add(self.env["commit"])
            self.dates.append(self.env["date"])
            self.rows += [flat_row(row, step, facts) for row in report["rows"]]

    def select(self, **wanted):
        """The right rows that have these values."""
        return [row for row in self.rows if row.get("verified", True) and "median" in row
                and all(row.get(key) == value for key, value in wanted.items())]

    def missing(self, experiment):
        """Why an experiment has no rows."""
        for facts in self.steps.values():
            if facts["experiment"] == experiment and facts["status"] != "done":
                return f"{facts['status']}: {facts['why']}"
        return "not measured yet"


def number(text):
    """A cell of a CSV file: a number where it is one, None where it is empty."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def typed(path):
    """The rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return [{key: number(cell) for key, cell in line.items()} for line in lines]


def paper(name, **wanted):
    """Rows of a file in bench/papers that have these values."""
    return [row for row in typed(PAPERS / f"{name}.csv")
            if all(row[key] == value for key, value in wanted.items())]

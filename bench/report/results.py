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
        self.environments = {}  # of each step
        self.rows = []
        self.documents = {}  # of steps that write something else than rows of mltp-bench
        self.used = set()  # steps that have been asked for something they had
        for step, facts in self.steps.items():
            path = folder / f"{step}.json"
            if not path.exists():
                continue
            report = json.loads(path.read_text(encoding="utf-8"))
            if "env" not in report:
                self.documents[step] = report
                continue
            self.environments[step] = report["env"]
            self.rows += [flat_row(row, step, facts) for row in report["rows"]]

    def select(self, where=lambda row: True, **wanted):
        """The right rows that have these values, and for which `where` is true."""
        rows = [row for row in self.rows if row.get("verified", True) and "median" in row
                and all(row.get(key) == value for key, value in wanted.items()) and where(row)]
        self.used |= {row.get("step") for row in rows}
        return rows

    def wrong(self, **wanted):
        """Rows that have these values, of which a run gave no answer or a wrong one: select() leaves them out."""
        return [row for row in self.rows if not row.get("verified", True)
                and all(row.get(key) == value for key, value in wanted.items())]

    def document(self, step):
        """What a step wrote that is no row of mltp-bench; None where there is nothing."""
        if step in self.documents:
            self.used.add(step)
        return self.documents.get(step)

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

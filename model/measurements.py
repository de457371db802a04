# SPDX-License-Identifier: Apache-2.0
"""Measurements of mltp-bench, read from its JSON files."""

import json
import pathlib

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class BadMeasurement(Exception):
    """A file that does not say what the model needs; the message says where and what to do."""


def read(paths):
    """All verified rows of the files, and the environment of the first.

    A row is a dict: what mltp-bench wrote, its parameters among the other keys, `experiment`, and
    `seconds`, the median of its runs. Rows of a failed measurement, and of things that are no
    times, are left out.
    """
    rows, env = [], None
    for path in map(pathlib.Path, paths):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BadMeasurement(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise BadMeasurement(f"{path}: no JSON ({error}); mltp-bench --json writes it"
                                 ) from error
        if not isinstance(report, dict) or not isinstance(report.get("rows"), list):
            raise BadMeasurement(f"{path}: it has no \"rows\"; mltp-bench EXPERIMENT --json FILE "
                                 "writes them")
        env = env or report.get("env")
        rows += [row for row in (plain(path, n, raw, report.get("experiment"))
                                 for n, raw in enumerate(report["rows"])) if row is not None]
    return rows, env


def plain(path, number, raw, experiment):
    """A row with all its keys on one level, or None."""
    if not isinstance(raw, dict):
        raise BadMeasurement(f"{path}: row {number} is no object")
    row = {"experiment": experiment} | {k: v for k, v in raw.items() if k != "params"}
    row |= raw.get("params", {})
    if row.get("verified") is False or row.get("clock") == "none":
        return None
    if "seconds" not in row:
        if row.get("unit") not in UNITS or "median" not in row:
            return None
        row["seconds"] = row["median"] * UNITS[row["unit"]]
    if isinstance(row["seconds"], bool) or not isinstance(row["seconds"], (int, float)) \
            or not row["seconds"] > 0:
        raise BadMeasurement(f"{path}: row {number} took {row['seconds']!r} seconds: measure again")
    return row

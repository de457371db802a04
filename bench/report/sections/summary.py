# SPDX-License-Identifier: Apache-2.0
"""The summary: each single operation of threads, ours, the best peer, a verdict."""
import blocks
import verdicts
from blocks import quantity
from plots import name_of

from . import peers


def groups_of(results):
    """Rows of one operation, ours and the others', for each operation and number of threads."""
    groups = {}
    for row in results.select(lambda row: "label" in row and row["experiment"] != "systemc"):
        # a peer may have fewer threads where memory is measured
        threads = None if row["unit"] == "B" else row["threads"]
        groups.setdefault((row["metric"], row["label"], row["vps"], threads, row.get("switches")), {})[row["impl"]] = row
    return [group for group in groups.values() if "mltp" in group and len(group) > 1]


def unit_of(row):
    return {"cpu": "CPU ", "wall": "wall "}.get(row["clock"], "").replace(
        " ", "\N{NO-BREAK SPACE}") + row["unit"]


def table_of(results):
    """The table, and the sentence that counts its verdicts."""
    lines, found = [], []
    for group in groups_of(results):
        ours = group["mltp"]
        peers = [row for row in group.values() if row is not ours]
        least, middle = verdicts.best(peers), verdicts.best(peers, "median")
        found.append(verdicts.of(peers, lambda row: name_of(row["impl"])))
        label = ours["label"] + (f", {ours['switches']} in all" if ours.get("switches") else "")
        lines.append([label, quantity(ours["threads"]), ours["vps"], unit_of(ours), *blocks.spread(ours), ours["runs"],
                      f"{quantity(least['min'])} {name_of(least['impl'])}", f"{least['min'] / ours['min']:.2f}",
                      f"{quantity(middle['median'])} {name_of(middle['impl'])}", f"{middle['median'] / ours['median']:.2f}",
                      found[-1]])
    heads = ["operation", "threads", "VPs", "unit", "ours: min", "median", "max", "runs", "least minimum of peers",
             "peer / ours", "least median of peers", "peer / ours", "verdict"]
    return blocks.Table(heads, lines), verdicts.count(found)


def section(results):
    table, sentence = table_of(results)
    intro = (f"Every single operation of threads beside the packages measured in the same run, turn by turn, on "
             f"{results.identity['cpu']}. {verdicts.RULE} "
             + (sentence if table.rows else f"Nothing is here: {results.missing('switch')}."))
    return blocks.Section("summary", "Summary: single operations beside today's packages", "beyond the papers",
                          intro, [table] if table.rows else [], needs=peers.NEEDS)

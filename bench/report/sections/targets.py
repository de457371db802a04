# SPDX-License-Identifier: Apache-2.0
"""The summary: each row of the numbers to beat, with target, ours, the best peer, a verdict."""
import blocks
from blocks import quantity
from plots import name_of


def best_peer(rows):
    peers = [row for row in rows if row["impl"] != "mltp"]
    return min(peers, key=lambda row: row["min"]) if peers else None


def verdict_of(ours, peer):
    """Against the target, and against the packages measured beside it."""
    if ours["min"] <= ours["target"]:
        return "✓ target reached"
    if peer is None:
        return "target missed"
    if ours["min"] <= peer["min"]:
        return "target missed; ahead of all here"
    return f"target missed; behind {name_of(peer['impl'])}"


def groups_of(results):
    """Rows of one operation, ours and the others', for each operation that has a target."""
    groups = {}
    for row in results.select():
        if "target" in row:
            many = row["threads"] if row["unit"] == "ns" else None
            groups.setdefault((row["label"], row["vps"], many), {})[row["impl"]] = row
    return [group for group in groups.values() if "mltp" in group]


def unit_of(row):
    return {"cpu": "CPU ", "wall": "wall "}.get(row["clock"], "").replace(
        " ", "\N{NO-BREAK SPACE}") + row["unit"]


def table_of(results):
    lines, reached, ahead = [], 0, 0
    for group in groups_of(results):
        ours, peer = group["mltp"], best_peer(group.values())
        reached += ours["min"] <= ours["target"]
        ahead += peer is None or ours["min"] <= peer["min"]
        lines.append([ours["label"], quantity(ours["threads"]), ours["vps"], unit_of(ours),
                      *blocks.spread(ours), quantity(ours["target"]),
                      f"{ours['min'] / ours['target']:.2f}",
                      f"{quantity(peer['min'])} {name_of(peer['impl'])}" if peer else "–",
                      f"{peer['min'] / ours['min']:.2f}" if peer else "–",
                      ours.get("reference", "–"), verdict_of(ours, peer)])
    heads = ["operation", "threads", "VPs", "unit", "ours: min", "median", "max", "target",
             "ours / target", "best peer here", "peer / ours", "best on the reference machine",
             "verdict"]
    sentence = f"Of {len(lines)} rows, {reached} reach their target, and in {ahead} nobody " \
        "measured beside us took less." if lines else ""
    return blocks.Table(heads, lines), sentence


def section(results):
    table, sentence = table_of(results)
    intro = ("Every operation against its target and against the packages measured in the same "
             "run, turn by turn; verdicts compare minima, the runs the machine disturbed least. "
             "Targets were set on another machine, so a ratio to a peer says more than a miss. "
             + (sentence or f"Nothing is here: {results.missing('switch')}."))
    return blocks.Section("summary", "Summary: the numbers to beat",
                          "targets: the table of the design", intro, [table] if table.rows else [])

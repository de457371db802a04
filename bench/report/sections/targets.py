# SPDX-License-Identifier: Apache-2.0
"""The summary: each row of the numbers to beat, with target, ours, the best peer, a verdict."""
import blocks
from blocks import quantity
from plots import name_of


def best_peer(rows):
    peers = [row for row in rows if row["impl"] != "mltp"]
    return min(peers, key=lambda row: row["min"]) if peers else None


def verdict_of(ours, peer):
    """In words: against the target, then against who was measured beside it."""
    ratio = ours["min"] / ours["target"]
    text = "✓ target reached" if ratio <= 1 else \
        f"{100 * (ratio - 1):.1f} % above the target" if ratio < 1.1 else \
        f"{quantity(ratio)} times the target"
    if peer is None:
        return text
    if peer["min"] >= ours["min"]:
        return f"{text}; the best peer takes {quantity(peer['min'] / ours['min'])} times as much"
    return f"{text}; {quantity(ours['min'] / peer['min'])} times {name_of(peer['impl'])}"


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
                      quantity(ours["target"]), *blocks.spread(ours),
                      f"{quantity(peer['min'])} {name_of(peer['impl'])}" if peer else "–",
                      ours.get("reference", "–"), verdict_of(ours, peer)])
    heads = ["operation", "threads", "VPs", "unit", "target", "ours: min", "median", "max",
             "best peer here (min)", "best on the reference machine", "verdict"]
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

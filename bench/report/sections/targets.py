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
    if ours is None:
        return "not measured yet"
    reached = "target reached" if ours["min"] <= ours["target"] else \
        f"misses the target by {quantity(100 * (ours['min'] / ours['target'] - 1))} %"
    if peer is None:
        return reached
    ratio = peer["min"] / ours["min"]
    if ratio >= 1:
        return f"{reached}; {quantity(ratio)} times as fast as the best peer" \
            if ours["unit"] == "ns" else f"{reached}; less than any peer"
    return f"{reached}; {name_of(peer['impl'])} needs {quantity(100 * ratio)} % of it"


def table_of(results):
    groups = {}
    for row in results.select():
        if "target" in row:
            groups.setdefault((row["label"], row["vps"]), []).append(row)
    lines, reached, ahead = [], 0, 0
    for (label, vps), rows in groups.items():
        ours = next((row for row in rows if row["impl"] == "mltp"), None)
        if ours is None:
            continue
        peer = best_peer(rows)
        reached += ours["min"] <= ours["target"]
        ahead += peer is None or ours["min"] <= peer["min"]
        lines.append([label, vps, f"{ours['unit']} {ours['clock']}", quantity(ours["target"]),
                      *blocks.spread(ours),
                      f"{quantity(peer['min'])} {name_of(peer['impl'])}" if peer else "–",
                      ours.get("reference") or "–", verdict_of(ours, peer)])
    heads = ["operation", "VPs", "unit", "target", "ours: min", "median", "max",
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

# SPDX-License-Identifier: Apache-2.0
"""What rows of one run say of us and of the peers beside us.

mltp-bench compares each peer's row with ours (bench/harness/stats.h): ahead, behind, or even, where the difference is
within the spread. A row of fewer than three runs has no spread and no verdict.
"""
RULE = ("Ahead and behind: minimum and median differ by more than the spread, which is the median less the minimum of "
        "either. Otherwise the verdict is even.")


def best(peers, key="min"):
    """The peer's row with the least value; None without peers."""
    return min(peers, key=lambda row: row[key]) if peers else None


def of(peers, name):
    """The verdict over all peers of a row. name: a function from a peer's row to its name."""
    judged = [row for row in peers if "verdict" in row]
    for verdict in ("behind", "even"):
        found = [name(row) for row in judged if row["verdict"] == verdict]
        if found:
            return f"{verdict}{' with' if verdict == 'even' else ''} {' and '.join(found)}"
    return "first" if judged else "nobody beside us" if not peers else "too few runs"


def count(verdicts):
    """A sentence with how many rows have each verdict."""
    words = {"first": 0, "even": 0, "behind": 0}
    for verdict in verdicts:
        word = verdict.split()[0]
        if word in words:
            words[word] += 1
    judged = sum(words.values())
    return (f"Of {judged} rows with a verdict we are first in {words['first']}, even in {words['even']} and behind in "
            f"{words['behind']}.") if judged else "No row has a verdict: peers or runs are missing."

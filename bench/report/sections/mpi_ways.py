# SPDX-License-Identifier: Apache-2.0
"""The ways MPI programs were run: how they are called and drawn, and how far they lie apart."""
NAMES = {"tmpi": "MLTP", "one-to-one": "a kernel thread for each rank", "openmpi": "Open MPI 4", "mpich": "MPICH 4", "openmpi5": "Open MPI 5",
         "mpich5": "MPICH 5"}
STYLES = {"tmpi": ("#0b6e4f", "o"), "one-to-one": ("#c77d0a", "^"), "openmpi": ("#7fb1e3", "D"), "openmpi5": ("#2b6cb0", "D"),
          "mpich": ("#d98e8b", "X"), "mpich5": ("#b0413e", "X")}
OURS = ("tmpi", "one-to-one")


def name(impl):
    base = impl.removesuffix("-default")
    return NAMES.get(base, base) + ("" if base == impl else " as it comes")


def style(impl):
    colour, mark = STYLES.get(impl.removesuffix("-default"), ("#777777", "."))
    return {"color": colour, "marker": mark, "label": name(impl),
            "linestyle": ":" if impl.endswith("-default") else "-"}


def is_peer(impl):
    return impl not in OURS


def of(rows):
    """The ways there are rows of, in the order of the legend."""
    known = [*NAMES, *(f"{impl}-default" for impl in NAMES)]
    return [impl for impl in known if any(row["impl"] == impl for row in rows)]


def ratios(rows, wanted=is_peer):
    """The best other's minimum over ours at each point where both were measured."""
    points = {}
    for row in rows:
        points.setdefault((row["metric"], row["ranks"]), {})[row["impl"]] = row["min"]
    return [min(others) / point["tmpi"] for point in points.values() if "tmpi" in point
            for others in [[value for impl, value in point.items() if wanted(impl)]] if others]


def absent(results):
    names = sorted({row["impl"] for row in results.rows if row.get("metric") == "absent"
                    and row["impl"].removesuffix("-default") in NAMES})
    return " Not installed here, and so absent: " + ", ".join(map(name, names)) + "." if names else ""

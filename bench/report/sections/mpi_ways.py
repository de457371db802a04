# SPDX-License-Identifier: Apache-2.0
"""The ways MPI programs were run: how they are called and drawn, and how far they lie apart."""
NAMES = {"tmpi": "MLTP", "checked": "MLTP, tmpirun --check", "one-to-one": "a kernel thread for each rank",
         "openmpi": "Open MPI 4", "mpich": "MPICH 4", "openmpi5": "Open MPI 5", "mpich5": "MPICH 5"}
STYLES = {"tmpi": ("#0b6e4f", "o"), "checked": ("#5a9e85", "v"), "one-to-one": ("#c77d0a", "^"), "openmpi": ("#7fb1e3", "D"),
          "openmpi5": ("#2b6cb0", "D"), "mpich": ("#d98e8b", "X"), "mpich5": ("#b0413e", "X")}
OURS = ("tmpi", "checked", "one-to-one")


SETTINGS = {"": ("", "-"), "-default": (" as it comes", ":"), "-pinned": (" pinned", "-."), "-yield": (" yielding", "-")}


def parts(impl):
    """The peer, and the setting it runs with."""
    peer = next((peer for peer in sorted(NAMES, key=len, reverse=True) if impl.startswith(peer)), impl)
    return peer, impl[len(peer):]


def name(impl):
    peer, setting = parts(impl)
    return NAMES.get(peer, peer) + SETTINGS.get(setting, (setting, "-"))[0]


def style(impl):
    peer, setting = parts(impl)
    colour, mark = STYLES.get(peer, ("#777777", "."))
    return {"color": colour, "marker": mark, "label": name(impl), "linestyle": SETTINGS.get(setting, ("", "-"))[1]}


def is_peer(impl):
    return impl not in OURS


def of(rows):
    """The ways there are rows of, in the order of the legend."""
    known = [peer + setting for peer in NAMES for setting in SETTINGS]
    return [impl for impl in known if any(row["impl"] == impl for row in rows)]


def ratios(rows, wanted=is_peer):
    """The best other's minimum over ours at each point where both were measured."""
    points = {}
    for row in rows:
        points.setdefault((row["metric"], row["ranks"]), {})[row["impl"]] = row["min"]
    return [min(others) / point["tmpi"] for point in points.values() if "tmpi" in point
            for others in [[value for impl, value in point.items() if wanted(impl)]] if others]


def absent(results):
    names = sorted({parts(row["impl"])[0] for row in results.rows if row.get("metric") == "absent"} & set(NAMES))
    return " Not installed here, and so absent: " + ", ".join(map(name, names)) + "." if names else ""

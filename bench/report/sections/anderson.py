# SPDX-License-Identifier: Apache-2.0
"""What the sections about Anderson, Lazowska and Levy (1989) have in common."""
import plots

LOST = "The paper's own curve exists as a picture only, which the text we have lacks."
ORDER = ("single", "multi", "freelist", "idleq", "local", "default")
NAMES = {"single": "single lock", "multi": "multiple locks", "freelist": "local free lists",
         "idleq": "idle queue", "local": "local ready queues", "default": "MLTP's default",
         "queue": "queue lock"}


def name_of(key):
    return NAMES.get(key, key)


def style_of(key, keys):
    """The look of one of several strategies or algorithms: the same on every figure."""
    place = ORDER.index(key) if key in ORDER else sorted(keys).index(key)
    return {"color": plots.SERIES[place % len(plots.SERIES)],
            "marker": "os^vDPX"[place % 7], "label": name_of(key)}


def keys_of(rows, key):
    """The values rows have there, the paper's order first."""
    found = {row[key] for row in rows}
    return [value for value in ORDER if value in found] + sorted(found - set(ORDER))


def lines(axes, rows, key, x, scale=1.0):
    """A line for each value of a key."""
    keys = keys_of(rows, key)
    for value in keys:
        plots.line(axes, [row for row in rows if row[key] == value], x, scale,
                   **style_of(value, keys))


def curves(axes, figure):
    """A figure of the model: lines for what it says, marks for what was measured."""
    keys = [series["name"] for series in figure["series"]]
    for series in figure["series"]:
        style = style_of(series["name"], keys)
        if series["kind"] == "measured":
            axes.plot(series["x"], series["y"], linestyle="none",
                      **{**style, "label": f"{style['label']}, measured"})
        else:
            axes.plot(series["x"], series["y"], **{**style, "marker": ""})
    axes.set_title(figure["title"])
    axes.set_xlabel(figure["x"])
    axes.set_ylabel(figure["y"])
    if figure["log_x"]:
        axes.set_xscale("log")
    if figure.get("log_y"):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)

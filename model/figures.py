# SPDX-License-Identifier: Apache-2.0
"""The figures drawn: one function for each, from the dicts of curves.py to a matplotlib Figure."""

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

STYLES = {  # one look for each strategy, on every page
    "single": {"color": "#444444", "marker": "D"},
    "multi": {"color": "#b5651d", "marker": "^"},
    "freelist": {"color": "#8b1e3f", "marker": "s"},
    "idleq": {"color": "#3c5a99", "marker": "v"},
    "local": {"color": "#0b6e4f", "marker": "o"},
    "default": {"color": "#6fb98f", "marker": "P"},
}


def draw(data):
    """Any figure: lines for the model, points for measurements."""
    figure, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    for series in data["series"]:
        style = STYLES.get(series["name"], {"marker": "x"})
        if series["kind"] == "measured":
            style = style | {"linestyle": "none", "label": f"{series['name']}, measured"}
        else:
            style = style | {"marker": "", "label": series["name"]}
        axes.plot(series["x"], series["y"], **style)
    axes.set_title(data["title"])
    axes.set_xlabel(data["x"])
    axes.set_ylabel(data["y"])
    if data["log_x"]:
        axes.set_xscale("log")
    if data["log_y"]:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def drawing(number):
    """The function that draws a figure of this number, and refuses the data of another."""
    def draw_numbered(data):
        if data["figure"] != number:
            raise ValueError(f"figure {number} was asked for, the data are of {data['figure']}")
        return draw(data)
    draw_numbered.__doc__ = f"Draws Figure {number} from its dict."
    return draw_numbered


figure2, figure5, figure6, figure9, figure10, figure11, figure12 = (
    drawing(n) for n in (2, 5, 6, 9, 10, 11, 12))

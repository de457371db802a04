# SPDX-License-Identifier: Apache-2.0
"""Anderson et al., section V and equation 3.1: the queueing model, Figures 5 and 9 to 12."""
import blocks
import plots
from blocks import quantity

from . import anderson

TITLES = {5: "queues examined to find a thread (equation 3.1)",
          9: "the model beside measurements", 10: "speed-up against the work of a thread",
          11: "speed-up against the load of the bus", 12: "speed-up over many processors"}


def sentence_of(figures):
    """The ends of the curves, in words."""
    parts = []
    for whose, figure in figures:
        ends = sorted(((s["y"][-1], s["name"]) for s in figure["series"] if s["kind"] == "model"),
                      reverse=True)
        x = next(s["x"][-1] for s in figure["series"] if s["kind"] == "model")
        parts.append(f"{whose} at the right end ({figure['x']}: {quantity(x)}): " + ", ".join(
            f"{anderson.name_of(name)} {quantity(y)}" for y, name in ends))
    return "; ".join(parts) + "."


def figure(model, number):
    """The paper's machine and this one, side by side."""
    figures = [(whose, f) for whose, part in (("The paper's machine", "paper"),
                                              ("This machine", "here"))
               for f in model.get(part, {}).get("figures", []) if f["figure"] == number]
    picture, axes = plots.panels(len(figures), 3.6)
    for panel, (whose, data) in zip(axes, figures):
        anderson.curves(panel, data)
        panel.set_title(f"{whose}: {data['title']}", fontsize=8.5)
    caption = ("Computed by the model from the paper's constants; the paper's drawing exists as a "
               "picture only, which the text we have lacks. ")
    if len(figures) < 2:
        caption += "For this machine the model draws no such figure."
    return blocks.Figure(f"anderson-figure-{number}", f"Figure {number}: {TITLES[number]}",
                         caption, picture, sentence_of(figures))


def statements(model):
    """What the paper states, and whether the model says the same."""
    return blocks.Table(["where", "the paper states", "the model gives", ""],
                        [[s["where"], s["says"],
                          ", ".join(f"{name} {quantity(value)}"
                                    for name, value in s["model"].items()),
                          "holds" if s["holds"] else "fails"]
                         for s in model["paper"]["statements"]])


def predictions(model):
    rows = [[p["experiment"], anderson.name_of(p["strategy"]), p["processors"],
             quantity(p["work_us"]), quantity(1e9 * p["measured_seconds"]),
             quantity(1e9 * p["predicted_seconds"]), f"{100 * p['error']:+.0f} %",
             "fitted" if p["fitted"] else ""] for p in model.get("here", {}).get("predictions", [])]
    return blocks.Table(["experiment", "strategy", "processors", "work us", "measured ns",
                         "predicted ns", "error", ""], rows,
                        "The model beside measurements of this machine; what it was fitted to is "
                        "marked.")


def section(results):
    model = results.document("model")
    numbers = (5, 9, 10, 11, 12)
    made = [blocks.Figure(f"anderson-figure-{n}", f"Figure {n}: {TITLES[n]}", "", None,
                          f"model: {results.missing('model')}.") for n in numbers]
    tables = []
    if model:
        made = [figure(model, n) for n in numbers]
        tables = [statements(model)] + [t for t in [predictions(model)] if t.rows]
    return blocks.Section(
        "anderson-model", "The queueing model",
        "Anderson, Lazowska and Levy V, equation 3.1, Figures 5 and 9 to 12",
        "What contention for locks and for the bus explain, and what they let one expect of "
        "machines nobody has yet.", made + tables)

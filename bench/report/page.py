#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one HTML page, and files of its figures, of what ./dev bench measured."""
import argparse
import base64
import json
import pathlib
import sys

import jinja2
import matplotlib.pyplot as plt

import blocks
import markdown
import plan
import plots
import results
import sections


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="dev report", description=__doc__)
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FOLDER",
                        help="a folder of results (the newest in build/bench)")
    parser.add_argument("--out", default="build/report", type=pathlib.Path, metavar="FOLDER",
                        help="where index.html and the figures go (%(default)s)")
    parser.add_argument("--measurements", nargs="?", const="docs/measurements", type=pathlib.Path, metavar="FOLDER",
                        help="also write Markdown pages, without pictures (%(const)s)")
    return parser.parse_args(arguments)


def newest():
    """The folder whose results are the youngest; None where there are none."""
    states = pathlib.Path("build/bench").glob("*/state.json")
    states = [path for path in states if not path.parent.name.endswith(".previous")]
    return max(states, key=lambda path: path.stat().st_mtime).parent if states else None


def environment_of(measured, steps=None):
    """The machine, and when these steps were measured on which commit (all that were)."""
    facts = [facts for step, facts in measured.environments.items() if steps is None or step in steps]
    versions = facts[-1].get("versions", {}) if facts else {}
    loads = [load for each in facts for load in each["load"][:1]]
    commit = measured.identity["commit"]
    commits = {commit if commit.startswith(each["commit"]) else each["commit"] for each in facts}
    rows = [["processor", f"{measured.identity['cpu']}, {measured.identity['cpus']} CPUs"],
            ["kernel", f"Linux {measured.identity['kernel']}"],
            ["commit", ", ".join(sorted(commits or {commit}))],
            ["compiler", f"gcc {versions.get('compiler', '–')}, "
                         f"glibc {versions.get('libc', '–')}"],
            ["load when steps began", f"{min(loads):.2f} to {max(loads):.2f}" if loads else "–"],
            ["last measured", max((each["date"] for each in facts), default="–")]]
    if measured.identity["quick"]:
        rows.append(["kind of run", "quick: few runs of small problems"])
    return blocks.Table(["measured on", ""], rows)


def steps_of(measured):
    lines = []
    for step in plan.STEPS:
        facts = measured.steps.get(step.name)
        if facts is None and not step.planned:
            continue
        facts = facts or {"status": "not run", "why": None}
        command = " ".join([*(f"{k}={v}" for k, v in facts.get("environment", {}).items()),
                            *map(str, facts.get("command", []))])
        lines.append([step.name, facts["status"], facts["why"] or "",
                      blocks.quantity(facts.get("seconds")), command])
    return blocks.Table(["step", "status", "why", "seconds", "command"], lines)


def save(picture, folder, key):
    """Writes KEY.svg and KEY.png. Returns the drawing as the address of an image."""
    plots.finish(picture)
    folder.mkdir(parents=True, exist_ok=True)
    picture.savefig(folder / f"{key}.png", dpi=130, bbox_inches="tight")
    picture.savefig(folder / f"{key}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(picture)
    text = base64.b64encode((folder / f"{key}.svg").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{text}"


def render(measured, made, steps, out):
    pictures = {}
    for section in made:
        for block in section.blocks:
            if isinstance(block, blocks.Figure) and block.picture:
                pictures[block.key] = save(block.picture, out / "figures", block.key)
    loader = jinja2.FileSystemLoader(pathlib.Path(__file__).parent)
    template = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined,
                                  trim_blocks=True).get_template("page.html.j2")
    return template.render(sections=made, pictures=pictures, steps=steps,
                           quick=measured.identity["quick"],
                           troubles=sum(row[1] in ("failed", "skipped") for row in steps.rows),
                           environment=environment_of(measured))


def main(arguments):
    options = parse_arguments(arguments)
    source = options.source or newest()
    if source is None:
        sys.exit("report: there are no results in build/bench (./dev bench --quick makes some)")
    try:
        measured = results.Results(source)
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"report: cannot read the results in {source}: {error} (measure anew)")
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.out / "index.html"
    made = []
    for module in sections.ALL:
        measured.used = set()
        made.append(module.section(measured))
        made[-1].steps = measured.used
    steps = steps_of(measured)
    page.write_text(render(measured, made, steps, options.out), encoding="utf-8")
    if options.measurements:
        markdown.write(options.measurements, made, lambda used=None: environment_of(measured, used), steps)
        print(f"report: {options.measurements / 'README.md'} and the pages beside it")
    print(f"report: {page}, its figures in {options.out / 'figures'}, from {source}")


if __name__ == "__main__":
    main(sys.argv[1:])

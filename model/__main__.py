# SPDX-License-Identifier: Apache-2.0
"""python3 -m model: the model's command line."""

import argparse
import json
import pathlib
import sys

from . import report, spinning
from .iterate import NotConverged
from .measurements import BadMeasurement, read

EPILOG = """exit status: 0 done, 1 a statement of the paper does not hold in the model, or the
measurements do not suffice (a message says which), 2 wrong usage.

example: build/bin/mltp-bench calibrate --json calibrate.json
         build/bin/mltp-bench lifecycle --vps 1,P --json lifecycle.json
         python3 -m model calibrate.json lifecycle.json --json model.json --plots plots"""


def parse_arguments(arguments):
    """The command line's options."""
    parser = argparse.ArgumentParser(
        prog="python3 -m model", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The performance model of Anderson, Lazowska and Levy: of the paper's machine, "
        "and of the machine the measurements come from.")
    parser.add_argument("measurements", nargs="*", metavar="FILE",
                        help="JSON of mltp-bench calibrate, lifecycle, micro; none: the paper only")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="write statements, predictions and figures' data to FILE")
    parser.add_argument("--plots", type=pathlib.Path, metavar="FOLDER",
                        help="draw the figures as FOLDER/*.svg (needs matplotlib)")
    parser.add_argument("--spin", choices=spinning.BY_NAME, default="backoff", metavar="NAME",
                        help="how the measured strategies wait for their locks: exchange, read, "
                        "backoff (the default), or queue for any with a flag for each waiter")
    return parser.parse_args(arguments)


def print_paper(paper):
    """What the paper says, and whether the model agrees."""
    for statement in paper["statements"]:
        print(f"{'holds' if statement['holds'] else 'FAILS'}  {statement['where']}: "
              f"{statement['says']}")
        print("       " + ", ".join(f"{k}: {v:.3g}" for k, v in statement["model"].items()))


def print_machine(machine):
    """Calibration, and predictions beside measurements."""
    print("\nthis machine: " + ", ".join(f"{k} {v:.3g}" for k, v in machine["machine"].items()
                                         if isinstance(v, float)))
    for s in machine["strategies"]:
        print(f"  {s['name']:<9} {1e9 * s['seconds']:8.1f} ns a thread, {1e9 * s['in_sections']:7.1f}"
              f" in sections, {s['transfers']:5.1f} lines moved ({s['source']})")
    print(f"\n{'experiment':<10} {'strategy':<9} {'processors':>10} {'work us':>9} "
          f"{'measured ns':>12} {'predicted ns':>12} {'error':>8}")
    for p in machine["predictions"]:
        print(f"{p['experiment']:<10} {p['strategy']:<9} {p['processors']:>10} {p['work_us']:>9.3g} "
              f"{1e9 * p['measured_seconds']:>12.1f} {1e9 * p['predicted_seconds']:>12.1f} "
              f"{p['error']:>+8.1%}{'  fitted' if p['fitted'] else ''}")
    if machine["left_out"]:
        print(f"left out: {machine['left_out']} rows whose VPs did not run all the time: on more VPs "
              "than CPUs, or on a machine that was busy")
    summary = report.error_summary(machine["predictions"])
    if summary:
        print(f"{summary['count']} predictions on several processors that were not fitted: median "
              f"error {summary['median']:.1%}, worst {summary['worst']:.1%}")


def draw(folder, whose, figures):
    """Writes figures as SVG."""
    from . import figures as drawings  # only here: matplotlib may be absent
    folder.mkdir(parents=True, exist_ok=True)
    for data in figures:
        drawings.draw(data).savefig(folder / f"{whose}-{data['figure']}.svg")


def main(arguments=None):
    """Returns the exit status."""
    options = parse_arguments(arguments)
    try:
        result = {"paper": report.of_the_paper()}
        if options.measurements:
            result["here"] = report.of_this_machine(
                *read(options.measurements), way=spinning.BY_NAME[options.spin])
        print_paper(result["paper"])
        if "here" in result:
            print_machine(result["here"])
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        if options.plots:
            for whose, part in result.items():
                draw(options.plots, whose, part["figures"])
    except (BadMeasurement, NotConverged) as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"model: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0 if all(s["holds"] for s in result["paper"]["statements"]) else 1


if __name__ == "__main__":
    sys.exit(main())

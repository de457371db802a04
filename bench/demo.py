#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job: the ocean on two-level threads, on the same calls one-to-one, and on pthreads.

Measures with mltp-bench, which shows progress and prints the table; says who won by how
much; draws ocean.svg and ocean.png.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

VERSION = "demo.py 0.1.0"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, type=pathlib.Path, metavar="PATH",
                        help="the mltp-bench program")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FOLDER",
                        help="where ocean.json, ocean.svg and ocean.png go")
    parser.add_argument("--quick", action="store_true",
                        help="a small ocean and few runs, to see that it works")
    parser.add_argument("--version", action="version", version=VERSION)
    return parser.parse_args()


def measure(bench, path, quick):
    """Runs mltp-bench in the foreground. Returns its report."""
    command = [bench, "ocean", "--threads", "1,2,4,8,16", "--vps", "P,4P",
               "--impl", "mltp,mltp-kernel,pthreads", "--json", path]
    if quick:
        command.append("--quick")
    subprocess.run(command, check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def label_of(row):
    """What a configuration is called, in the order it is shown."""
    if row["impl"] == "mltp":
        return f"two-level, {row['params']['vps']} VPs"
    return {"mltp-kernel": "one-to-one (same calls)", "pthreads": "pthreads"}[row["impl"]]


def series_of(report):
    """{configuration: {threads: row}} of wall time."""
    series = {}
    for row in report["rows"]:
        if row["clock"] == "wall":
            series.setdefault(label_of(row), {})[row["params"]["threads"]] = row
    return series


def speeds_of(series, label):
    """{threads: speed relative to pthreads}."""
    return {threads: series["pthreads"][threads]["median"] / row["median"]
            for threads, row in series[label].items()}


def verdict(series, cpus):
    """A sentence that names the faster implementation and by how much."""
    first, *others = [label for label in series if label.startswith("two-level")]
    speeds = speeds_of(series, first)
    best = max(speeds, key=speeds.get)
    worst = min(speeds, key=speeds.get)
    won = sum(speed > 1 for speed in speeds.values())
    winner = "Two-level threads" if won > len(speeds) / 2 else "Pthreads"
    text = (f"{winner} won on {cpus} CPUs: at best two-level ran {speeds[best]:.2f} times as fast "
            f"as pthreads with as many threads ({best}), at worst {speeds[worst]:.2f} times "
            f"({worst})")
    for label in others:
        slowdown = max(row["median"] / series[first][threads]["median"]
                       for threads, row in series[label].items())
        vps = label.removeprefix("two-level, ")
        text += f"; on {vps} it needed at most {slowdown:.2f} times that time"
    return text + "."


def draw(report, series, folder):
    """Two panels over the number of threads: time, and speed relative to pthreads."""
    figure, (time_axes, speed_axes) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    styles = {label: style for label, style in zip(series, (
        {"color": "#0b6e4f", "marker": "o"},
        {"color": "#6fb98f", "marker": "s", "linestyle": "--"},
        {"color": "#b5651d", "marker": "^", "linestyle": ":"},
        {"color": "#444444", "marker": "D"}))}
    for label, rows in series.items():
        threads = sorted(rows)
        median = [1e3 * rows[n]["median"] for n in threads]
        below = [1e3 * (rows[n]["median"] - rows[n]["min"]) for n in threads]
        above = [1e3 * (rows[n]["max"] - rows[n]["median"]) for n in threads]
        time_axes.errorbar(threads, median, yerr=[below, above], capsize=3, label=label,
                           **styles[label])
        speeds = speeds_of(series, label)
        speed_axes.plot(threads, [speeds[n] for n in threads], label=label, **styles[label])

    some = report["rows"][0]
    size, steps = some["params"]["size"], some["params"]["steps"]
    time_axes.set_title(f"Ocean {size} x {size}, {steps} steps")
    time_axes.set_ylabel(f"time (ms): median, min and max of {some['runs']} runs")
    speed_axes.set_title("Speed relative to pthreads")
    speed_axes.set_ylabel("pthreads' median time / median time")
    for axes in (time_axes, speed_axes):
        axes.set_xlabel("threads")
        axes.set_xscale("log", base=2)
        axes.set_xticks(threads, [str(n) for n in threads])
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        axes.grid(alpha=0.3)
    time_axes.legend()
    env = report["env"]
    figure.suptitle(f"{env['cpu']}, {env['cpus']} CPUs, Linux {env['kernel']}", fontsize=9)
    for suffix in ("svg", "png"):
        figure.savefig(folder / f"ocean.{suffix}", dpi=130)


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        report = measure(arguments.bench, arguments.out / "ocean.json", arguments.quick)
    except OSError as error:
        sys.exit(f"demo.py: cannot run {arguments.bench}: {error.strerror} (build it first)")
    except subprocess.CalledProcessError:
        sys.exit("demo.py: the measurement failed: see above")
    except KeyboardInterrupt:
        sys.exit("demo.py: interrupted")
    series = series_of(report)
    print(verdict(series, report["env"]["cpus"]))
    draw(report, series, arguments.out)
    print(f"plot: {arguments.out / 'ocean.svg'} and {arguments.out / 'ocean.png'}; "
          f"figures: {arguments.out / 'ocean.json'}")


if __name__ == "__main__":
    main()

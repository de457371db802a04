#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures this tree and an older commit in turn, and says which rows became slower.

The older commit is built in FOLDER/COMMIT. With --define it is built with a setting of CMake's: HEAD --define MLTP_NODES=OFF
says what jobs on one node pay for those on several. A setting NAME=VALUE in its place is this tree with that environment
variable, so that MLTP_MONITOR=off says what the monitor costs. Each turn runs an experiment once with each of the two, in
an order that alternates. All experiments but price and instructions are mltp-bench's. Both trees run the MPI programs of
this one, each compiled by its own tmpicc. price is what whole jobs of up to 1,024 ranks cost: start and end, memory,
latency, conjugate gradients. instructions is how many an operation takes, of threads and of MPI, which one turn tells. The best of all
turns counts: what else the machine does makes runs slower only. A row is slower or faster if the best values differ by
more than the limit. A row's best values also differ by chance, some one way and some the other; the mean of all rows
says what a change costs where it is less than that. Exit status: 0 no row is slower, 1 some are, 2 wrong usage, or
something was not built or not measured.
"""
import argparse
import dataclasses
import functools
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import instructions
import price
import store


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What is asked of mltp-bench, and which of its rows are this project's."""
    options: tuple
    impls: tuple
    metrics: tuple = ()  # empty: all


EXPERIMENTS = {
    "micro": Experiment(("--impl", "mltp"), ("mltp",)),
    "mpi": Experiment(("--impl", "tmpi"), ("tmpi",)),
    "sim": Experiment((), ("native", "ucontext"), ("each",)),  # of the kernel backend most is the kernel's
    "systemc": Experiment((), ("mltp-systemc",)),
}
MPI_PROGRAM = "single.tmpi"
WHOLE_JOBS = {"price": price, "instructions": instructions}
NAMES = [*EXPERIMENTS, *WHOLE_JOBS]
COUNTED = "instructions"  # each turn would tell the same


def fail(text):
    print(f"compare: {text}", file=sys.stderr)
    sys.exit(2)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="dev compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", metavar="COMMIT", help="the older commit, or a setting NAME=VALUE")
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT",
                        help=f"of {', '.join(NAMES)} (all)")
    parser.add_argument("--turns", type=int, default=15, metavar="N",
                        help="runs of each experiment by each of the two (%(default)s)")
    parser.add_argument("--limit", type=float, default=2, metavar="PERCENT",
                        help="a smaller difference is called even (%(default)s)")
    parser.add_argument("--bench", default="build/bin/mltp-bench", type=pathlib.Path,
                        metavar="PATH", help="this tree's mltp-bench program (%(default)s)")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of CMake's for the older commit; may be repeated")
    parser.add_argument("--older-bench", type=pathlib.Path, metavar="PATH",
                        help="the older commit's, which is built otherwise")
    parser.add_argument("--out", default="build/compare", type=pathlib.Path, metavar="FOLDER",
                        help="where the older commit is built (%(default)s)")
    options = parser.parse_intermixed_args(arguments)
    for name in options.experiments:
        if name not in NAMES:
            parser.error(f"{name}: there are {', '.join(NAMES)}")
    whole = [name for name in options.experiments if name in WHOLE_JOBS]
    if "=" in options.commit and whole:
        parser.error(f"{whole[0]} compares commits, not settings")
    if options.define and "=" in options.commit:
        parser.error("--define is for a commit, which is built, not for a setting")
    if options.turns < 1:
        parser.error("--turns: at least one")
    return options


def build(commit, folder, defines):
    """Returns the mltp-bench of a commit, built with some settings; builds it unless it is there."""
    name = subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
                          capture_output=True, text=True, check=False).stdout.strip()
    if not name:
        fail(f"{commit}: no such commit here")
    tree = (folder / "-".join([name[:12], *defines]).replace("=", "-")).resolve()
    bench = tree / "build/bin/mltp-bench"
    if (tree / "built").exists():
        return bench
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    print(f"compare: building {commit} in {tree}", file=sys.stderr)
    log = tree / "build.log"
    with tempfile.TemporaryFile() as archive, open(log, "wb") as output:
        subprocess.run(["git", "archive", name], stdout=archive, check=True)
        archive.seek(0)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive, check=True)
        settings = [f"-D{define}" for define in defines]
        for command in (["cmake", "--preset", "release", *settings], ["cmake", "--build", "--preset", "release"]):
            if subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False).returncode:
                fail(f"{commit} was not built: {' '.join(command)} failed (see {log})")
    (tree / "built").touch()
    return bench


def name_of(row, experiment):
    """The metric and what was varied, as words."""
    params = row["params"]
    return (row["metric"], *([params["model"]] if "model" in params else []),
            *([row["impl"]] if len(experiment.impls) > 1 else []),
            *(f"{params[key]} {key}" for key in ("threads", "ranks", "vps") if key in params))


def measure(bench, name, environment):
    """One run. Returns {row: (best, unit)}."""
    experiment = EXPERIMENTS[name]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run = subprocess.run([bench, name, *experiment.options, "--quick", "--runs", "1", "--json", file.name],
                             capture_output=True, text=True, check=False, env=environment)
        if run.returncode != 0:
            fail(f"{bench} {name} failed with status {run.returncode}:\n{run.stderr}")
        rows = json.load(file)["rows"]
    return {name_of(row, experiment): (row["min"], row["unit"]) for row in rows
            if row["impl"] in experiment.impls and (not experiment.metrics or row["metric"] in experiment.metrics)}


def with_program_of_this_tree(bench, folder):
    """Returns a copy of an older mltp-bench that runs this tree's program of the experiment mpi.

    Otherwise a change of the program would count as one of the library: a frame more on the stack of each rank is a
    tenth of a barrier.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    programs = "libexec/mltp/mpi"
    price.build(bench, folder / programs, {MPI_PROGRAM: price.SOURCES["single"]})
    for other in (bench.parent.parent / programs).glob("*.tmpi"):
        if other.name != MPI_PROGRAM:  # in Fortran, of which this tree's may name what the older bindings lack
            (folder / programs / other.name).symlink_to(other)
    (folder / "bin/tmpirun").symlink_to(bench.parent / "tmpirun")
    (folder / "lib").symlink_to(bench.parent.parent / "lib")
    return pathlib.Path(shutil.copy2(bench, folder / "bin/mltp-bench"))


def prepare(benches, experiment, folder, settings):
    """Returns for each of the two a function that runs the experiment once. settings: those of the older."""
    module = WHOLE_JOBS.get(experiment)
    if experiment == "mpi" and not settings:
        benches = with_program_of_this_tree(benches[0].resolve(), (folder / "mpi").resolve()), benches[1]
    if module is None:
        return [functools.partial(measure, bench, experiment, environment)
                for bench, environment in zip(benches, ({**os.environ, **settings}, None))]
    return [functools.partial(module.measure, module.build(bench, folder / experiment / age))
            for bench, age in zip(benches, ("older", "newer"))]


def turns(runs, experiment, count):
    """Returns {row: ([of the older], [of the newer], unit)} for rows that both have."""
    values = {}
    for turn in range(count):
        for which in ((0, 1), (1, 0))[turn % 2]:
            for row, (best, unit) in runs[which]().items():
                values.setdefault(row, ([], [], unit))[which].append(best)
        print(f"\rcompare: {experiment}, turn {turn + 1} of {count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {row: both for row, both in values.items() if both[0] and both[1]}


def verdict(older, newer, limit):
    """Of the best values."""
    if newer > older * (1 + limit / 100):
        return "slower"
    return "faster" if newer < older * (1 - limit / 100) else "even"


def mean(ratios):
    """The geometric mean of the rows' ratios, and its standard error, as a text; empty for one row."""
    logs = [math.log(ratio) for ratio in ratios if ratio > 0]
    if len(logs) < 2:
        return ""
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    return f"mean of {len(logs)} rows: x{math.exp(statistics.mean(logs)):.4f}, standard error {error:.4f}"


def show(values, limit):
    """Prints a table, and the mean of its rows. Returns how many rows are slower."""
    ratios = []
    slower = 0
    for row, (older, newer, unit) in values.items():
        word = verdict(min(older), min(newer), limit)
        slower += word == "slower"
        ratio = min(newer) / min(older) if min(older) else 1
        ratios.append(ratio)
        print(f"{', '.join(row):50} {min(older):10.4g} {min(newer):10.4g} {unit:5} x{ratio:.3f} {word:6}  medians "
              f"{statistics.median(older):.4g} {statistics.median(newer):.4g}")
    print(mean(ratios))
    return slower


def main(arguments):
    options = parse_arguments(arguments)
    settings = dict([options.commit.split("=", 1)] if "=" in options.commit else [])
    newer = options.bench.resolve()
    older = options.older_bench or (newer if settings else build(options.commit, options.out, options.define))
    benches = (older, newer)
    for bench in benches:
        if not bench.exists():
            fail(f"there is no {bench} (build it first)")
    older_name = " ".join([options.commit, *options.define])
    print(f"Best of {options.turns} turns: {older_name}, then this tree. {store.cpu_name()}, "
          f"load {pathlib.Path('/proc/loadavg').read_text(encoding='utf-8').split()[0]}")
    names = options.experiments or (list(EXPERIMENTS) if settings else NAMES)
    slower = sum(show(turns(prepare(benches, name, options.out, settings), name, 1 if name == COUNTED else options.turns),
                      options.limit) for name in names)
    print(f"{slower} rows are slower by more than {options.limit:g} %")
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except price.Failure as failure:
        fail(failure)
    except KeyboardInterrupt:
        fail("interrupted")

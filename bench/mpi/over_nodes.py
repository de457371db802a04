#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MPI programs on two nodes of this machine: on this library, Open MPI and MPICH, over the same links.

A node is a network, mount and host-name namespace, and a bridge joins them (tests/mpi/check_nodes.py). The ways to run
alternate, run by run. Each library has several settings, and the best one counts: Open MPI's own transports and those
of UCX, MPICH's UCX; each with ranks that the kernel places, and with each rank on a CPU of its own, where this library has
each node on one. Where there are more ranks than CPUs, the peers' ranks yield when they poll without result, or they take a
thousand times as long. MPICH 4.0 has no setting for that: its ranks do not yield while they wait, and meet the time limit.
--page writes a page of docs/measurements.
Exit status 77: namespaces or Open MPI's launcher are not there.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/mpi"), str(ROOT / "bench/report")]
import check_nodes  # noqa: E402  pylint: disable=wrong-import-position
import store  # noqa: E402  pylint: disable=wrong-import-position

PAIR, ALL = 2, 32
NET = "10.77.0.0/24"
ROWS = [  # name, ranks, program and arguments, key, the key's unit in the row's
    ("latency, 8 bytes, us", PAIR, "single latency 8", "wall_ns", 1e-3),
    ("a message of 8 bytes, us", PAIR, "single stream 8", "wall_ns", 1e-3),
    ("a message of 8 bytes, 16 pairs, us", ALL, "single stream 8", "wall_ns", 1e-3),
    ("a message of 1 MiB, us", PAIR, "single stream-large 1048576", "wall_ns", 1e-3),
    ("barrier, us", ALL, "single barrier 0", "wall_ns", 1e-3),
    ("allreduce, 8 bytes, us", ALL, "single allreduce 8", "wall_ns", 1e-3),
    ("alltoall, 8 bytes, us", ALL, "single alltoall 8", "wall_ns", 1e-3),
    ("alltoall, 1 KiB, us", ALL, "single alltoall 1024", "wall_ns", 1e-3),
    ("GE 1152, ms", ALL, "ge 1152", "wall_ns", 1e-6),
    ("CG 128, ms", ALL, "cg 128", "wall_ns", 1e-6),
    ("wavefront 64, ms", ALL, "wavefront 64", "wall_ns", 1e-6)]
TCP = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0"}
UCX_AND_SELF = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
OB1 = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp", "--mca", "btl_tcp_if_include", NET]
UCX = ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca",
       "opal_common_ucx_devices", "any"]
IDLE = {"OMPI_MCA_mpi_yield_when_idle": "1"}
YIELD = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
         "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1"}
WAYS = {  # library, words, environment
    "mltp": ("tmpi", [], TCP),
    "mltp-pinned": ("tmpi", [], TCP),
    "openmpi-tcp": ("openmpi", OB1, {}),
    "openmpi-tcp-pinned": ("openmpi", OB1, {}),
    "openmpi-tcp-yield": ("openmpi", OB1, IDLE),
    "openmpi-ucx": ("openmpi", UCX, UCX_AND_SELF),
    "openmpi-ucx-pinned": ("openmpi", UCX, UCX_AND_SELF),
    "openmpi-ucx-yield": ("openmpi", UCX, UCX_AND_SELF | IDLE),
    "mpich": ("mpich", [], UCX_AND_SELF),
    "mpich-pinned": ("mpich", [], UCX_AND_SELF),
    "mpich-yield": ("mpich", [], UCX_AND_SELF | YIELD)}


PEERS = {"openmpi": "Open MPI", "mpich": "MPICH"}


def on_its_own_cpu(program):
    """The launchers of two nodes would pin both ranks to the first CPU of this machine."""
    cpus = sorted(os.sched_getaffinity(0))
    number = f"$((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % {len(cpus)} + 1))"
    cpu = f'$(echo {" ".join(map(str, cpus))} | cut -d " " -f {number})'
    return ["sh", "-c", f'exec taskset -c {cpu} "$0" "$@"', *program]


def command(network, build, way, ranks, words):
    """The words that start a program, and their environment."""
    library, options, settings = WAYS[way]
    program = [str(build / f"libexec/mltp/mpi/{words[0]}.{library}"), *words[1:]]
    if library == "tmpi":
        program = [str(build / "bin/tmpirun"), "-n", str(ranks), *program]
    if way.endswith("-pinned"):
        program = on_its_own_cpu(program)
    agent, nodes = str(network.folder / "agent"), ["10.77.0.1", "10.77.0.2"]
    each = ranks // len(nodes) if library != "tmpi" else 1
    if library == "mpich":
        return ["mpiexec.mpich", "-launcher", "rsh", "-launcher-exec", agent, "-localhost", "10.77.0.254", "-hosts",
                ",".join(f"{node}:{each}" for node in nodes), "-n", str(ranks), *program], settings
    exported = [word for name in settings for word in ("-x", name)]
    return ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--host",
            ",".join(f"{node}:{each}" for node in nodes), "-n", str(each * len(nodes)), "--mca", "plm_rsh_agent", agent,
            "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "oob_tcp_if_include", NET, "--mca",
            "mpi_yield_when_idle", "1" if "yield" in way else "0",
            *options, *exported, *program], settings


def processes():
    """The numbers of all processes in this namespace."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def end_leftovers(before):
    """Ends what a job has left behind on the nodes, or it would take the next runs' CPUs. This is process 1 of its namespace,
    which orphans come to."""
    for number in processes() - before:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass


def run(network, build, way, row, limit):
    """One run: its figure, or why there is none."""
    _, ranks, words, key, scale = row
    line, settings = command(network, build, way, ranks, words.split())
    before = processes()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        job = subprocess.Popen(line, env=os.environ | settings, stdout=out, stderr=errors, text=True,
                               stdin=subprocess.DEVNULL, cwd=build)  # all nodes have this folder
        try:
            status = job.wait(limit)
        except subprocess.TimeoutExpired:
            job.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(10)
            job.kill()
            job.wait()
            end_leftovers(before)
            return None, f"over {limit} s"
        out.seek(0)
        errors.seek(0)
        found = re.search(r"^\{.*\}$", out.read(), re.M)
        last = (errors.read().strip().splitlines() or [""])[-1]
    if status != 0 or not found:
        return None, f"status {status}: {last[:100]}"
    answer = json.loads(found[0])
    return (answer[key] * scale, "") if answer["verified"] else (None, "its answer is wrong")


def measure(network, build, rows, ways, runs, limit):
    """Yields each row with the figures of each way, and what went wrong."""
    for row in rows:
        crowded = row[1] > len(os.sched_getaffinity(0))
        figures = {way: [] for way in ways if way == "mltp" or way.endswith("-yield") == crowded}
        faults = {}
        for _ in range(runs):
            for way in figures:
                if faults.get(way, "").startswith("over"):
                    continue  # it would only take the others' time
                value, why = run(network, build, way, row, limit)
                if why:
                    faults[way] = why
                else:
                    figures[way].append(value)
        yield row[0], figures, faults


def best_way(figures, faults, library):
    """The setting of a library with the least minimum, and its figures; or none, and why."""
    ways = [way for way, values in figures.items() if WAYS[way][0] == library and values]
    if ways:
        way = min(ways, key=lambda name: min(figures[name]))
        return way, figures[way]
    whys = [why for way, why in faults.items() if WAYS[way][0] == library]
    return None, whys[0] if whys else "not there"


def verdict(figures, faults):
    """How we compare with the best setting of each library, by minimum and median (bench/harness/stats.h), or by all runs."""
    said = []
    way, ours = best_way(figures, faults, "tmpi")
    if way is None:
        return f"failed: {ours}"
    for library in PEERS:
        way, best = best_way(figures, faults, library)
        if way is None:
            said.append(f"{library}: {best}")
            continue
        spread = max(statistics.median(values) - min(values) for values in (ours, best))
        differences = [min(best) - min(ours), statistics.median(best) - statistics.median(ours)]
        ahead = min(differences) > spread or max(ours) < min(best)
        behind = max(differences) < -spread or max(best) < min(ours)
        word = "ahead of" if ahead else "behind" if behind else "even with"
        said.append(f"{word} {library} ({min(best) / min(ours):.2f})")
    return ", ".join(said)


def print_row(name, figures, faults):
    print(f"{name}\n    {verdict(figures, faults)}")
    for way, values in figures.items():
        if values:
            print(f"    {way:20} {min(values):12.2f} {statistics.median(values):12.2f} {max(values):12.2f}")
        if way in faults:
            print(f"    {way:20} {faults[way]}")
    sys.stdout.flush()


def cells(figures, faults, library):
    way, best = best_way(figures, faults, library)
    if way is None:
        return [f"{best}", "", "", ""]
    setting = way.partition("-")[2] or "as it comes"
    return [*(f"{value:.4g}" for value in (min(best), statistics.median(best), max(best))), setting]


def page(kept, facts):
    """A page of docs/measurements."""
    tables = [["row", *(f"{name}: {word}" if word == "min" else word for name in ["ours", *PEERS.values()]
                        for word in ["min", "median", "max", "setting"]), "verdict"]]
    tables.append(["---"] * len(tables[0]))
    for name, row in kept.items():
        tables.append([name, *(cell for library in ["tmpi", *PEERS] for cell in cells(row["figures"], row["faults"], library)),
                       row["verdict"]])
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->",
             "<!-- Written by ./dev bench-nodes --page. Measure again instead of editing. -->",
             "# MPI: two nodes", "",
             "`./dev bench-nodes --page FILE` measures programs on two nodes of one machine, joined by a bridge, and writes this page. "
             "All libraries use TCP over the same links. Runs of all settings alternate, and of each library the setting with the "
             "least minimum stands here. In brackets: the other's minimum over ours.", "",
             "| measured on |  |", "| --- | --- |", *(f"| {name} | {fact} |" for name, fact in facts.items()), "",
             *("| " + " | ".join(row) + " |" for row in tables), ""]
    return "\n".join(lines)


def facts_of(runs, limit, load):
    """Where and how it was measured."""
    here = store.identity(pathlib.Path(__file__), False)
    versions = [(store.command_output(*command) or "absent").splitlines()[0]
                for command in (["mpirun.openmpi", "--version"], ["mpichversion"], ["ucx_info", "-v"])]
    return {"processor": f"{here['cpu']}, {here['cpus']} CPUs", "kernel": f"Linux {here['kernel']}", "commit": here["commit"],
            "peers": "; ".join(versions), "runs of each setting": f"{runs}, of at most {limit} s",
            "load at the begin": load, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", default="", help="only rows whose name has this regular expression")
    parser.add_argument("--ways", default=",".join(WAYS), help="the default is all: %(default)s")
    parser.add_argument("--timeout", type=int, default=60, help="seconds that a run may take")
    parser.add_argument("--page", type=pathlib.Path, help="writes a page of Markdown to this file")
    parser.add_argument("--json", type=pathlib.Path, help="writes all figures to this file")
    args = parser.parse_args()
    args.build = args.build.resolve()
    if not shutil.which("mpirun.openmpi"):
        check_nodes.skip("no mpirun of Open MPI (openmpi-bin)")
    if pathlib.Path("/tmp") in args.build.parents:
        check_nodes.skip("each node has a /tmp of its own, and the build is in /tmp (build elsewhere)")
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    ways = [way for way in args.ways.split(",") if (args.build / f"libexec/mltp/mpi/single.{WAYS[way][0]}").exists()]
    rows = [row for row in ROWS if re.search(args.rows, row[0])]
    kept = {}
    load = pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()[0]
    print("minimum, median and maximum; in brackets the other's minimum over ours")
    with tempfile.TemporaryDirectory(dir=args.build) as folder:
        network = check_nodes.Network(pathlib.Path(folder))
        try:
            network.add()
            network.add()
            for name, figures, faults in measure(network, args.build, rows, ways, args.runs, args.timeout):
                print_row(name, figures, faults)
                kept[name] = {"figures": figures, "faults": faults, "verdict": verdict(figures, faults)}
        finally:
            network.close()
    if args.page:
        args.page.write_text(page(kept, facts_of(args.runs, args.timeout, load)), encoding="utf-8")
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()

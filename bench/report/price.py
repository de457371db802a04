# SPDX-License-Identifier: Apache-2.0
"""Rows `price` of compare.py: what a whole job of ranks costs, its start and its end included.

Each of two builds gets the programs of this tree, compiled by its own tmpicc: only libraries and tmpirun differ.
"""
import json
import os
import pathlib
import subprocess

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "mpi/programs"
SOURCES = {"single": ["single.c", "measure.c"], "cg": ["cg.c"]}
CPU = None  # the key of a row that is CPU time of the whole job
# The name, the ranks, the options of tmpirun, the program's words, the key of its JSON, the unit, and the factor.
ROWS = [
    ("start and end, CPU", 64, [], ["single", "start", "0", "1"], CPU, "ms", 1e3),
    ("start and end, CPU", 1024, [], ["single", "start", "0", "1"], CPU, "ms", 1e3),
    ("memory of a rank", 64, [], ["single", "memory", "0", "1"], "rank_bytes", "kB", 1e-3),
    ("memory of a rank", 1024, [], ["single", "memory", "0", "1"], "rank_bytes", "kB", 1e-3),
    ("latency, 8 bytes, one VP", 2, ["--vps=1"], ["single", "latency", "8"], "wall_ns", "us", 1e-3),
    ("latency, 8 bytes", 2, ["--vps=2"], ["single", "latency", "8"], "wall_ns", "us", 1e-3),
    ("latency, 8 bytes, CPU", 2, ["--vps=2"], ["single", "latency", "8"], "cpu_ns", "us", 1e-3),
    ("conjugate gradients, CPU", 16, ["--vps=2"], ["cg", "192"], CPU, "ms", 1e3),
    ("conjugate gradients, CPU", 64, ["--vps=2"], ["cg", "192"], CPU, "ms", 1e3),
]


class Failure(Exception):
    """Something was not built, or a run is none."""


def build(bench, folder, sources_of=None, options=("-O3", "-march=native")):
    """Compiles programs by the tmpicc beside a mltp-bench. Returns what measure() needs."""
    bin_folder = pathlib.Path(bench).parent
    folder.mkdir(parents=True, exist_ok=True)
    for program, sources in (sources_of or SOURCES).items():
        command = [bin_folder / "tmpicc", *options, "-g", *(PROGRAMS / source for source in sources), "-o",
                   folder / program, "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}") from error
        if done.returncode != 0:
            raise Failure(f"{command[0]} failed: {done.stderr}")
    return bin_folder / "tmpirun", folder


def run(command):
    """Returns the line of JSON that a job printed, and its CPU time in seconds."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        text = job.stdout.read()
        _, status, usage = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if job.returncode != 0 or len(lines) != 1 or not json.loads(lines[0])["verified"]:
        raise Failure(f"{' '.join(map(str, command))} ended with {job.returncode} and printed {text!r}")
    return json.loads(lines[0]), usage.ru_utime + usage.ru_stime


def measure(built):
    """One run of each row. Returns {row: (value, unit)} as compare.measure() does."""
    tmpirun, folder = built
    values = {}
    for name, ranks, options, (program, *words), key, unit, factor in ROWS:
        line, seconds = run([tmpirun, *options, "-n", str(ranks), folder / program, *words])
        values[name, f"{ranks} ranks"] = ((seconds if key is CPU else line[key]) * factor, unit)
    return values

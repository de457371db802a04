# SPDX-License-Identifier: Apache-2.0
"""The plan of ./dev bench: which experiments run, with what, for how long."""
import dataclasses

VPS = "1,2,4,8"  # as in the thesis; more than most machines have CPUs


@dataclasses.dataclass(frozen=True)
class Step:
    """One call of mltp-bench, or of another program of its folder, whose results go into one file."""
    name: str
    experiment: str
    about: str
    full: str  # arguments after the experiment
    quick: str
    seconds: tuple[int, int]  # what it takes, full and quick, until a run has shown better
    environment: dict = dataclasses.field(default_factory=dict)
    labels: dict = dataclasses.field(default_factory=dict)  # added to each of its rows
    planned: bool = True  # False: runs only when it is named
    inputs: tuple = ()  # steps whose rows the model reads; empty: a step of mltp-bench
    program: str = ""  # one that writes JSON to its standard output; empty: mltp-bench

    def arguments(self, quick):
        own = (self.quick if quick else self.full).split()
        return own if self.program else [self.experiment, *own]


def ocean(name, about, lock, impl="mltp-thesis", **environment):
    impls = f"--impl {impl},mltp-kernel,pthreads"
    return Step(name, "ocean", about, f"--vps {VPS} --runs 5 {impls}",
                f"--vps {VPS} --runs 2 --quick {impls}", (120, 6), {"MLTP_LOCK": lock, **environment},
                {"lock": lock, "crowded": bool(environment)})


def rows(experiment, about, seconds, quick="--quick --runs 2", full=""):
    """An experiment that is a selection of single operations."""
    return Step(experiment, experiment, about, full, quick, seconds)


DK_MODES = "experiment modes --pair auto --json --copies 2"
DK_PAIRS = "experiment hybrid --pair auto --json --copies 2"

STEPS = (
    rows("switch", "context switches", (110, 20), "--quick --runs 2 --threads 2,1000"),
    Step("switch-probe", "switch", "the probe of a VP's grant", "--probe --impl mltp,pthreads",
         "--probe --impl mltp,pthreads --quick --runs 2", (20, 4)),
    rows("forkjoin", "creating, forking and joining threads", (20, 3)),
    rows("fib", "a tree of threads", (40, 5)),
    rows("recursion", "recursive programs at three sizes", (400, 12), full="--runs 3 --impl mltp,massivethreads,argobots"),
    Step("growth", "growth", "what one thing costs beside n others", "", "--quick --runs 2", (60, 6)),
    rows("mutex", "a mutex", (50, 5), "--quick --runs 2 --threads 1,8,64"),
    rows("handshake", "handshakes on one VP", (10, 2)),
    rows("roundtrip", "round trips across VPs", (15, 3)),
    rows("barrier", "barriers", (120, 20), "--quick --runs 2 --threads 64,1000"),
    rows("sleep", "a thread that sleeps again and again", (25, 3)),
    rows("memory", "memory of blocked threads", (90, 15), "--quick --runs 1", "--runs 3"),
    Step("pi", "pi", "pi by the rectangle rule", f"--vps {VPS}", f"--vps {VPS} --quick",
         (40, 2)),
    Step("matmul-dynamic", "matmul", "matrix product, tiles taken under a lock",
         f"--vps {VPS},16", f"--vps {VPS},16 --quick", (30, 2)),
    Step("matmul-fixed", "matmul", "matrix product, tiles shared out",
         f"--schedule fixed --vps {VPS}", f"--schedule fixed --vps {VPS} --quick", (30, 2)),
    ocean("ocean-reactive", "the ocean, our barrier", "reactive", "mltp"),
    ocean("ocean-spin", "the ocean, the thesis's barrier on spin locks", "spin"),
    ocean("ocean-semaphore", "the ocean, the thesis's barrier on semaphore locks", "semaphore"),
    ocean("ocean-spin-crowded", "the same on spin locks, more VPs awake than CPUs", "spin",
          MLTP_OVERSUBSCRIBE="1"),
    Step("lifecycle", "lifecycle", "ways to manage threads", "", "--quick", (150, 20)),
    Step("latency", "latency", "cost of a thread against runnable threads", "", "--quick",
         (60, 10)),
    Step("sim", "sim", "SpecC models on three backends", "", "--quick", (60, 4)),
    Step("spin", "spin", "ways to wait for a lock", "", "--quick", (120, 7)),
    Step("calibrate", "calibrate", "what the model must know of the machine", "", "--quick",
         (30, 3)),
    Step("model", "model", "the queueing model", "", "", (5, 5), inputs=("calibrate", "lifecycle")),
    Step("mpi", "mpi", "MPI: messages, collectives, start, memory", "--runs 3 --timeout 20",
         "--quick --runs 1 --timeout 10 --impl tmpi,one-to-one,openmpi", (600, 30)),
    Step("mpi-growth", "mpi-growth", "MPI: what one thing costs beside n others", "--runs 3 --timeout 20", "--quick --runs 1 --impl tmpi",
         (400, 20), planned=False),
    Step("mpi-load", "mpi-load", "the same, quiet and beside programs that compute", "--quick --runs 11",
         "--quick --runs 2", (35, 6)),
    Step("mpi-programs", "mpi-programs", "MPI programs", "--quick --runs 3 --timeout 20",
         "--quick --runs 1 --timeout 10 --impl tmpi,one-to-one,openmpi", (700, 40)),
    Step("mpi-wait", "mpi-wait", "MPI programs, ways to wait", "", "--quick --runs 1", (170, 20)),
    Step("io", "io", "echo servers at 1 to 10,000 connections", "--runs 3", "--quick", (45, 5)),
    Step("systemc", "systemc", "SystemC, with our coroutine package and its own", "", "--quick",
         (40, 5)),
    Step("dk-modes", "dk", "copies of programs, modes of a core", f"{DK_MODES} --runs 3 --programs fp,integer,branchy,cache",
         f"{DK_MODES} --runs 1 --programs fp,integer", (18, 4), program="dkctl"),
    Step("dk-hybrid", "dk", "pairs of programs, each in its best mode", f"{DK_PAIRS} --runs 2 --programs fp,integer,branchy,cache",
         f"{DK_PAIRS} --runs 1 --programs fp,integer", (24, 5), program="dkctl"),
    Step("workload", "workload", "six MPI jobs launched one after the other, with mltpd and without", "", "--quick",
         (900, 60), planned=False),
    Step("copies", "copies", "copies of the ocean at the same time, with mltpd and without", "", "--quick", (120, 4),
         planned=False),
    Step("foreign", "foreign", "programs that were not written for us, with mltpd and without", "", "--quick", (150, 15),
         planned=False),
    Step("micro", "micro", "all single operations, as one table", "", "--quick", (150, 40),
         planned=False),
)

BUDGET = (3840, 300)  # seconds a whole run may take, full and quick

# SPDX-License-Identifier: Apache-2.0
"""dkctl experiment: the thesis's tests for any program, and what moving softirqs is worth.

modes: copies of a program in each mode, with and without network load (thesis 4.2, Figure 4.1).
hybrid: two programs one after the other, both in one mode or each in its own best mode (thesis 4.3).
displacement: a job beside a flood of packets whose softirqs arrive on the job's CPU; then hostplan moves them.

The network peer lives on this machine, in a namespace. It runs on the kernel CPU, and stands for another
machine. The device's packets arrive where an interrupt of its would: RPS says where.
"""
import contextlib
import itertools
import json
import statistics

from . import advise, apply, drive, hostplan, network, roles as roles_module, snapshot
from .cpus import format_mask, number
from .refusal import Refusal

RPS = f"/sys/class/net/{network.NEAR}/queues/rx-0/rps_cpus"


def add_command(commands):
    """Adds the command to dkctl's."""
    one = commands.add_parser("experiment", help="the thesis's tests: copies of a program, modes, network load")
    one.add_argument("what", choices=("modes", "hybrid", "displacement"), help="which test")
    one.add_argument("--copies", default="2,3,4", metavar="N,...", help="numbers of copies (%(default)s)")
    one.add_argument("--runs", type=number, default=3, metavar="N", help="runs of each case (%(default)s)")
    one.add_argument("--pair", metavar="USER,KERNEL", help="two CPUs that stand for siblings, where there is no SMT; auto: choose them")
    one.add_argument("--programs", default=",".join(advise.BUILT_IN), metavar="NAME,...",
                     help="which of the built-in programs (%(default)s)")
    one.add_argument("--net", action="store_true", help="modes: also with network load (needs root)")
    one.add_argument("--json", action="store_true", help="as JSON")
    one.epilog = "A command and its arguments may follow after --."


def arrivals(mode, group):
    """The CPUs on which packets arrive in a mode: as an interrupt's default, or as hostplan steers it."""
    return {"up": {group[0]}, "smt": set(group), "dk": {group[-1]}}[mode]


@contextlib.contextmanager
def traffic(session, mode, group, loads):
    """The thesis's client and server (4.1): small requests come in, large blocks go out."""
    with network.Peer() as peer:
        session.host.write(RPS, format_mask(arrivals(mode, group)))
        server = peer.start([str(loads), "serve", network.NEAR_ADDRESS], group[0], inside=False)
        client = peer.start([str(loads), "fetch", network.NEAR_ADDRESS], group[-1])
        try:
            yield
        finally:
            for process in (client, server):
                process.kill()
                process.wait()


def parse_copies(text):
    """The numbers of copies of --copies."""
    try:
        counts = [number(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or not all(1 <= n <= 1000 for n in counts):
        raise Refusal(f"copies '{text}'", "it is no list of numbers from 1 to 1000", "write --copies 2,3,4", 2)
    return counts


def built_in(options, loads):
    """The built-in programs that are wanted: name -> command."""
    names = options.programs.split(",")
    if not set(names) <= set(advise.BUILT_IN):
        raise Refusal(f"programs '{options.programs}'", "it names one that is not built in",
                      f"choose from {','.join(advise.BUILT_IN)}", 2)
    return {name: [str(loads), name] for name in names}


def named(options):
    """The user's program, if there is one: name -> command."""
    return {options.words[0]: advise.checked(options.words)} if options.words else {}


def modes(session, options, loads, group):
    """Rows of the test of modes, cases interleaved."""
    rows = []
    for name, command in (named(options) or built_in(options, loads)).items():
        for copies in parse_copies(options.copies):
            cases = {(mode, net): [] for net in ([False, True] if options.net else [False]) for mode in advise.MODES}
            for _ in range(options.runs):
                for (mode, net), runs in cases.items():
                    with traffic(session, mode, group, loads) if net else contextlib.nullcontext():
                        runs.append(drive.run(command, copies, advise.user_cpus(mode, group)))
            rows += [{"program": name, "copies": copies, "mode": mode, "net": net,
                      "ttc": [r.ttc for r in runs], "mean": [r.mean for r in runs]}
                     for (mode, net), runs in cases.items()]
    return rows


def hybrid(_, options, loads, group):
    """Rows of pairs of programs: sums of their medians in each mode, and the pair run anew, each program in its best
    mode. A named program is paired with each built-in one."""
    own, copies = named(options), parse_copies(options.copies)[-1]
    programs = own | built_in(options, loads)
    times = {(name, mode): [] for name in programs for mode in advise.MODES}
    for _ in range(options.runs):
        for (name, mode), values in times.items():
            values.append(drive.run(programs[name], copies, advise.user_cpus(mode, group)).ttc)
    median = {case: statistics.median(values) for case, values in times.items()}
    best = {name: min(advise.MODES, key=lambda mode, name=name: median[name, mode]) for name in programs}
    pairs = [pair for pair in itertools.combinations(programs, 2) if not own or pair[0] in own]
    measured = {pair: [] for pair in pairs}
    for _ in range(options.runs):
        for pair, values in measured.items():
            values.append(sum(drive.run(programs[name], copies, advise.user_cpus(best[name], group)).ttc for name in pair))
    return [{"programs": pair, "copies": copies, "best": [best[name] for name in pair],
             "static": {mode: sum(median[name, mode] for name in pair) for mode in advise.MODES},
             "projected": sum(median[name, best[name]] for name in pair), "measured": measured[pair]} for pair in pairs]


def displacement(session, options, loads, group):
    """Rows of the softirq test: undisturbed, flooded, and flooded with the softirqs moved."""
    user, kernel = group[0], group[-1]
    command = advise.checked(options.words) if options.words else [str(loads), "fp"]
    times = {"undisturbed": [], "flooded": [], "moved": []}
    by_cpu = {cpu: "any" for cpu in session.topology.online} | {user: "user", kernel: "kernel"}
    roles = roles_module.Roles(tuple(sorted(by_cpu.items())))
    with network.Peer() as peer:
        session.host.write(RPS, format_mask({user}))
        plan = hostplan.make(session.topology, roles, snapshot.read(session.host), only_net=network.NEAR)
        entries = [(w.target, w.old, w.undo, w.new) for w in plan.writes]
        for _ in range(options.runs):
            times["undisturbed"].append(drive.run(command, 1, {user}).ttc)
            flood = peer.start([str(loads), "flood", network.NEAR_ADDRESS], kernel)
            try:
                times["flooded"].append(drive.run(command, 1, {user}).ttc)
                apply.apply(session.host, plan.writes)
                times["moved"].append(drive.run(command, 1, {user}).ttc)
                apply.restore(session.host, entries)
            finally:
                flood.kill()
                flood.wait()
    return [{"case": case, "ttc": values} for case, values in times.items()]


def show(options, rows):
    """Prints rows for people."""
    if options.what == "displacement":
        base = [statistics.median(rows[0]["ttc"]), min(rows[0]["ttc"])]
        print(f"{'case':<14}{'median s':>10}{'min s':>10}  of undisturbed: median, min")
        for row in rows:
            mine = [statistics.median(row["ttc"]), min(row["ttc"])]
            print(f"{row['case']:<14}{mine[0]:>10.3f}{mine[1]:>10.3f}"
                  f"{mine[0] / base[0]:>26.3f}{mine[1] / base[1]:>7.3f}")
        return
    if options.what == "hybrid":
        columns = "".join(f"{mode:>9}" for mode in advise.MODES)
        print(f"{'first':<10}{'second':<10}{'best':<9}{columns}{'projected':>11}{'measured':>10}  of the best single mode")
        for row in rows:
            static, mine = row["static"], statistics.median(row["measured"])
            print(f"{row['programs'][0]:<10}{row['programs'][1]:<10}{'+'.join(row['best']):<9}"
                  + "".join(f"{static[mode]:>9.3f}" for mode in advise.MODES)
                  + f"{row['projected']:>11.3f}{mine:>10.3f}{mine / min(static.values()):>8.3f}")
        return
    print(f"{'program':<12}{'copies':>7}  {'mode':<5}{'network':<9}{'TTC min':>9}{'median':>9}{'max':>9}")
    for row in rows:
        times = row["ttc"]
        print(f"{row['program']:<12}{row['copies']:>7}  {row['mode']:<5}{'load' if row['net'] else '-':<9}"
              f"{min(times):>9.3f}{statistics.median(times):>9.3f}{max(times):>9.3f}")


def command(session, options, loads):
    """dkctl experiment."""
    if not 1 <= options.runs <= 1000:
        raise Refusal("experiment", "runs is a number from 1 to 1000", "see dkctl experiment --help", 2)
    parse_copies(options.copies)
    group = advise.group_of(session, options.pair)
    rows = {"modes": modes, "hybrid": hybrid, "displacement": displacement}[options.what](session, options, loads, group)
    if options.json:
        print(json.dumps({"cpus": list(group), "smt": tuple(group) in session.topology.cores, "rows": rows}, indent=1))
    else:
        show(options, rows)
    return 0

# SPDX-License-Identifier: Apache-2.0
"""dkctl advise: short samples of a command in each mode, side by side (thesis 5.1.4)."""
import json
import pathlib

from . import drive, roles as roles_module
from .counters import Counters
from .cpus import number
from .refusal import Refusal

BUILT_IN = ("fp", "integer", "branchy", "cache", "memory", "mixed")
MODES = ("up", "smt", "dk")
EVEN = 0.03  # modes closer than this are called even unless their runs agree better


def add_command(commands):
    """Adds the command to dkctl's."""
    one = commands.add_parser("advise", help="run samples of a command in each mode, and compare their times")
    one.add_argument("--copies", type=number, default=2, metavar="N", help="copies at the same time (%(default)s)")
    one.add_argument("--runs", type=number, default=3, metavar="N", help="samples of each mode (%(default)s)")
    one.add_argument("--pair", metavar="USER,KERNEL", help="two CPUs that stand for siblings, where there is no SMT; auto: choose them")
    one.add_argument("--built-in", action="store_true", help="sample the six built-in programs")
    one.add_argument("--system", action="store_true",
                     help="change the machine's mode for each sample, in place of the copies' affinity alone")
    one.add_argument("--json", action="store_true", help="as JSON")
    one.epilog = "A command and its arguments may follow after --."


def programs_of(options, loads):
    """The programs to sample: name -> command."""
    if options.built_in == bool(options.words):
        raise Refusal("advise", "one of --built-in and a command is wanted", "write dkctl advise -- COMMAND", 2)
    if not 1 <= options.copies <= 1000 or not 1 <= options.runs <= 1000:
        raise Refusal("advise", "copies and runs are numbers from 1 to 1000", "see dkctl advise --help", 2)
    if options.built_in:
        if not pathlib.Path(loads).exists():
            raise Refusal(f"program {loads}", "it is not found", "build or install dk-load", 1)
        return {name: [str(loads), name] for name in BUILT_IN}
    return {pathlib.Path(options.words[0]).name: checked(options.words)}


def checked(words):
    """A command that exists, or a refusal."""
    import shutil
    if not shutil.which(words[0]):
        raise Refusal(f"program {words[0]}", "it is not found", "check its name, or give a path", 2)
    return words


def group_of(session, pair):
    """The CPUs that samples run on: the pair, or the first core with siblings; "auto": that, or two CPUs."""
    if pair and pair != "auto":
        return roles_module.parse_pair(pair, session.topology)
    for core in session.topology.cores:
        if len(core) > 1:
            return core
    if pair and len(session.topology.online) > 1:
        return tuple(sorted(session.topology.online)[:2])
    raise Refusal("advise", "this machine has no SMT", "two CPUs can be a user/kernel pair: --pair 0,1"
                  if len(session.topology.online) > 1 else "a machine of one CPU has nothing to divide")


def user_cpus(mode, group):
    """The CPUs of a group that user tasks have in a mode."""
    return {group[0]} if mode in ("up", "dk") else set(group)


def sample(session, command, copies, mode, group, system):
    """One sample: (TTC in seconds, instructions per cycle or None)."""
    counters = Counters()
    if not system:
        return drive.run(command, copies, user_cpus(mode, group)).ttc, counters.ipc()
    pair = group if group not in session.topology.cores else None
    roles = roles_module.assign(session.topology, mode, None if pair else ",".join(map(str, group)), pair)
    session.change(roles, "auto")
    try:
        return drive.run(command, copies, set(group)).ttc, counters.ipc()
    finally:
        session.restore()


def best_of(times):
    """The mode with the smallest minimum, or "even": its lead is within the spread of the runs."""
    ordered = sorted(times, key=lambda mode: min(times[mode]))
    first, second = ordered[:2]
    lead = min(times[second]) / min(times[first]) - 1
    spread = max(sorted(t)[len(t) // 2] / min(t) - 1 for t in (times[first], times[second]))
    return f"even ({first}, {second})" if lead <= max(EVEN, spread) else first


def measure(session, options, loads):
    """All samples, modes interleaved: rows of {program, mode, times, ipc}."""
    group, rows = group_of(session, options.pair), []
    for name, command in programs_of(options, loads).items():
        times, ipcs = {mode: [] for mode in MODES}, {mode: [] for mode in MODES}
        for _ in range(options.runs):
            for mode in MODES:
                ttc, ipc = sample(session, command, options.copies, mode, group, options.system)
                times[mode].append(ttc)
                ipcs[mode] += [ipc] if ipc else []
        rows.append({"program": name, "copies": options.copies, "seconds": times,
                     "ipc": {m: max(v) for m, v in ipcs.items() if v}, "best": best_of(times)})
    return group, rows


def command(session, options, loads):
    """dkctl advise."""
    programs_of(options, loads)
    session.load()
    if options.system:
        session.check_permission()
        if session.journal.session:
            raise Refusal("advise --system", "a mode is in force", "run dkctl restore first")
    group, rows = measure(session, options, loads)
    if options.json:
        print(json.dumps({"cpus": list(group), "smt": tuple(group) in session.topology.cores,
                          "system": options.system, "rows": rows}, indent=1))
        return 0
    print(f"CPUs {group[0]},{group[-1]}: "
          + ("SMT siblings" if tuple(group) in session.topology.cores else "two cores that stand for siblings")
          + ("" if options.system else "; the copies' affinity makes the mode, so dk without --system is as up"))
    print(f"{'program':<12}{'copies':>7}" + "".join(f"{mode + ' s':>10}" for mode in MODES) + "  best")
    for row in rows:
        print(f"{row['program']:<12}{row['copies']:>7}"
              + "".join(f"{min(row['seconds'][mode]):>10.3f}" for mode in MODES) + f"  {row['best']}")
        if row["ipc"]:
            print(f"{'':<12}{'per cycle':>7}" + "".join(f"{row['ipc'].get(m, 0):>10.2f}" for m in MODES))
    return 0

# SPDX-License-Identifier: Apache-2.0
"""dkctl's command line."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

from . import advise, cpus, experiment, journal, roles as roles_module, status
from .host import Host
from .refusal import Refusal
from .session import BACKENDS, Session, default_state

EPILOG = "exit status: 0 done, 1 refused or failed (a message says why), 2 wrong usage; run: that of COMMAND"


COMMAND_EPILOG = "The command and its arguments follow after --."


def add_roles(parser, mode=True):
    """The options that say which CPUs get which roles."""
    if mode:
        parser.add_argument("--mode", choices=roles_module.MODES, help="the mode of the chosen cores")
    parser.add_argument("--cores", metavar="CPUS", help="the cores that have these CPUs (all that have siblings)")
    parser.add_argument("--pair", metavar="USER,KERNEL", help="two CPUs that stand for siblings, where there is no SMT")
    parser.add_argument("--role", metavar="CPUS=ROLE,...", help="roles of single CPUs: any, user, kernel, off")


def add_steering(parser):
    """The options that say how a plan is made and carried out."""
    parser.add_argument("--backend", choices=BACKENDS, default="auto",
                        help="scx: the BPF scheduler; fallback: affinities and CPU sets; auto: scx if it works")
    parser.add_argument("--threaded-napi", action="store_true", help="make network polling kernel threads")
    parser.add_argument("--net", metavar="DEVICE", help="steer this network device, and nothing else")


def add_scheduler(parser):
    """The options of the BPF scheduler."""
    parser.add_argument("--class", dest="kernel_class", choices=("kthread", "mm"), default="kthread",
                        help="kernel tasks are those flagged as kernel threads, or those without an mm (thesis)")
    parser.add_argument("--epoch-ms", type=cpus.number, default=40, metavar="N", help="length of an epoch of mode hybrid")
    parser.add_argument("--fault", choices=("stall",), help="let the scheduler fail so, to see the kernel eject it")


def make_parser(version):
    """The whole command line."""
    parser = argparse.ArgumentParser(prog="dkctl", epilog=EPILOG,
                                     description="Gives the SMT siblings of cores to user tasks, kernel tasks, or both.")
    parser.add_argument("--version", action="version", version=f"dkctl {version}")
    parser.add_argument("--state", default=default_state(), metavar="FOLDER", help="journal and socket (%(default)s)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser("status", help="say what is in force, what could not be moved, why a scheduler left")
    one.add_argument("--json", action="store_true", help="as JSON")
    one = commands.add_parser("plan", help="print every write of a change, and make none")
    one.add_argument("mode", nargs="?", choices=roles_module.MODES, help="the mode of the chosen cores")
    one.add_argument("--json", action="store_true", help="as JSON")
    add_roles(one, mode=False)
    add_steering(one)
    one = commands.add_parser("mode", help="change the mode of cores, until dkctl restore")
    one.add_argument("mode", nargs="?", choices=roles_module.MODES, help="the mode of the chosen cores")
    for add in (add_roles, add_steering, add_scheduler):
        add(one, **({"mode": False} if add is add_roles else {}))
    one = commands.add_parser("run", help="change modes while a command runs")
    for add in (add_roles, add_steering, add_scheduler):
        add(one)
    one.add_argument("--prefer", choices=("dk", "smt"), help="in mode hybrid, run COMMAND in epochs of this mode")
    one.epilog = COMMAND_EPILOG
    one = commands.add_parser("restore", help="put everything back as it was before dkctl")
    one.add_argument("--forget", action="store_true", help="remove a journal that cannot be used, change nothing")
    one.add_argument("--settings", action="store_true", help="the settings only: the scheduler has left")
    advise.add_command(commands)
    experiment.add_command(commands)
    return parser


def wanted_roles(session, options):
    """The roles that the options ask for."""
    if not (options.mode or options.role):
        raise Refusal(options.command, "neither a mode nor roles are given",
                      f"name one of {', '.join(roles_module.MODES)}, or use --role", 2)
    if options.pair and options.cores:
        raise Refusal("--pair and --cores", "both say which CPUs", "use one of them", 2)
    topology = session.topology
    pair = roles_module.parse_pair(options.pair, topology) if options.pair else None
    if options.mode not in (None, "smt") and not topology.smt and not pair:
        raise Refusal(f"mode {options.mode}", "this machine has no SMT, so its cores cannot be divided",
                      "two CPUs can be a user/kernel pair: --pair 0,1" if len(topology.online) > 1
                      else "a machine of one CPU has nothing to divide")
    if options.net and options.net not in session.host.names("/sys/class/net"):
        raise Refusal(f"device {options.net}", "there is no such network device", "see /sys/class/net", 2)
    return roles_module.assign(topology, options.mode, options.cores, pair, options.role, session.base_roles())


def scheduler_options(options):
    """The arguments of dk-sched that the options ask for."""
    if not 1 <= options.epoch_ms <= 10000:
        raise Refusal(f"epoch of {options.epoch_ms} ms", "it is outside of 1 to 10000", "choose --epoch-ms 40", 2)
    given = ["--class", options.kernel_class, "--epoch-ms", str(options.epoch_ms)]
    return given + (["--fault", options.fault] if options.fault else [])


def show_plan(plan, out=None):
    """Prints a plan for people."""
    for write in plan.writes:
        print(f"{write.target}: '{write.old}' -> '{write.new}'  # {write.why}", file=out)
    for text in plan.fixed:
        print(f"not moved: {text}", file=out)
    if plan.explicit:
        print(f"kept: {plan.explicit} with an affinity of their own, which leaves no other CPU", file=out)


def command_plan(session, options):
    """dkctl plan."""
    roles = wanted_roles(session, options)
    backend, why = session.choose_backend(options.backend)
    plan, _ = session.plan(roles, backend, options.threaded_napi, options.net)
    if options.json:
        print(json.dumps({"backend": backend, "roles": roles.text(), "explicit": plan.explicit,
                          "writes": [vars(write) for write in plan.writes], "fixed": plan.fixed}, indent=1))
        return 0
    print(f"backend {backend}" + (f" ({why})" if why else "") + f", roles {roles.text()}")
    show_plan(plan)
    return 0


def report_change(backend, why, roles, refused):
    """Says on stderr what a change came to."""
    if why:
        print(f"dkctl: fallback: {why} (affinities and CPU sets hold tasks in its place)", file=sys.stderr)
    for text in refused:
        print(f"dkctl: not moved: {text} (the kernel refuses; see dkctl status)", file=sys.stderr)
    print(f"dkctl: backend {backend}, roles {roles.text()}", file=sys.stderr)


def change(session, options, roles):
    """Carries a change out, and says what it came to."""
    backend, why, _, refused = session.change(roles, options.backend, scheduler_options(options),
                                              options.threaded_napi, options.net)
    report_change(backend, why, roles, refused)
    return backend


def command_mode(session, options):
    """dkctl mode."""
    change(session, options, wanted_roles(session, options))
    return 0


def command_restore(session, options):
    """dkctl restore."""
    if options.forget:
        (session.state / "journal").unlink(missing_ok=True)
        print("dkctl: the journal is removed, and nothing was changed", file=sys.stderr)
        return 0
    session.check_permission()
    session.load()
    restored, gone, failed = session.restore(options.settings)
    for target in gone:
        print(f"dkctl: gone, so not put back: {target}", file=sys.stderr)
    for text in failed:
        print(f"dkctl: not put back: {text} (write it by hand, or run dkctl restore again)", file=sys.stderr)
    print(f"dkctl: {len(restored)} settings put back", file=sys.stderr)
    return 1 if failed else 0


def find_command(words):
    """The command after `--`. Refuses one that is not there."""
    if not words:
        raise Refusal("run", "no command is given", "write dkctl run --mode dk -- COMMAND", 2)
    if not shutil.which(words[0]):
        raise Refusal(f"program {words[0]}", "it is not found", "check its name, or give a path", 2)
    return words


def supervise(words, session, prefer):
    """Runs a command to its end, passing signals on. Returns its exit status."""
    process = subprocess.Popen(words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: process.send_signal(got))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command as well
    if prefer:
        session.scheduler.tell(f"prefer {process.pid} {prefer}")
    status_of = process.wait()
    return status_of if status_of >= 0 else 128 - status_of


def command_run(session, options, held):
    """dkctl run: hybrid by phases, a mode for as long as a command runs."""
    words = find_command(options.words)
    before = session.base_roles()
    fresh = not session.journal.session
    roles = wanted_roles(session, options)
    if options.prefer and not roles.epochs:
        raise Refusal(f"--prefer {options.prefer}", "no core alternates", "use it with --mode hybrid", 2)
    change(session, options, roles)
    try:
        held.close()  # others may look and change while the command runs
        return supervise(words, session, options.prefer)
    finally:
        held = journal.lock(session.state)
        session.load()
        if fresh:
            failed = session.restore()[2]
        else:
            failed = session.change(before, "auto", scheduler_options(options))[3]
        for text in failed:
            print(f"dkctl: not put back: {text} (run dkctl restore)", file=sys.stderr)
        held.close()


def main(arguments, launcher, program, version, loads, host=None):
    """Runs dkctl. launcher: the command that starts it; program: dk-sched; loads: the six built-in programs."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = make_parser(version)
    options = parser.parse_args(arguments[:cut])
    options.words = arguments[cut + 1:]
    if options.words and options.command not in ("run", "advise", "experiment"):
        parser.error(f"{options.command} takes no command after --")
    try:
        session = Session(host or Host(), options.state, program, launcher)
        if options.command == "status":
            return status.show(session, options.json)
        if options.command in ("advise", "experiment"):
            return {"advise": advise, "experiment": experiment}[options.command].command(session, options, loads)
        if options.command == "plan":
            session.load()
            return command_plan(session, options)
        if options.command != "restore":
            session.check_permission()
        with journal.lock(options.state) as held:
            if options.command == "restore":
                return command_restore(session, options)
            session.load()
            if options.command == "run":
                return command_run(session, options, held)
            return command_mode(session, options)
    except Refusal as refusal:
        print(f"dkctl: {refusal}", file=sys.stderr)
        return refusal.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130

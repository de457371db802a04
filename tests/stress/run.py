#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the stress test in many configurations, drawn from one seed.

A round is one process with a configuration and a seed of its own; the line printed for it is the
command that repeats its choices. A round that does not end is asked for two dumps of all its
threads, so that its log shows where each of them waits, and is then killed: the run has failed.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import time

# What a round draws from. A value that stands twice is drawn twice as often.
CHOICES = {
    "MLTP_BACKEND": ["native", "native", "native", "native", "ucontext", "kernel"],
    "MLTP_VPS": [str(n) for n in range(1, 9)],
    "MLTP_OVERSUBSCRIBE": ["0", "1", "eager", "eager"],
    "MLTP_MEMBARRIER": ["auto", "off"],
    "MLTP_LOCK": ["reactive", "reactive", "spin", "yield-end", "yield-front", "semaphore",
                  "queue"],
    "MLTP_LOCK_SPIN_NS": ["2000", "2000", "0", "100000"],
    "MLTP_SPIN_US": ["50", "50", "0", "2000"],
    "MLTP_GUARD": ["auto", "auto", "mprotect", "canary"],
    "MLTP_STRESS_CASE": ["mix", "mix", "mix_under_load", "mix_on_one_cpu"],
}
DUMP_SIGNAL = signal.SIGUSR1
HANG_SECONDS = 120  # beyond its time: how long a starved process may take to come to an end


@dataclasses.dataclass
class Round:
    number: int
    program: pathlib.Path
    settings: dict[str, str]
    log: pathlib.Path

    def command(self):
        return shlex.join([f"{k}={v}" for k, v in self.settings.items()]) + f" {self.program}"


def plan(number, choose, args):
    settings = {name: choose.choice(values) for name, values in CHOICES.items()}
    settings["MLTP_STRESS_SEED"] = str(choose.randrange(1 << 31))
    settings["MLTP_STRESS_SECONDS"] = str(min(args.round, args.seconds))
    settings["MLTP_DUMP_SIGNAL"] = str(int(DUMP_SIGNAL))
    program = choose.choice(args.program)
    return Round(number, program, settings, args.logs / f"round-{number:04}.log")


def ask_for_dumps(process):
    for _ in range(2):  # what differs between the two moves
        process.send_signal(DUMP_SIGNAL)
        time.sleep(5)


def run(this):
    """Returns why the round failed, or None."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLTP_")}
    with open(this.log, "wb") as log:
        process = subprocess.Popen([this.program], env=environment | this.settings,
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        limit = int(this.settings["MLTP_STRESS_SECONDS"]) + HANG_SECONDS
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            ask_for_dumps(process)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"hung: not ended after {limit} s (its log ends with two dumps)"
    if status < 0:
        return f"ended by signal {signal.Signals(-status).name}"
    return f"ended with status {status}" if status else None


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program", nargs="+", type=pathlib.Path, help="tests/stress/mix of a build")
    parser.add_argument("--seconds", type=int, default=1800, help="in all (default %(default)s)")
    parser.add_argument("--round", type=int, default=10, help="seconds of one round")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000,
                        help="what the configurations are drawn from (default: the time)")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("build/stress"))
    return parser.parse_args(argv)


def main(argv):
    args = parse(argv)
    args.logs.mkdir(parents=True, exist_ok=True)
    choose = random.Random(args.seed)
    print(f"stress: {args.seconds} s, --seed {args.seed}, logs in {args.logs}", flush=True)
    end = time.monotonic() + args.seconds
    rounds, failed = 0, 0

    def report(future):
        nonlocal failed
        why = future.result()
        failed += why is not None
        verdict = "passed" if why is None else f"FAILED, {why}, log {running[future].log}"
        print(f"round {running[future].number}: {verdict}: {running[future].command()}", flush=True)
        del running[future]

    running = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        while running or (time.monotonic() < end and not failed):
            while len(running) < args.jobs and time.monotonic() < end and not failed:
                rounds += 1
                this = plan(rounds, choose, args)
                running[pool.submit(run, this)] = this
            done, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for future in done:
                report(future)
    print(f"stress: {rounds} rounds, {failed} failed")
    return 1 if failed or not rounds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Carries out steps: one mltp-bench each, with progress and an end to everything."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import plan

MODEL = pathlib.Path(__file__).resolve().parents[2] / "model"  # a package of Python


def known_experiments(bench):
    """The names mltp-bench --list gives."""
    text = subprocess.run([bench, "--list"], capture_output=True, text=True, check=True).stdout
    lines = text.partition("implementations:")[0].splitlines()[1:]
    return {line.split()[0] for line in lines} | ({"model"} if MODEL.is_dir() else set())


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def end_group(process):
    """Ends the program and what it started, which shares its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def call(command, environment, log, limit, output=None):
    """Runs a program in a group of its own. What it prints goes to the log, or to a file. Returns None, or why it
    failed."""
    with contextlib.ExitStack() as files:
        printed = files.enter_context(open(output or log, "w", encoding="utf-8"))
        errors = files.enter_context(open(log, "w", encoding="utf-8")) if output else subprocess.STDOUT
        process = subprocess.Popen(command, stdout=printed, stderr=errors,
                                   env={**os.environ, **environment}, process_group=0)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            end_group(process)
            return f"it was ended after {duration(limit)}"
        except BaseException:
            end_group(process)
            raise
    if status == 0:
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = lines[-1] if lines else "it said nothing"
    return f"exit status {status}: {said}" if status > 0 else f"killed by signal {-status}"


def command_of(bench, step, results, quick):
    """The program of a step and its arguments, all but the file it writes."""
    if not step.inputs:
        return [str(bench.parent / step.program if step.program else bench), *step.arguments(quick)]
    files = [str(results.file(name, ".json")) for name in step.inputs
             if results.status(name) == "done"]
    return [sys.executable, "-B", "-m", MODEL.name, *files]


def run_step(bench, step, results, quick, limit):
    """One step from start to record. Returns whether all went well."""
    rows = results.file(step.name, ".json")
    log = results.file(step.name, ".log")
    command = command_of(bench, step, results, quick)
    if not step.program:
        command += ["--json", str(rows)]
    start = time.monotonic()
    environment = {**step.environment, "PYTHONPATH": str(MODEL.parent)}
    why = call(command, environment, log, limit, rows if step.program else None)
    if why and step.program:
        rows.unlink(missing_ok=True)
    results.record(step.name, status="failed" if why else "done", why=why, command=command,
                   environment=step.environment, labels=step.labels, about=step.about,
                   experiment=step.experiment, seconds=round(time.monotonic() - start, 1))
    return why is None


def run_steps(bench, steps, results, quick, show=False):
    """Runs steps within the budget, and shows their tables if asked to. Returns how many failed."""
    expected = {step.name: step.seconds[quick] for step in steps}
    present = known_experiments(bench)
    start = time.monotonic()
    end = start + plan.BUDGET[quick]
    failed = 0
    planned = 0
    for number, step in enumerate(steps, 1):
        pace = max(0.2, (time.monotonic() - start) / planned) if planned else 1
        left = sum(expected[other.name] for other in steps[number - 1:]) * pace
        print(f"[{number}/{len(steps)}] {step.about}: about "
              f"{duration(expected[step.name] * pace)}, all that is left about {duration(left)}",
              file=sys.stderr, flush=True)
        planned += expected[step.name]
        results.file(step.name, ".json").unlink(missing_ok=True)
        remaining = end - time.monotonic()
        facts = {"about": step.about, "experiment": step.experiment}
        if not ((bench.parent / step.program).exists() if step.program else step.experiment in present):
            results.record(step.name, status="skipped", **facts,
                           why="there is no such experiment in this build")
        elif remaining < 1:
            results.record(step.name, status="skipped", **facts,
                           why=f"the {duration(plan.BUDGET[quick])} for all were over")
        elif not run_step(bench, step, results, quick, remaining):
            failed += 1
        facts = results.state["steps"][step.name]
        if show and facts["status"] != "skipped":
            log = results.file(step.name, ".log")
            print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
        if facts["status"] != "done":
            print(f"bench: {step.name}: {facts['status']}: {facts['why']}", file=sys.stderr)
    return failed

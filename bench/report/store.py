# SPDX-License-Identifier: Apache-2.0
"""The folder that keeps a run's results: a file of rows for each step, and state.json."""
import json
import os
import pathlib
import platform
import shutil
import subprocess
import time


def command_output(*command):
    """What a command prints, or None when it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_name():
    """Name, family and model, as mltp-bench writes them: names of virtual machines say little."""
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family', 0)}, model {facts.get('model', 0)})"


def identity(bench, quick):
    """What results must have in common to stand on one page."""
    here = pathlib.Path(__file__).parent
    commit = command_output("git", "-C", here, "describe", "--always", "--dirty") or "unknown"
    built = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(bench.stat().st_mtime))
    if "dirty" in commit or commit == "unknown":  # such a name says nothing about the program
        commit += f", built {built}"
    return {"commit": commit, "cpu": cpu_name(), "cpus": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "quick": quick}


class Store:
    """Results in a folder. state.json changes in one step, so a kill leaves the old or the new."""

    def __init__(self, folder, wanted, keep=False):
        self.folder = folder
        self.path = folder / "state.json"
        self.state = {"identity": wanted, "steps": {}}
        if not self.path.exists():
            return
        state = json.loads(self.path.read_text(encoding="utf-8"))
        if state["identity"] == wanted or keep:
            self.state = {"identity": wanted, "steps": state["steps"]}
        else:
            previous = folder.with_name(folder.name + ".previous")
            shutil.rmtree(previous, ignore_errors=True)
            folder.rename(previous)
            print(f"bench: what was measured on another commit or machine is now in {previous}")

    def status(self, name):
        """done, failed, skipped, or None."""
        return self.state["steps"].get(name, {}).get("status")

    def record(self, name, **facts):
        self.state["steps"][name] = facts
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(self.state, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.path)

    def file(self, name, suffix):
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / (name + suffix)

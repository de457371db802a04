#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an environment of Python with mpi4py, built by tmpicc, and pytest, for python_project.py.

usage: python_environment.py BUILD: a folder in which MLTP is built; pip takes both from its index, once
"""
import os
import pathlib
import subprocess
import sys

PACKAGES = ["mpi4py", "pytest"]


def run(*command, **variables):
    done = subprocess.run([*map(str, command)], check=False, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"python_environment.py: {command[0]} failed: status {done.returncode} (see above)")


def main(build):
    build = pathlib.Path(build).resolve()
    folder, complete = build / "python_environment", build / "python_environment" / "complete"
    if complete.exists():
        return
    run(sys.executable, "-m", "venv", "--clear", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-binary=mpi4py", *PACKAGES,
        MPICC=str(build / "bin" / "tmpicc"))
    complete.touch()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

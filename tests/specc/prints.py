# SPDX-License-Identifier: Apache-2.0
"""Runs a model and compares all it prints with a file: prints.py PROGRAM FILE.

A model whose expected text speaks of a deadlock must exit with 86, any other with 0.
"""
import difflib
import pathlib
import subprocess
import sys


def main(program, expected):
    wanted = pathlib.Path(expected).read_text()
    run = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    difference = list(difflib.unified_diff(wanted.splitlines(True), run.stdout.splitlines(True),
                                           "expected", "printed"))
    sys.stdout.writelines(difference)
    status = 86 if "deadlocked" in wanted else 0
    if run.returncode != status:
        print(f"exit status {run.returncode}, expected {status}")
    return bool(difference) or run.returncode != status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

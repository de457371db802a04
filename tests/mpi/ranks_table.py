#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table RANKS AND PROCESSES of tmpirun(1) says what ranks_table.c finds.

Its last line is about a call that ends the job, and which has a program of its own.

usage: ranks_table.py TMPIRUN PROGRAM ABUSE PAGE [--write]: writes the table into the page
"""
import pathlib
import re
import subprocess
import sys

BACKENDS = [(), ("--vps=1",), ("--one-to-one",)]
TABLE = re.compile(r"(?<=\.SH RANKS AND PROCESSES\n)(.*?\.nf\n)(.*?)(?=\.fi\n)", re.S)


def findings(tmpirun, program, options):
    result = subprocess.run([tmpirun, "-n", "2", *options, program], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{options}: status {result.returncode}: {result.stderr}")
    return [line.split("\t") for line in result.stdout.splitlines()]


def stopped(tmpirun, abuse, options):
    """A thread of rank 1 stops the own thread of its rank, which waits: one of a collector of garbage would."""
    name, test = "stop of a thread that waits in MPI", "mpi.abuse"
    if "--one-to-one" in options:
        return [name, "refused", test]
    result = subprocess.run([tmpirun, "-n", "2", *options, abuse, "stop-waiting"], capture_output=True, text=True, check=False)
    if result.returncode != 1 or "run with --one-to-one" not in result.stderr:
        sys.exit(f"{options}: {name}: status {result.returncode}: {result.stderr}")
    return [name, "refused", test]


def as_text(rows):
    lines = [f"{name:36}{finding:12}{test}".rstrip() for name, finding, test in rows]
    return "".join(("\\&" if line[0] in "./" else "") + line.replace("-", "\\-") + "\n" for line in lines)


def main(tmpirun, program, abuse, page, write=None):
    found = [as_text([*findings(tmpirun, program, options), stopped(tmpirun, abuse, options)]) for options in BACKENDS]
    if any(text != found[0] for text in found):
        return "backends differ:\n" + "\n".join(found)
    path = pathlib.Path(page)
    text = path.read_text()
    if write:
        path.write_text(TABLE.sub(lambda match: match[1] + found[0], text))
        return 0
    if TABLE.search(text)[2] != found[0]:
        return f"{page}: the table is not what ranks do (write it by {sys.argv[0]} ... --write):\n{found[0]}"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

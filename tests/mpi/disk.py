#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills a small file system of its own by the ranks of a program, and exits with 77 if none can be mounted here.

usage: disk.py TMPIRUN PROGRAM
"""
import subprocess
import sys
import tempfile

MOUNT = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
         'mount -t tmpfs -o size=1m tmpfs "$1" && cd "$1" && shift && TMPDIR=$PWD exec "$@"', "sh"]


def main():
    tmpirun, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([*MOUNT, folder, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            print(f"no file system can be mounted here: {tried.stderr.strip()}")
            return 77
        for options in ["--vps", "1"], ["--vps", "2"], ["--one-to-one"]:
            status = subprocess.run([*MOUNT, folder, tmpirun, "-n", "4", *options, program, "full"], check=False).returncode
            if status != 0:
                print(f"{options}: status {status}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

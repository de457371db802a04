#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of mltp-threads(7) says what belongs to a thread, to its VP and to the process, as a program finds it.

usage: belongs.py SOURCE_DIR LIBRARY_DIR PROGRAM
"""
import os
import pathlib
import re
import subprocess
import sys

source, library, program = sys.argv[1:]
page = (pathlib.Path(source) / "docs/man/mltp-threads.7").read_text()
table = re.search(r"^thing\tbelongs to\n(.*?)^\.TE", page, re.M | re.S)[1]
environment = {name: value for name, value in os.environ.items() if not name.startswith("MLTP_")}
found = subprocess.run([program], capture_output=True, text=True, check=True, timeout=550,
                       env={**environment, "LD_LIBRARY_PATH": library, "MLTP_COORDINATOR": "off"}).stdout
if found != table:
    print(f"mltp-threads(7) says:\n{table}\nThe program found:\n{found}")
sys.exit(found != table)

# SPDX-License-Identifier: Apache-2.0
"""Starts a command, and reads what it writes to stderr a moment later. What is in the pipe when it has ended is lost.

So do launchers at the end of a job. What has been read goes to this process's stderr."""
import os
import select
import subprocess
import sys
import time

LATE_SECONDS = 0.1


def main():
    read = b""
    with subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE) as child:
        while child.poll() is None:
            if not select.select([child.stderr], [], [], LATE_SECONDS)[0]:
                continue
            time.sleep(LATE_SECONDS)
            if child.poll() is None:
                read += os.read(child.stderr.fileno(), 65536)
    os.write(2, read)
    sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)


if __name__ == "__main__":
    main()

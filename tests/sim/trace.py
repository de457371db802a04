# SPDX-License-Identifier: Apache-2.0
"""A trace read back says what the model did: trace.py COMMAND [ARGUMENT ...].

GTKWave's own vcd2fst reads it, and fst2vcd writes down what that has understood.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WANTED = {"clock": [(time, time // 5 % 2) for time in range(0, 105, 5)],
          "shown": [(0, 0), *((10 * i + 5, i + 1) for i in range(10))]}


def changes(text):
    """Each variable's values with their times, of a value change dump."""
    names, found, time = {}, {}, 0
    for line in text.splitlines():
        if match := re.match(r"\$var \w+ \d+ (\S+) (\w+)", line):
            names[match[1]] = match[2]
        elif line.startswith("#"):
            time = int(line[1:])
        elif match := re.match(r"b([01]+) (\S+)", line):
            found.setdefault(names[match[2]], []).append((time, int(match[1], 2)))
    return found


def main(command):
    if not shutil.which("vcd2fst") or not shutil.which("fst2vcd"):
        print("trace.py: no vcd2fst here (install gtkwave): skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        vcd, fst = pathlib.Path(folder, "a.vcd"), pathlib.Path(folder, "a.fst")
        subprocess.run([*command, vcd], check=True)
        subprocess.run(["vcd2fst", vcd, fst], check=True, stdout=subprocess.DEVNULL)
        read = subprocess.run(["fst2vcd", fst], check=True, capture_output=True, text=True).stdout
    print(read)
    found = changes(read)
    ok = found == WANTED and "$timescale 1ns $end" in " ".join(read.split()) and "$scope module counter" in read
    if not ok:
        print("found", found, "wanted", WANTED)
    return not ok


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the dynamic linker looks for libraries of what was built: never in the current directory, which may be anybody's."""
import pathlib
import re
import shutil
import subprocess
import sys


def run_path(path):
    """The run path of an ELF file, as a list; empty: it has none, or the file is no ELF file."""
    text = subprocess.run(["readelf", "--dynamic", "--wide", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    return found[1].split(":") if found else []


def main(build):
    if shutil.which("readelf") is None:
        print("skipped: no readelf here (binutils)")
        return 77
    paths = [path for folder in ("bin", "lib", "lib/tmpi", "lib/mltp") for path in (build / folder).glob("*") if path.is_file()]
    found = {path: run_path(path) for path in paths}
    assert any(found.values()), f"no file in {build} has a run path"
    wrong = {path.name: parts for path, parts in found.items() if not all(part.startswith(("/", "$ORIGIN")) for part in parts)}
    for name, parts in wrong.items():
        print(f"{name}: its libraries are looked for in the current directory: {':'.join(parts)!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))

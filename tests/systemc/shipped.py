#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples that Debian's package of SystemC brings: built by their own makefiles, and run by them
with our coroutine package preloaded and without. Output and exit status must be the same.

Builds in FOLDER, where what is up to date stays.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

EXAMPLES = pathlib.Path("/usr/share/doc/libsystemc/examples")
SKIPPED = 77
ARGUMENTS = {"rsa": "ARGS=1234567"}  # its seed would be the time


def make(folder, target, settings, preload=""):
    environment = dict(os.environ, LD_PRELOAD=preload, SYSTEMC_DISABLE_COPYRIGHT_MESSAGE="1")
    return subprocess.run(["make", "-s", "-C", folder, target, *settings], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=1200)


def compare(folder, settings, library):
    """Returns what is wrong with one example, or nothing."""
    settings = settings + [ARGUMENTS.get(folder.name, "ARGS=")]
    built = make(folder, "all", settings)
    if built.returncode != 0:
        return "does not build:\n" + built.stdout.decode(errors="replace")[-500:]
    stock = make(folder, "run", settings)
    ours = make(folder, "run", settings, library)
    if (stock.returncode, stock.stdout) != (ours.returncode, ours.stdout):
        for name, result in (("without", stock), ("with", ours)):
            (folder / f"{name}.log").write_bytes(result.stdout)
        return (f"differs: exit status {stock.returncode} without, {ours.returncode} with; output in "
                f"{folder}/without.log and with.log")
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", required=True)
    parser.add_argument("--libsystemc", type=pathlib.Path, required=True)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if not EXAMPLES.is_dir() or shutil.which("make") is None:
        print(f"shipped.py: no {EXAMPLES} or no make here", file=sys.stderr)
        return SKIPPED

    arguments.folder.mkdir(exist_ok=True)
    source = arguments.folder / "examples"
    if not source.is_dir():
        shutil.copytree(EXAMPLES, source)
    # The makefiles look for a static library, which Debian does not have.
    lib = arguments.folder / "lib"
    lib.mkdir(exist_ok=True)
    link = lib / "libsystemc.a"
    link.unlink(missing_ok=True)
    link.symlink_to(arguments.libsystemc)
    settings = ["SYSTEMC_HOME=/usr", f"SYSTEMC_LIB_DIR={lib.resolve()}", "LDFLAG_RPATH=-Wl,-rpath-link=",
                "SYSTEMC_CXXFLAGS=-O0 -std=c++17 -pthread -w"]

    folders = sorted(makefile.parent for makefile in source.rglob("Makefile")
                     if "include ../" in makefile.read_text() and "PROJECT" in makefile.read_text()
                     and "msvc" not in str(makefile))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for folder, wrong in zip(folders, pool.map(lambda f: compare(f, settings, arguments.preload),
                                                   folders)):
            print(f"{folder.relative_to(source)}: {wrong or 'the same'}", flush=True)
            failed += bool(wrong)
    print(f"shipped.py: {len(folders)} examples, {failed} not the same")
    return int(failed > 0 or len(folders) == 0)


if __name__ == "__main__":
    sys.exit(main())

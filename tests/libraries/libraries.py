#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library of Debian in ranks: each rank gets what one process gets that does the rank's work.

Builds the program of a library by tmpicc, runs it with many ranks some times, and compares what it prints with what it
prints when it is started alone for each rank. Exit status 77: the library is not installed.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Names of pkg-config(1), options of compiler and linker, or commands that print such options.
LIBRARIES = {
    "fftw.c": ["fftw3"],
    "hdf5.c": ["hdf5-serial"],
    "netcdf.c": ["netcdf"],
    "gsl.c": ["gsl"],
    "openblas.c": ["openblas"],
    "zlib.c": ["zlib"],
    "libxml2.c": ["libxml-2.0"],
    "boost.cpp": ["-lboost_serialization", "-lboost_filesystem"],
    "sqlite.c": ["sqlite3"],
    "lua.c": ["lua5.4"],
    "curl.c": ["libcurl"],
    "glib.c": ["glib-2.0"],
    "icu.cpp": ["icu-i18n", "icu-uc"],
    "openssl.c": ["libcrypto"],
    "gnutls.c": ["gnutls"],
    "nss.c": ["nss"],
    "perl.c": ["/usr/bin/perl -MExtUtils::Embed -e ccopts -e ldopts"],
    "protobuf.cpp": ["protobuf"],
    "tbb.cpp": ["tbb", "eigen3"],
    "gdal.c": ["gdal"],
    "opencv.cpp": ["-I/usr/include/opencv4", "-lopencv_imgproc", "-lopencv_core"],
    "qt.cpp": ["Qt5Sql", "Qt5Concurrent"],
}


def build(wrappers, source, program):
    """Returns whether the library is there."""
    words = []
    for word in LIBRARIES[source]:
        if word.startswith("-"):
            words.append(word)
            continue
        command = word.split() if " " in word else ["pkg-config", "--cflags", "--libs", word]
        flags = subprocess.run(command, capture_output=True, text=True, check=False)
        if flags.returncode != 0:
            print(f"libraries.py: no {word} here: {flags.stderr.strip()}")
            return False
        words += flags.stdout.split()
    compiler = wrappers / ("tmpicxx" if source.endswith(".cpp") else "tmpicc")
    done = subprocess.run([compiler, "-O1", "-g", HERE / source, "-o", program, *words, "-lm"], capture_output=True, text=True,
                          check=False)
    if "No such file or directory" in done.stderr or "cannot find -l" in done.stderr:
        print(f"libraries.py: {source} cannot be built here: {done.stderr.strip()}")
        return False
    if done.returncode != 0:
        sys.exit(f"libraries.py: {source} cannot be built: {done.stderr}")
    return True


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"libraries.py: {command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sanitized", action="store_true", help="a program cannot start alone: tmpirun starts one rank")
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("library", choices=sorted(LIBRARIES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        if not build(arguments.tmpirun.parent, arguments.library, program):
            return 77
        start = [arguments.tmpirun, "-n", "1"] if arguments.sanitized else []
        alone = sorted(run([*start, program, folder, str(rank)]).strip() for rank in range(arguments.ranks))
        for number in range(arguments.runs):
            together = sorted(run([arguments.tmpirun, "-n", str(arguments.ranks), program, folder]).splitlines())
            if together != alone:
                wrong = sorted(set(together) ^ set(alone))
                sys.exit(f"libraries.py: {arguments.library}, run {number}: results differ: {wrong[:10]}")
    print(f"{arguments.library}: {arguments.runs} runs of {arguments.ranks} ranks print what {arguments.ranks} processes print")
    return 0


if __name__ == "__main__":
    sys.exit(main())

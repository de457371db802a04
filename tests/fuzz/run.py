#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small ELF files of many kinds, and gives them to the loader's fuzzer (tests/fuzz/loader.c)."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

LOCALS = "static __thread int x = 3; int *p = &(int){1}; int main(void) { return x++ + *p; }"
CHOICE = ("static int a(void) { return 0; } static void *pick(void) { return a; }"
          "int chosen(void) __attribute__((ifunc(\"pick\"))); int main(void) { return chosen(); }")
COPY = "#include <stdio.h>\nextern char **environ; int main(void) { return fputs(*environ, stdout); }"
OBJECT = "#include <iostream>\nstruct A { A() { std::cout << 1; } } a; thread_local A b; int main() { throw b; }"

# name, compiler, language, text, words
KINDS = [
    ("plain", "cc", "c", "int main(void) { return 0; }", ["-pie", "-fPIE"]),
    ("copies", "cc", "c", COPY, ["-pie", "-fPIE", "-fno-pic", "-mcmodel=large"]),
    ("choice", "cc", "c", CHOICE, ["-pie", "-fPIE"]),
    ("old-hash", "cc", "c", COPY, ["-pie", "-fPIE", "-Wl,--hash-style=sysv"]),
    ("packed", "cc", "c", LOCALS, ["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"]),
    ("locals", "tmpicc", "c", LOCALS, []),
    ("bsymbolic", "tmpicc", "c", COPY, ["-Wl,-z,norelro"]),
    ("objects", "tmpicxx", "c++", OBJECT, []),
    ("text", "cc", "c", "int x; int *f(void) { return &x; } int main(void) { return !f(); }", ["-shared", "-fno-pic", "-mcmodel=large", "-Wl,-z,notext"]),
    ("static", "cc", "c", "int main(void) { return 0; }", ["-nostdlib", "-static", "-Wl,-e,main"]),
    ("object", "cc", "c", LOCALS, ["-c"]),
]


def make_corpus(folder, wrappers):
    """@return the files that could be made here."""
    made = []
    for name, compiler, language, text, words in KINDS:
        path = folder / name
        program = compiler if compiler == "cc" else str(wrappers / compiler)
        command = [program, "-x", language, "-", "-x", "none", "-O1", "-s", *words, "-o", str(path)]
        done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        if done.returncode == 0:
            made.append(path)
        else:
            print(f"fuzz: no '{name}' here: {done.stderr.strip().splitlines()[-1]}")
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer", type=pathlib.Path, help="built with libFuzzer, or (--replay) without")
    parser.add_argument("--wrappers", type=pathlib.Path, required=True, help="folder of tmpicc")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what is found; inputs continue from there")
    parser.add_argument("--replay", action="store_true", help="damage each file a few hundred times")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = make_corpus(pathlib.Path(folder), options.wrappers)
        if len(made) < len(KINDS) // 2:
            print("fuzz: most kinds of files cannot be made here", file=sys.stderr)
            return 1
        if options.replay:
            return subprocess.run([str(options.fuzzer), *map(str, made)], check=False).returncode
        found = options.keep or pathlib.Path(folder, "found")
        (found / "inputs").mkdir(parents=True, exist_ok=True)
        # libFuzzer has the C++ library loaded before the sanitizer's: it does no harm
        settings = {**os.environ, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        return subprocess.run([str(options.fuzzer), f"-max_total_time={options.seconds}", "-max_len=65536",
                               "-close_fd_mask=3", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
                               f"-artifact_prefix={found}/", str(found / "inputs"), folder], env=settings,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

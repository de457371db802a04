# SPDX-License-Identifier: Apache-2.0
"""The specc command: from SpecC source to a program."""
import argparse
import functools
import os
import pathlib
import subprocess
import sys

import messages
import source
from body import AS_CONST
from parse import Parser
from translate import Translator

# What C allows and a model must not do: its connections would be wrong.
STRICT = ["-Werror=incompatible-pointer-types", "-Werror=int-conversion",
          "-Werror=implicit-function-declaration", "-Wno-unused-function", "-Wno-unused-variable",
          "-fno-show-column"]  # its columns are those of our text


def parse_arguments(version, arguments=None):
    parser = argparse.ArgumentParser(
        prog="specc", description="Compiles a SpecC model to a program that simulates it, on MLTP's threads.",
        epilog="Other options that begin with -f, -m, -W, -w or -std= go to the C compiler (cc, or what CC names). "
               "specc(1) says what of SpecC there is.")
    parser.add_argument("source", help="the model, FILE.sc")
    parser.add_argument("-o", metavar="FILE", dest="output", help="the program (the model's name without .sc)")
    parser.add_argument("-C", action="store_true", dest="only_c", help="write the C text instead of a program")
    parser.add_argument("-I", action="append", default=[], metavar="FOLDER", help="look for headers there")
    parser.add_argument("-P", action="append", default=[], metavar="FOLDER", help="look for imports there")
    parser.add_argument("-D", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    parser.add_argument("-U", action="append", default=[], metavar="NAME", help="undefine a macro")
    parser.add_argument("-O", nargs="?", const="1", default="2", metavar="LEVEL", help="optimise (2)")
    parser.add_argument("-g", action="store_true", help="with debugging information")
    parser.add_argument("-l", action="append", default=[], metavar="LIBRARY", help="link with a library")
    parser.add_argument("-L", action="append", default=[], metavar="FOLDER", help="look for libraries there")
    parser.add_argument("--version", action="version", version=f"specc (mltp) {version}")
    options, others = parser.parse_known_args(arguments)
    for other in others:
        if not other.startswith(("-f", "-m", "-W", "-w", "-std=")):
            parser.error(f"unrecognized argument: {other}")
    return options, others


@functools.cache
def parser():
    return Parser()


def translate(options, others, compiler, folders):
    """The C text of the model."""
    path = pathlib.Path(options.source)
    if not path.is_file():
        raise source.Error(None, f"specc: {path}: no such file")
    flags = [f"-I{folder}" for folder in [path.parent, *options.I, folders.share / "include"]]
    flags += [f"-D{macro}" for macro in options.D] + [f"-U{macro}" for macro in options.U] + others
    flags += ["-D__SPECC__=1", "-isystem", str(folders.include), "-isystem", str(folders.share / "runtime"),
              "-isystem", str(folders.inside), "-include", "specc_runtime.h"]
    warnings = []

    def preprocessed(file):
        text, warned = source.preprocess(compiler, file, flags)
        warnings.append(warned)
        return text

    paths = [pathlib.Path(folder) for folder in options.P] + [folders.share / "import"]
    text = source.Text(source.Modules(preprocessed, paths).load(path))
    sys.stderr.write("".join(warnings))
    return Translator(text, parser().parse(text)).translate()


def without_source_lines(compiler):
    """The option by which a compiler's messages do without lines of our text."""
    macros = subprocess.run([*compiler, "-dM", "-E", "-x", "c", os.devnull], stdout=subprocess.PIPE, text=True,
                            check=False)
    return "-fno-caret-diagnostics" if "__clang__" in macros.stdout else "-fno-diagnostics-show-caret"


def run_compiler(options, others, compiler, folders, text):
    """Makes the program; returns the finished run of the compiler."""
    output = options.output or pathlib.Path(options.source).stem
    if os.path.abspath(output) == os.path.abspath(options.source):
        raise source.Error(None, f"specc: {output}: the program would take the model's name (name it with -o)")
    without_lines = without_source_lines(compiler)
    strict = [*STRICT, *(["-Werror=discarded-qualifiers"] if AS_CONST in text and without_lines.endswith("show-caret") else [])]
    command = [*compiler, f"-O{options.O}", *(["-g"] if options.g else []), *strict, without_lines, *others,
               "-x", "cpp-output", "-", "-x", "none", "-o", output, *(f"-L{folder}" for folder in options.L),
               *(f"-l{library}" for library in options.l),
               str(folders.lib / "libmltp-sim.a"), str(folders.lib / "libmltp.a"), "-lpthread", "-lm"]
    return subprocess.run(command, input=text, text=True, errors="surrogateescape", stderr=subprocess.PIPE, check=False)


def compile_c(options, others, compiler, folders, text):
    """Makes the program; returns the compiler's exit status."""
    run = run_compiler(options, others, compiler, folders, text)
    sys.stderr.write(messages.of_model(run.stderr))
    return run.returncode


def main(version, folders):
    """Runs the command; folders: where share, include and lib are."""
    options, others = parse_arguments(version)
    compiler = os.environ.get("CC", "cc").split()
    try:
        text = translate(options, others, compiler, folders)
        if not options.only_c:
            return 1 if compile_c(options, others, compiler, folders, text) else 0
        if options.output is None or options.output == "-":
            sys.stdout.write(text)
        else:
            pathlib.Path(options.output).write_text(text, errors="surrogateescape")
        return 0
    except source.Error as error:
        print(f"{error.place}: error: {error.message}" if error.place else error.message, file=sys.stderr)
    except OSError as error:
        print(f"specc: {error.filename or compiler[0]}: {error.strerror}", file=sys.stderr)
    return 1

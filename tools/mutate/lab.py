# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree in which mutants are built and tested, so that the user's tree stays as it is."""
import json
import os
import pathlib
import re
import signal
import subprocess

CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -g1 -fno-omit-frame-pointer",
             "-DCMAKE_CXX_FLAGS=-O1 -g1 -fno-omit-frame-pointer", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
QUICK = ("-L", "quick")
UNIT = ("-L", "unit", "-R", r"native-2|native-8|seeded-1")
NO_MPI = r"mpi\.(suite|conformance|growth|links)$"  # tests of tools, or slow ones of costs and of linkers
MPI = ("-L", "mpi", "-R", r"native-2|mpi\.[a-z_]*$", "-E", NO_MPI)


def of_mpi(names):
    """The tests of MPI with these names, on one run each, and then all of them. No other test runs src/tmpi."""
    return ("-L", "mpi", "-R", rf"mpi\.({names})(\.native-2|\.ends|$)"), MPI


# Which tests see a directory, in the order of their stages: options of ctest, the first that fits the file's path.
STAGES = (
    ("src/tmpi/attr", of_mpi("handles|objects|comms|removed")), ("src/tmpi/bindings", of_mpi("fortran|bindings|keywords|modern")),
    ("src/tmpi/check", of_mpi("mistakes|collectives")), ("src/tmpi/coll", of_mpi("collectives|neighbors|nonblocking|forms")),
    ("src/tmpi/comm", of_mpi("comms|spawn|ports|sessions")), ("src/tmpi/datatype", of_mpi("types|layouts|makers|arguments")),
    ("src/tmpi/env", of_mpi("environment|arguments|tools")), ("src/tmpi/error", of_mpi("arguments|handles|objects|removed")),
    ("src/tmpi/fortran", of_mpi("fortran|bindings|modern")), ("src/tmpi/group", of_mpi("comms|arguments")),
    ("src/tmpi/info", of_mpi("handles|arguments")), ("src/tmpi/io", of_mpi("io|files")),
    ("src/tmpi/layout", of_mpi("types|layouts|large|extremes|windows")), ("src/tmpi/lines", of_mpi("mistakes|reports")),
    ("src/tmpi/loader", of_mpi("private|ring|loading|opening|built|abuse")), ("src/tmpi/mailbox", of_mpi("messages|requests|flood")),
    ("src/tmpi/match", of_mpi("messages|requests|flood|outstanding")), ("src/tmpi/nodes", of_mpi("nodes")),
    ("src/tmpi/object", of_mpi("handles|objects|comms|collectives")), ("src/tmpi/p2p", of_mpi("messages|requests|arguments")),
    ("src/tmpi/part", of_mpi("partitioned")), ("src/tmpi/private", of_mpi("as_libc|libc|private|environment")),
    ("src/tmpi/python", of_mpi("python")), ("src/tmpi/rank", of_mpi("messages|endings|options")),
    ("src/tmpi/report", of_mpi("reports|waiting")), ("src/tmpi/request", of_mpi("requests|nonblocking")),
    ("src/tmpi/rma", of_mpi("windows|window_errors")), ("src/tmpi/session", of_mpi("sessions")),
    ("src/tmpi/run", of_mpi("libc|process|environment|descriptors|signals|threads|timers|options|output|endings|wrapped")),
    ("src/tmpi/tool", of_mpi("tools")), ("src/tmpi/topo", of_mpi("topologies|neighbors")), ("src/tmpi", (MPI,)),
    ("src/sim", (("-L", "sim"),)), ("src/systemc", (("-L", "systemc"),)), ("src/quickthreads", (("-L", "qt"),)),
    ("src/gate", (("-L", "gate"),)), ("src/teams", (("-L", "coord"),)), ("src/coord", (("-L", "coord"), QUICK)),
    ("src/io", (("-R", "io"), QUICK)), ("src/alternatives", (("-L", "strategies"), QUICK)), ("src/policy", (("-R", "policy"), QUICK)),
    ("src/debug", (("-R", "debug|dump|deadlock|report|inspect"), QUICK)),
    ("src/os", (UNIT, QUICK, of_mpi("private|ring|loading|process|descriptors")[0])),  # tmpirun alone uses some of it
    ("src", (UNIT, QUICK)),
)


class Lab:
    """The copy. Raises subprocess.CalledProcessError where the tree without mutants cannot be built."""

    def __init__(self, root, folder, jobs, limit):
        self.root, self.tree, self.jobs, self.limit = root, folder / "tree", jobs, limit
        self.build = self.tree / "build"
        self.stale = set()  # outputs that contain the last mutant
        self.synchronize()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "-S", self.tree, "-B", self.build, *CONFIGURE], check=True, stdout=subprocess.DEVNULL)
        self.ninja(check=True)

    def synchronize(self):
        """Makes the copy like the tree, and touches only what differs, so that little is built."""
        listed = subprocess.run(["git", "-C", self.root, "ls-files", "-z"], check=True, capture_output=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            ours, theirs = self.root / name, self.tree / name
            if not ours.is_file() or ours.is_symlink():
                continue
            content = ours.read_bytes()
            if not theirs.exists() or theirs.read_bytes() != content:
                theirs.parent.mkdir(parents=True, exist_ok=True)
                theirs.write_bytes(content)
                theirs.chmod(ours.stat().st_mode & 0o777)

    def commands(self):
        """The compile commands of the C files of src/, by path."""
        with open(self.build / "compile_commands.json", encoding="utf-8") as file:
            return {entry["file"]: entry for entry in json.load(file)
                    if entry["file"].startswith(f"{self.tree}/src/") and entry["file"].endswith(".c")}

    def ninja(self, *outputs, check=False):
        """Builds these outputs, or all. Returns the status."""
        return subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *outputs], check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def query(self, names):
        """What ninja says of files: (name, rule that makes it, what is made from it)."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "query", *names], check=True, capture_output=True, text=True).stdout
        for part in re.split(r"\n(?=\S)", said):
            inputs, _, outputs = part.partition("  outputs:\n")
            rule = re.search(r"input: (\S+)", inputs)
            yield part.partition(":\n")[0], rule[1] if rule else "", outputs.split()

    def containing(self, name):
        """The programs and shared libraries that contain a source file: programs that load such a library stay as they are."""
        found, names = set(), [str(self.tree / name)]
        while names:
            outputs = {output for _, _, made in self.query(names) for output in made}
            rules = [(output, rule) for output, rule, _ in self.query(outputs)] if outputs else []
            names = [output for output, _ in rules if output.endswith((".o", ".a"))]
            found |= {output for output, rule in rules if re.search("(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)_LINKER", rule)}
        return found

    def build_mutant(self, name):
        """Also what contains the last one, whose file is itself again. Returns the status."""
        outputs = self.containing(name)
        status = self.ninja(*(outputs | self.stale if outputs else ()))
        self.stale = outputs
        return status

    def object_of(self, entry, path):
        """What a file compiles to without debug information; None: it does not compile."""
        words = entry["command"].split()
        place = words.index("-o") + 1
        words[place] = str(path)
        done = subprocess.run([*words, "-g0", "-w"], cwd=entry["directory"], capture_output=True, check=False)
        return path.read_bytes() if done.returncode == 0 else None

    def failing(self, options):
        """The first test that fails; None: none does, "no end": their time was over."""
        log = self.build / "mutate-tests.log"
        command = ["ctest", "--test-dir", self.build, "-j", str(self.jobs), "--stop-on-failure", "--timeout", "90", *options,
                   "-LE", "mutations|models|lint|bench|install|report", "-O", log, "-Q"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0) as process:
            try:
                status = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "no end"
        if status == 0:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line.split("-", 1)[1].split("(")[0].strip() for line in lines if line.strip().endswith(("(Failed)", "(Timeout)"))
                  or "(SEGFAULT)" in line or "(Subprocess" in line]
        return failed[0] if failed else "a test"

    def judge(self, site, entry):
        """What became of a mutant: (verdict, by which test)."""
        path = pathlib.Path(site.file)
        source = path.read_bytes()
        before = self.object_of(entry, self.build / "mutate-before.o")
        path.write_bytes(site.apply(source))
        try:
            after = self.object_of(entry, self.build / "mutate-after.o")
            if after is None or after == before:
                return ("does not compile" if after is None else "equivalent"), ""
            name = site.file.removeprefix(f"{self.tree}/")
            if self.build_mutant(name) != 0:
                return "killed", "build"
            for options in next(stages for room, stages in STAGES if name.startswith(room)):
                test = self.failing(options)
                if test is not None:
                    return "killed", test
            return "survived", ""
        finally:
            path.write_bytes(source)

# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree in which mutants are built and tested, so that the user's tree stays as it is."""
import json
import os
import pathlib
import signal
import subprocess

CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -g1 -fno-omit-frame-pointer",
             "-DCMAKE_CXX_FLAGS=-O1 -g1 -fno-omit-frame-pointer", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
# Which tests see a room first: options of ctest, the first that fits the file's path.
FIRST = (
    ("src/tmpi", ("-L", "mpi", "-R", r"native-2|mpi\.[a-z_]*$")), ("src/sim", ("-L", "sim",)),
    ("src/systemc", ("-L", "systemc",)), ("src/coord", ("-L", "coord",)), ("src/teams", ("-L", "coord",)),
    ("src/gate", ("-L", "gate",)), ("src/io", ("-R", "io",)), ("src/quickthreads", ("-L", "qt",)),
    ("src/alternatives", ("-L", "strategies",)), ("src/debug", ("-R", "debug|dump|deadlock|report|inspect")),
    ("src/policy", ("-R", "policy",)), ("src", ("-L", "unit", "-R", r"native-2|native-8|seeded-1")),
)
SECOND = ("-L", "quick")


class Lab:
    """The copy. Raises subprocess.CalledProcessError where the tree without mutants cannot be built."""

    def __init__(self, root, folder, jobs, limit):
        self.root, self.tree, self.jobs, self.limit = root, folder / "tree", jobs, limit
        self.build = self.tree / "build"
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

    def ninja(self, check=False):
        """Builds. Returns the status."""
        return subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs)], check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

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
            if self.ninja() != 0:
                return "killed", "build"
            name = site.file.removeprefix(f"{self.tree}/")
            first = next(options for room, options in FIRST if name.startswith(room))
            for options in first, SECOND:
                test = self.failing(options)
                if test is not None:
                    return "killed", test
            return "survived", ""
        finally:
            path.write_bytes(source)

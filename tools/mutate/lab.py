# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree in which mutants are built, so that the user's tree stays as it is."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -g1 -fno-omit-frame-pointer",
             "-DCMAKE_CXX_FLAGS=-O1 -g1 -fno-omit-frame-pointer", "-DMLTP_CHECKED=ON"]
PROGRAM = re.compile("(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)_LINKER")


class Lab:
    """The copy. Files in texts differ from the user's. Raises subprocess.CalledProcessError where it cannot be built."""

    def __init__(self, root, folder, jobs, slices, preset=""):
        self.slices = slices  # arguments of ctest that choose the tests
        self.preset = preset  # "": CONFIGURE
        self.root, self.tree, self.jobs = root, folder / "tree", min(jobs, os.cpu_count())
        self.build = self.tree / "build" / preset
        self.stale = set()  # outputs that contain the last mutant which has a build of its own

    def prepare(self, texts):
        """Makes the copy like the tree but for these texts, by name, and configures it."""
        self.synchronize(texts)
        if not (self.build / "build.ninja").exists():
            options = ["--preset", self.preset] if self.preset else ["-S", self.tree, "-B", self.build, *CONFIGURE]
            subprocess.run(["cmake", *options, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, cwd=self.tree,
                           stdout=subprocess.DEVNULL)

    def names(self):
        """The files of the tree that git follows."""
        listed = subprocess.run(["git", "-C", self.root, "ls-files", "-z"], check=True, capture_output=True).stdout
        return [name for name in listed.decode().split("\0") if name and (self.root / name).is_file()
                and not (self.root / name).is_symlink()]

    def synchronize(self, texts):
        """Touches only what differs, so that little is built. Removes what the tree no longer has."""
        names = self.names()
        gone = set(self.files()) - set(names)
        for name in gone:
            (self.tree / name).unlink()
        for name in names:
            content = texts.get(name) or (self.root / name).read_bytes()
            theirs = self.tree / name
            if not theirs.exists() or theirs.read_bytes() != content:
                theirs.parent.mkdir(parents=True, exist_ok=True)
                theirs.write_bytes(content)
                theirs.chmod((self.root / name).stat().st_mode & 0o777)

    def files(self):
        """The files of the copy, without what a build has made."""
        for folder, below, files in os.walk(self.tree):
            if pathlib.Path(folder) == self.tree and "build" in below:
                below.remove("build")
            for file in files:
                yield str(pathlib.Path(folder, file).relative_to(self.tree))

    def commands(self):
        """The compile commands of the C files of src/, by name; one for each file."""
        with open(self.build / "compile_commands.json", encoding="utf-8") as file:
            return {entry["file"].removeprefix(f"{self.tree}/"): entry for entry in json.load(file)
                    if entry["file"].startswith(f"{self.tree}/src/") and entry["file"].endswith(".c")}

    def ninja(self, *outputs, check=False):
        """Builds these outputs, or all. Returns the status."""
        with open(self.build / "mutate-build.log", "wb") as log:
            return subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *outputs], check=check, stdout=log,
                                  stderr=subprocess.STDOUT).returncode

    def build_all(self):
        """Builds what the tests run."""
        needed = pathlib.Path(__file__).resolve().parents[1] / "needed.py"
        for arguments in self.slices:
            said = subprocess.run([sys.executable, "-B", needed, self.build, *arguments], check=True, capture_output=True, text=True)
            self.ninja(*said.stdout.split(), check=True)

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
            found |= {output for output, rule in rules if PROGRAM.search(rule)}
        return found

    def build_mutant(self, name, text, commands):
        """Gives a file another text and builds what contains it and what these commands of tests can run. Returns the status."""
        (self.tree / name).write_bytes(text)
        words = {word.removeprefix(f"{self.build}/") for command in commands for word in command}
        outputs = {output for output in self.containing(name)
                   if output in words or output.startswith(("bin/", "lib")) or ".so" in output}
        status = self.ninja(*(outputs | self.stale))
        self.stale = outputs
        return status

    def restore(self, name, text):
        """Undoes build_mutant()."""
        (self.tree / name).write_bytes(text)
        if self.stale and self.ninja(*self.stale) == 0:
            self.stale = set()

    def object_of(self, entry, text):
        """What a text in the place of a file compiles to, without debug information; None: it does not compile."""
        with tempfile.TemporaryDirectory(dir=self.build) as folder:
            source, made = pathlib.Path(folder, pathlib.Path(entry["file"]).name), pathlib.Path(folder, "made.o")
            source.write_bytes(text)
            words = shlex.split(entry["command"])
            words[words.index("-o") + 1] = str(made)
            words = [str(source) if word == entry["file"] else word for word in words]
            # A name that differs from mutant to mutant would be in the object.
            words += ["-g0", "-w", "-iquote", str(pathlib.Path(entry["file"]).parent), f"-ffile-prefix-map={folder}=."]
            done = subprocess.run(words, cwd=entry["directory"], capture_output=True, check=False,
                                  env={**os.environ, "CCACHE_DISABLE": "1"})
            return made.read_bytes() if done.returncode == 0 else None

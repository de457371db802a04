# SPDX-License-Identifier: Apache-2.0
"""Debian packages for the virtual machine, by name, with an apt of their own: this machine's apt stays as it is."""
import os
import pathlib
import re
import shutil
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ("trixie", "trixie-backports", "bookworm-backports")
# Series of kernels with sched_ext, the best known first; whatever the archive still has of the first is taken.
SERIES = ("6.18", "6.17", "6.16", "6.19", "7.0", "7.1", "7.2", "7.3")
ROOT = ("libc6", "dash", "python3-minimal", "libpython3-stdlib", "busybox-static", "kmod", "iproute2", "libelf1t64",
        "zlib1g", "libjansson4", "libbpf1", "xz-utils", "sqlite3")


class Missing(Exception):
    """Something that the test needs cannot be had here: the test is skipped."""


def compiled(root, folder, inside):
    """Compiles Python modules by the machine's own Python: an emulated processor would take seconds at each start."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    subprocess.run([root / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", libraries, root / "usr/bin/python3.13",
                    "-m", "compileall", "-q", "-s", folder, "-p", inside, folder], check=True,
                   env={**os.environ, "PYTHONHOME": str(root / "usr")}, stdout=subprocess.DEVNULL)


class Packages:
    """Downloads and unpacks packages below a folder."""

    def __init__(self, folder, mirror):
        self.folder, self.mirror = pathlib.Path(folder), mirror
        self.updated = False

    def apt(self, *words):
        """Runs an apt program with our own lists; returns its output."""
        base = self.folder / "apt"
        for name in ("state/lists/partial", "cache/archives/partial", "etc"):
            (base / name).mkdir(parents=True, exist_ok=True)
        sources = base / "etc/sources.list"
        sources.write_text("".join(f"deb [signed-by={KEYS}] {self.mirror} {suite} main\n" for suite in SUITES),
                           encoding="utf-8")
        (base / "etc/status").touch()
        config = base / "etc/apt.conf"
        settings = {"Dir::State": base / "state", "Dir::State::status": base / "etc/status", "Dir::Cache": base / "cache",
                    "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": base / "etc/none",
                    "Dir::Etc::preferences": base / "etc/none", "Dir::Etc::preferencesparts": base / "etc/none",
                    "APT::Architecture": "amd64", "Acquire::Languages": "none", "APT::Sandbox::User": "root"}
        config.write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()), encoding="utf-8")
        done = subprocess.run(words, env={**os.environ, "APT_CONFIG": str(config)}, cwd=self.folder, check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{' '.join(words[:2])} failed: {done.stderr.strip().splitlines()[-1:]}")
        return done.stdout

    def update(self):
        """Fetches the lists, once."""
        if not self.updated:
            self.apt("apt-get", "update", "-q")
            self.updated = True

    def unpacked(self, package, name):
        """Downloads a package, `name` or `name=version`, and unpacks it into a folder; returns the folder."""
        folder = self.folder / package
        if not (folder / ".complete").exists():
            self.update()
            self.apt("apt-get", "download", "-q", name)
            archives = sorted(self.folder.glob(f"{package}_*.deb"))
            subprocess.run(["dpkg", "-x", archives[-1], folder], check=True)
            for archive in archives:
                archive.unlink()
            (folder / ".complete").touch()
        return folder

    def kernel(self):
        """The folder of an unpacked kernel package with sched_ext; one that is there already if there is one."""
        there = sorted(path.parent for path in self.folder.glob("linux-image-*/.complete"))
        if there:
            return there[-1]
        self.update()
        names = re.findall(r"^(linux-image-[67][\w.+]*-cloud-amd64) ",
                           self.apt("apt-cache", "search", "--names-only", "^linux-image-.*-cloud-amd64$"), re.M)
        for series in SERIES:
            found = [name for name in names if name.startswith((f"linux-image-{series}.", f"linux-image-{series}+"))]
            for name in sorted(found, key=lambda n: [int(x) for x in re.findall(r"\d+", n)], reverse=True):
                try:
                    return self.unpacked(name, name)
                except Missing:
                    continue  # it has left the archive since the list was made
        raise Missing("no kernel with sched_ext in the archive")

    def libbpf(self):
        """A folder with libbpf of Debian 12's backports, to build dk-sched with."""
        version = re.findall(r"libbpf-dev \| (\S+~bpo12\S*)", self.apt_update("apt-cache", "madison", "libbpf-dev"))
        if not version:
            raise Missing("no libbpf 1.4 in the archive")
        return self.unpacked("libbpf-dev", f"libbpf-dev={version[0]}")

    def apt_update(self, *words):
        """As apt(), after the lists were fetched."""
        self.update()
        return self.apt(*words)

    def root(self):
        """The folder of a small Debian 13 with Python."""
        tar, folder = self.folder / "root.tar", self.folder / "root"
        complete = folder / ".complete"
        if not complete.exists() or complete.read_text(encoding="utf-8") != " ".join(ROOT):
            shutil.rmtree(folder, ignore_errors=True)
            links = "; ".join(f'mkdir -p "$1/usr/{n}"; ln -s usr/{n} "$1/{n}"' for n in ("bin", "sbin", "lib", "lib64"))
            done = subprocess.run(["mmdebstrap", "--variant=extract", f"--include={','.join(ROOT)}", "--architectures=amd64",
                                   "--dpkgopt=path-exclude=/usr/share/doc/*", f"--setup-hook={links}",
                                   "trixie", tar, self.mirror], capture_output=True, text=True, check=False)
            if done.returncode:
                raise Missing(f"mmdebstrap failed: {done.stderr.strip().splitlines()[-1:]}")
            folder.mkdir(exist_ok=True)
            subprocess.run(["tar", "-xf", tar, "-C", folder, "--exclude=./dev/*", "--no-same-owner"], check=True)
            tar.unlink()
            compiled(folder, folder / "usr/lib/python3.13", "/usr/lib/python3.13")
            complete.write_text(" ".join(ROOT), encoding="utf-8")
        return folder

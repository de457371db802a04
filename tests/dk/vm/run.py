#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev check-dk: dkctl on a stock kernel with sched_ext, in a virtual machine of 2 cores x 2 threads.

So is `mltp run --cgroup`, which needs control groups of version 2.
The machine boots from memory: a small Debian with dkctl, mltp and guest.py, which prints a line for each check.
Exit status: 0 all passed, 1 a check failed, 77 no machine can run here, and why.
"""
import argparse
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

from packages import Missing, Packages, compiled

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
busybox mkdir -p /proc /sys /dev /run /tmp
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox mkdir -p /dev/shm
busybox mount -t tmpfs shm /dev/shm
busybox mount -t tmpfs run /run
busybox mount -t tmpfs tmp /tmp
busybox mount -t cgroup2 cgroup /sys/fs/cgroup
busybox mount -t bpf bpf /sys/fs/bpf
for module in /modules/*.ko; do busybox insmod "$module"; done
python3 /dk/guest.py "$@" || echo "guest.py ended with status $?"
busybox sync
busybox poweroff -f
"""


def archive_of_apt():
    """Returns the address of Debian's archive that apt is set up with; exits with 77 without one."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True,
                            check=False).stdout.split()
    for address in listed:
        if address.rstrip("/").endswith("/debian"):
            return address.rstrip("/")
    print("run.py: no archive of Debian in apt's sources (name one by --mirror)", file=sys.stderr)
    sys.exit(77)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="dev check-dk", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build", help="the build tree (%(default)s)")
    parser.add_argument("--cache", type=pathlib.Path, help="packages and the machine's files (BUILD/dk-vm)")
    parser.add_argument("--mirror", help="Debian's archive (default: the one apt uses here)")
    parser.add_argument("--accel", default="tcg,thread=single", help="qemu's accelerator (%(default)s); kvm is faster")
    parser.add_argument("--seconds", type=int, default=3000, help="give up after this time (%(default)s)")
    parser.add_argument("--only", default="", metavar="NAME", help="only the checks whose names have one of these in them: NAME,NAME")
    parser.add_argument("--libbpf", action="store_true", help="print the folder of libbpf to build with, and end")
    return parser.parse_args()


def modules(kernel, root):
    """Unpacks the modules that the checks need."""
    (root / "modules").mkdir(exist_ok=True)
    for name in ("veth",):
        found = sorted(kernel.glob(f"**/{name}.ko*"))
        if not found:
            raise Missing(f"the kernel has no module {name}")
        data = found[0].read_bytes()
        (root / "modules" / f"{name}.ko").write_bytes(lzma.decompress(data) if found[0].suffix == ".xz" else data)


def add_program(program, root):
    """Copies a program of the build tree, and the libraries it needs that the machine lacks."""
    shutil.copy2(program, root / "usr/bin")
    needed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for path in re.findall(r"=> (/\S+)", needed):
        target = root / "usr/lib/x86_64-linux-gnu" / pathlib.Path(path).name
        if not target.exists():
            shutil.copy2(path, target)


def initramfs(options, packages, kernel):
    """Makes the machine's memory image; returns its path."""
    root = options.cache / "machine"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(packages.root(), root, symlinks=True)
    modules(kernel, root)
    for name in ("bin/dkctl", "libexec/mltp/dk-sched", "libexec/mltp/dk-load", "libexec/mltp/dk.bpf.o"):
        source = options.build / name
        if not source.exists():
            raise Missing(f"{source} is not there: the build found no libbpf 1.4, clang with target bpf, or jansson")
        target = root / "usr" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    for name in ("mltp", "mltpd"):
        add_program(options.build / "bin" / name, root)
    (root / "coord").mkdir()
    for name in ("cgroup.py", "stage.py"):
        shutil.copy2(SOURCE / "tests/coord" / name, root / "coord")
    launcher = root / "usr/bin/dkctl"  # of a build tree: it names the source folder
    text = re.sub(r'pathlib.Path\("[^"]*"\)', 'pathlib.Path("/dk")', launcher.read_text(encoding="utf-8"))
    launcher.write_text(re.sub(r'root / "/[^"]*"', 'root / "/dk"', text, count=1), encoding="utf-8")
    shutil.copytree(SOURCE / "dk/dkctl", root / "dk/dkctl", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(HERE / "guest.py", root / "dk/guest.py")
    for name in ("dk", "coord"):
        compiled(root, root / name, f"/{name}")
    (root / "init").write_text(INIT, encoding="utf-8")
    (root / "init").chmod(0o755)
    image = options.cache / "machine.cpio"
    names = subprocess.run(["find", ".", "-print0"], cwd=root, check=True, capture_output=True).stdout
    with open(image, "wb") as file:
        subprocess.run(["cpio", "-0", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=root, check=True, input=names,
                       stdout=file)
    return image


def boot(options, kernel, image):
    """Runs the machine to its end, showing its checks. Returns its whole output."""
    vmlinuz = next(kernel.glob("boot/vmlinuz-*"))
    command = ["qemu-system-x86_64", "-accel", options.accel, "-smp", "4,sockets=1,cores=2,threads=2", "-m", "1536",
               "-nographic", "-no-reboot", "-nic", "none", "-kernel", vmlinuz, "-initrd", image, "-append",
               f"console=ttyS0 panic=-1 quiet sysctl.kernel.sysrq=1 -- {options.only}"]
    if options.accel.startswith("tcg"):
        # The machine's clock counts its own instructions: a loaded host makes the run longer, and changes nothing else.
        command += ["-cpu", "max,vendor=GenuineIntel", "-icount", "shift=3,sleep=off", "-rtc", "clock=vm"]
    else:
        command += ["-cpu", "host"]
    lines = []
    process = subprocess.Popen(["timeout", str(options.seconds), *map(str, command)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        lines.append(line.rstrip())
        if re.match(r"(not )?ok |#|skip", line):
            print(line.rstrip(), flush=True)
    process.wait()
    (options.cache / "console.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


def check(options):
    """Everything; returns the exit status."""
    for tool in ("qemu-system-x86_64", "mmdebstrap", "cpio", "dpkg"):
        if not shutil.which(tool):
            raise Missing(f"{tool} is not installed")
    packages = Packages(options.cache, options.mirror or archive_of_apt())
    kernel = packages.kernel()
    print(f"check-dk: {kernel.name}, qemu -accel {options.accel}", flush=True)
    lines = boot(options, kernel, initramfs(options, packages, kernel))
    passed = [line for line in lines if line.startswith("ok ")]
    failed = [line for line in lines if line.startswith("not ok ")]
    ended = any(line.startswith("# end of checks") for line in lines)
    print(f"check-dk: {len(passed)} passed, {len(failed)} failed (console: {options.cache / 'console.log'})")
    if not ended and not passed and not failed:
        raise Missing("the machine did not come up (see the console)")
    if not ended:
        print(f"check-dk: the machine did not reach the end of the checks in {options.seconds} s", file=sys.stderr)
    return 0 if ended and passed and not failed else 1


def main():
    options = parse_arguments()
    options.cache = (options.cache or options.build / "dk-vm").absolute()
    options.cache.mkdir(parents=True, exist_ok=True)
    try:
        if options.libbpf:
            print(Packages(options.cache, options.mirror or archive_of_apt()).libbpf())
            return 0
        return check(options)
    except Missing as missing:
        print(f"check-dk: skipped: {missing}", file=sys.stderr)
        return 77


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())

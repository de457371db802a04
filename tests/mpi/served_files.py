# SPDX-License-Identifier: Apache-2.0
"""Files of jobs on 2 and 4 nodes, in namespaces (check_nodes.py), on a file system that a server gives to all: what
check_nfs.py and check_gluster.py have in common.

The server is in this process's network namespace, on the bridge, with its files in memory. All of it ends with this process.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import check_nodes
from check_nodes import end_of, expect, skip, step

NODES = [2, 4]
SERVER = "10.77.0.254"


def check(network, tmpirun, program, system, mount, warning):
    """Runs shared_by_nodes. mount: words of a command that mounts the folder `shared`."""
    for nodes in NODES:
        while len(network.holders) < nodes:
            network.add()
            network.in_node(len(network.holders) - 1, "mount", *mount)
        with step(f"{nodes} nodes x 2 ranks: files on {system}"):
            file = pathlib.Path(mount[-1]) / f"file{nodes}"
            said, status = end_of(network.start(nodes, tmpirun, "-n", 2 * nodes, program, "files", file))
        expect((said.splitlines()[-1:], status) == (["right"], 0), f"{nodes} nodes: status {status}:\n{said}")
        expect(warning in said, f"{nodes} nodes: no warning:\n{said}")


def main(text, system, server, mount, programs, missing_of_kernel, warning=""):
    """Exit status 77: what is needed is not there.

    system: its name, and its Debian package. server: a context manager of a folder, in which it may keep its files.
    mount: the words for mount(8) but the place. missing_of_kernel: says what the kernel has not, or "".
    """
    parser = argparse.ArgumentParser(description=text.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="shared_by_nodes")
    args = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    name, package = system
    missing = [program for program in ["mpirun.openmpi", *programs] if not shutil.which(program)]
    if missing or os.geteuid() != 0:
        skip(f"no {', '.join(missing)} (openmpi-bin {package})" if missing else f"a server of {name} needs root")
    if missing_of_kernel():
        skip(missing_of_kernel())
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.resolve().parent) as place:
        folder = pathlib.Path(place)
        network = check_nodes.Network(folder)
        for part in ["served", "shared"]:
            (folder / part).mkdir()
        try:
            with server(folder / "served"):
                check(network, args.tmpirun.resolve(), args.program.resolve(), name, [*mount, str(folder / "shared")], warning)
        finally:
            network.close()
            subprocess.run(["umount", "-l", str(folder / "served")], check=False)

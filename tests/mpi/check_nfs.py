#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of jobs on 2 and 4 nodes, in namespaces (check_nodes.py), on a file system that a server of NFS gives to all.

The server is the kernel's, of this process's network namespace, on the bridge. It exports a folder in memory; each node mounts
it by NFS 4.2. All of it ends with this process. Exit status 77: namespaces, or the kernel's server or client, are not there.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import check_nodes
from check_nodes import NET, end_of, expect, run, skip, step

PROGRAMS = ["mount.nfs", "exportfs", "rpc.nfsd", "rpc.mountd"]
NODES = [2, 4]
STATE = pathlib.Path("/var/lib/nfs")
SETTINGS = pathlib.Path("/proc/fs/nfsd")
GRACE_SECONDS = "10"  # in which a server that has started gives no locks; the kernel takes no less


@contextlib.contextmanager
def server(folder):
    """Exports a folder; what the server keeps is in this mount namespace only."""
    run("mount", "-t", "tmpfs", "none", str(folder))
    run("mount", "-t", "tmpfs", "none", str(STATE))
    for name in ["v4recovery", "rpc_pipefs"]:
        (STATE / name).mkdir()
    for name in ["etab", "rmtab"]:
        (STATE / name).touch()
    run("mount", "-t", "nfsd", "none", str(SETTINGS))
    for name in ["nfsv4leasetime", "nfsv4gracetime"]:
        (SETTINGS / name).write_text(GRACE_SECONDS)
    run("exportfs", "-i", "-o", "rw,no_root_squash,no_subtree_check,fsid=0", f"{NET}:{folder}")
    with subprocess.Popen(["rpc.mountd", "--foreground", "--no-nfs-version", "3"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
        run("rpc.nfsd", "--no-nfs-version", "3", "4")
        try:
            yield
        finally:
            run("rpc.nfsd", "0")
            daemon.kill()


def check(network, tmpirun, program, shared):
    for nodes in NODES:
        while len(network.holders) < nodes:
            network.add()
            network.in_node(len(network.holders) - 1, "mount", "-t", "nfs4", "-o", "vers=4.2", "10.77.0.254:/", str(shared))
        with step(f"{nodes} nodes x 2 ranks: files on NFS"):
            said, status = end_of(network.start(nodes, tmpirun, "-n", 2 * nodes, program, "files", shared / f"file{nodes}"))
        expect((said.splitlines()[-1:], status) == (["right"], 0), f"{nodes} nodes: status {status}:\n{said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="shared_by_nodes")
    args = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in ["mpirun.openmpi", *PROGRAMS] if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        skip(f"no {', '.join(missing)} (openmpi-bin nfs-kernel-server)" if missing else "a server of NFS needs root")
    known = pathlib.Path("/proc/filesystems").read_text(encoding="ascii").split()
    if not {"nfsd", "nfs4"} <= set(known):
        skip("this kernel has no server of NFS, or no client (modprobe nfsd nfsv4)")
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.resolve().parent) as name:
        folder = pathlib.Path(name)
        network = check_nodes.Network(folder)
        (folder / "export").mkdir()
        (folder / "shared").mkdir()
        try:
            with server(folder / "export"):
                check(network, args.tmpirun.resolve(), args.program.resolve(), folder / "shared")
        finally:
            network.close()
            subprocess.run(["umount", "-l", str(folder / "export")], check=False)


if __name__ == "__main__":
    main()

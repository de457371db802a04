#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of jobs on 2 and 4 nodes, in namespaces (check_nodes.py), on a file system that a server of NFS gives to all.

The server is the kernel's, of this process's network namespace, on the bridge. It exports a folder in memory; each node mounts
it by NFS 4.2. All of it ends with this process. Exit status 77: namespaces, or the kernel's server or client, are not there.
"""
import contextlib
import pathlib
import subprocess

import served_files
from check_nodes import NET, run

PROGRAMS = ["mount.nfs", "exportfs", "rpc.nfsd", "rpc.mountd"]
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


def missing_of_kernel():
    known = pathlib.Path("/proc/filesystems").read_text(encoding="ascii").split()
    return "" if {"nfsd", "nfs4"} <= set(known) else "this kernel has no server of NFS, or no client (modprobe nfsd nfsv4)"


if __name__ == "__main__":
    served_files.main(__doc__, ("NFS", "nfs-kernel-server"), server, ["-t", "nfs4", "-o", "vers=4.2", f"{served_files.SERVER}:/"],
                      PROGRAMS, missing_of_kernel)

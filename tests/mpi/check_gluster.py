#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of jobs on 2 and 4 nodes, in namespaces (check_nodes.py), on a file system in user space: GlusterFS.

The server is a process of this network namespace, on the bridge, with its files in memory. The client of each
node is set to remember nothing (OFF, MOUNT). All of it ends with this process. Exit status 77: namespaces or GlusterFS are not there.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import check_nodes
from check_nodes import end_of, expect, run, skip, step, wait_until

PROGRAMS = ["glusterd", "gluster", "mount.glusterfs"]
SERVER = "10.77.0.254"
NODES = [2, 4]
STATE = ["/var/lib/glusterd", "/var/log/glusterfs", "/run"]  # of the server and the clients: in this mount namespace only
# What tmpirun(1) advises.
OFF = ["stat-prefetch", "quick-read", "io-cache", "read-ahead", "readdir-ahead", "open-behind", "write-behind"]
MOUNT = "attribute-timeout=0,entry-timeout=0,direct-io-mode=enable"
START_SECONDS = 60


def gluster(*words, **options):
    return subprocess.run(["gluster", "--mode=script", *words], check=False, capture_output=True, text=True, **options)


def command(*words):
    done = gluster(*words)
    expect(done.returncode == 0, f"gluster {' '.join(words)}: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def server(folder):
    """Gives the volume `files`, whose data are in a folder."""
    for name in [folder, *STATE]:
        run("mount", "-t", "tmpfs", "none", str(name))
    pathlib.Path("/run/gluster").mkdir()
    (folder / "data").mkdir()
    with subprocess.Popen(["glusterd", "--no-daemon"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
        try:
            wait_until(lambda: gluster("volume", "list").returncode == 0, START_SECONDS, "glusterd does not answer")
            command("volume", "create", "files", f"{SERVER}:{folder}/data", "force")
            for name in OFF:
                command("volume", "set", "files", f"performance.{name}", "off")
            command("volume", "start", "files")
            yield
        finally:
            daemon.kill()


def check(network, tmpirun, program, shared):
    for nodes in NODES:
        while len(network.holders) < nodes:
            network.add()
            network.in_node(len(network.holders) - 1, "mount", "-t", "glusterfs", "-o", MOUNT, f"{SERVER}:/files", str(shared))
        with step(f"{nodes} nodes x 2 ranks: files on GlusterFS"):
            said, status = end_of(network.start(nodes, tmpirun, "-n", 2 * nodes, program, "files", shared / f"file{nodes}"))
        expect((said.splitlines()[-1:], status) == (["right"], 0), f"{nodes} nodes: status {status}:\n{said}")
        expect("is on a file system in user space" in said, f"{nodes} nodes: no warning:\n{said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="shared_by_nodes")
    args = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in ["mpirun.openmpi", *PROGRAMS] if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        skip(f"no {', '.join(missing)} (openmpi-bin glusterfs-server)" if missing else "mounting GlusterFS needs root")
    if not pathlib.Path("/dev/fuse").exists():
        skip("this kernel has no FUSE (modprobe fuse)")
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.resolve().parent) as name:
        folder = pathlib.Path(name)
        network = check_nodes.Network(folder)
        for part in ["served", "shared"]:
            (folder / part).mkdir()
        try:
            with server(folder / "served"):
                check(network, args.tmpirun.resolve(), args.program.resolve(), folder / "shared")
        finally:
            network.close()
            subprocess.run(["umount", "-l", str(folder / "served")], check=False)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of jobs on 2 and 4 nodes, in namespaces (check_nodes.py), on a file system in user space: GlusterFS.

The server is a process of this network namespace, on the bridge, with its files in memory. The client of each
node is set to remember nothing (OFF, MOUNT). All of it ends with this process. Exit status 77: namespaces or GlusterFS are not there.
"""
import contextlib
import pathlib
import subprocess

import served_files
from check_nodes import expect, run, wait_until
from served_files import SERVER

PROGRAMS = ["glusterd", "gluster", "mount.glusterfs"]
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


def missing_of_kernel():
    return "" if pathlib.Path("/dev/fuse").exists() else "this kernel has no FUSE (modprobe fuse)"


if __name__ == "__main__":
    served_files.main(__doc__, ("GlusterFS", "glusterfs-server"), server, ["-t", "glusterfs", "-o", MOUNT, f"{SERVER}:/files"],
                      PROGRAMS, missing_of_kernel, "is on a file system in user space")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job on two nodes under Slurm's own daemons: munged, slurmctld and two slurmd of this machine, in namespaces.

Each slurmd has a /tmp of its own, or the folders of PMIx clash. All of it ends with this process, and its files with it.
Exit status 77: namespaces or Slurm are not there.
"""
import argparse
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import check_nodes

ADDRESS = "10.77.1.1"
DAEMONS = ["munged", "slurmctld", "slurmd", "srun"]
SETTINGS = """ClusterName=check
SlurmctldHost={host}({address})
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
NodeName=s1 NodeHostname={host} NodeAddr={address} Port=17001 CPUs=2
NodeName=s2 NodeHostname={host} NodeAddr={address} Port=17002 CPUs=2
PartitionName=all Nodes=s1,s2 Default=YES State=UP
"""


def start_daemons(folder):
    host = socket.gethostname()
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {host}\n")
    for command in ["ip link set lo up", "ip link add switch type bridge", f"ip addr add {ADDRESS}/24 dev switch",
                    "ip link set switch up", "mount -t tmpfs none /run", f"mount --bind {folder}/hosts /etc/hosts"]:
        check_nodes.run(*command.split())
    for name in ["state", "s1", "s2", "key"]:
        (folder / name).mkdir(mode=0o700)
    pathlib.Path("/run/munge").mkdir(mode=0o755)
    (folder / "key/munge.key").write_bytes(os.urandom(128))
    (folder / "key/munge.key").chmod(0o400)
    check_nodes.run("munged", "--force", f"--key-file={folder}/key/munge.key", f"--log-file={folder}/key/log",
                    f"--seed-file={folder}/key/seed", "--pid-file=/run/munge/pid", "--socket=/run/munge/munge.socket.2")
    (folder / "slurm.conf").write_text(SETTINGS.format(host=host, address=ADDRESS, folder=folder))
    check_nodes.run("slurmctld")
    for name in ["s1", "s2"]:
        check_nodes.run("unshare", "-m", "sh", "-c", f"mount -t tmpfs none /tmp; exec slurmd -N {name}")
    check_nodes.wait_until(lambda: "2 idle" in " ".join(check_nodes.run("sinfo", "-h", "-o", "%D %t").stdout.split()),
                           60, "Slurm's nodes do not become idle")


def srun(*command, mpi="pmix"):
    job = subprocess.Popen(["srun", "-N", "2", "--ntasks-per-node=1", f"--mpi={mpi}", *map(str, command)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", env=dict(os.environ, UCX_TLS="tcp"))
    return check_nodes.end_of(job)


def check(tmpirun, program, folder):
    shared = program.parent / "shared_by_nodes"
    for what, file in [("partitioned", ""), ("windows", ""), ("files", folder / "file")]:
        with check_nodes.step(f"srun on 2 nodes: {what}"):
            said, ended = srun(tmpirun, "--timeout=600", "-n", 4, shared, what, file)
        check_nodes.expect((said.splitlines()[-1:], ended) == (["right"], 0), f"{what}: status {ended}:\n{said}")
    for what, status, text in [("short", 0, "right"), ("stuck", 86, "wait for each other in a circle"),
                               ("exit", 3, "rank 3 ended with status 3"), ("abort", 7, "MPI_Abort(7)"),
                               ("die", None, "its process is gone")]:
        with check_nodes.step(f"srun on 2 nodes: {what}"):
            said, ended = srun(tmpirun, "--timeout=600", "-n", 4, program, what)
        right = ended == status if status is not None else ended not in (0, 124)
        check_nodes.expect(right and text in said, f"{what}: status {ended}:\n{said}")
    said, ended = srun(tmpirun, "-n", 5, program)
    check_nodes.expect(ended == 1 and "choose a multiple of 2" in said, f"-n 5: status {ended}:\n{said}")
    for mpi in ["none", "pmi2"]:
        said, ended = srun(tmpirun, "-n", 4, program, mpi=mpi)
        check_nodes.expect(ended == 1 and "has started 2 processes of one job" in said and "srun --mpi=pmix" in said,
                           f"--mpi={mpi}: status {ended}:\n{said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="over_nodes; shared_by_nodes is beside it")
    args = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in DAEMONS if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        check_nodes.skip(f"no {', '.join(missing)} (slurm-wlm)" if missing else "Slurm's daemons need root")
    check_nodes.skip_in_tmp(args)
    if check_nodes.INSIDE not in os.environ:
        check_nodes.enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.resolve().parent) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
        begin = time.monotonic()
        start_daemons(folder)
        print(f"Slurm's daemons: {time.monotonic() - begin:.1f} s", flush=True)
        check(args.tmpirun.resolve(), args.program.resolve(), folder)


if __name__ == "__main__":
    main()

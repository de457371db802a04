#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on several nodes, each a network, mount and host-name namespace of this machine, joined by a bridge.

Runs over_nodes on 2, 4 and 8 nodes under Open MPI's mpirun or PRRTE's prterun, and by tmpirun --hosts. Then it has a
deadlock, cuts a link, and kills a node. All of it happens in namespaces of this process, so nothing is left when it ends.
Exit status 77: namespaces or the launcher are refused here.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

INSIDE = "CHECK_NODES_INSIDE"
NET = "10.77.0.0/24"
LAUNCHERS = {  # the option for a setting, and the settings; each is a variable with the prefix, too
    "mpirun.openmpi": ("--mca", "OMPI_MCA_", {"plm_rsh_agent": "{agent}", "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": NET}),
    "prterun": ("--prtemca", "PRTE_MCA_", {"plm_ssh_agent": "{agent}", "plm_ssh_no_tree_spawn": "1", "prte_if_include": NET})}
DAEMONS = ["orted", "prted"]  # theirs, on each node
SECONDS = 600  # far more than a job takes: a busy machine may be that slow
STILL_SECONDS = 30  # as nodes.py
SILENCE_SECONDS = 17  # src/tmpi/nodes/links.c
AGENT = """#!/bin/sh
host=$1
shift
exec nsenter -t $(cat "{folder}/$host") -n -m -u -- sh -c "$*"
"""


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def enter_namespaces():
    """Starts this script again as the first process of its own namespaces."""
    unshare = ["unshare", "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        unshare += ["-U", "-r"]
    probe = subprocess.run([*unshare, "ip", "link", "add", "probe", "type", "bridge"],
                           check=False, capture_output=True, text=True)
    if probe.returncode != 0:
        skip(f"no namespaces with a bridge here: {probe.stderr.strip()}")
    result = subprocess.run([*unshare, sys.executable, "-B", *sys.argv], env=dict(os.environ, **{INSIDE: "1"}), check=False)
    sys.exit(result.returncode)


class Network:
    """A bridge, and nodes with one link each. The launcher is on the bridge."""

    def __init__(self, folder, launcher="mpirun.openmpi"):
        self.folder, self.holders, self.launcher = folder, [], launcher
        (folder / "agent").write_text(AGENT.format(folder=folder))
        (folder / "agent").chmod(0o755)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "switch", "address", "02:00:00:00:00:fe", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.254/24", "dev", "switch")
        run("ip", "link", "set", "switch", "up")

    def in_node(self, node, *command):
        return run("nsenter", "-t", str(self.holders[node].pid), "-n", "-m", "-u", "--", *command)

    def add(self, clock=0):
        """Adds a node. clock: seconds that its monotonic clock is ahead."""
        node = len(self.holders)
        ahead = ["-T", f"--monotonic={clock}", f"--boottime={clock}"] if clock else []
        holder = subprocess.Popen(["unshare", "-n", "-m", "-u", *ahead, "sh", "-c", "echo; exec sleep infinity"],
                                  stdout=subprocess.PIPE)
        holder.stdout.readline()  # it is in its namespaces
        self.holders.append(holder)
        self.link(node)
        for command in [f"hostname node{node}", "ip link set lo up", "mount -t tmpfs none /tmp", "mount -t sysfs none /sys"]:
            self.in_node(node, "sh", "-c", command)
        (self.folder / f"10.77.0.{node + 1}").write_text(f"{holder.pid}{' -T' if clock else ''}")

    def link(self, node):
        run("ip", "link", "add", f"port{node}", "type", "veth", "peer", "name", "eth0", "netns", str(self.holders[node].pid))
        self.plug(node)

    def plug(self, node):
        """Other nodes remember a node's address, also if it gets another link."""
        run("ip", "link", "set", f"port{node}", "master", "switch", "up")
        self.in_node(node, "sh", "-c", f"ip addr add 10.77.0.{node + 1}/24 dev eth0; "
                                       f"ip link set eth0 address 02:00:00:00:00:{node + 1:02x} up")

    @contextlib.contextmanager
    def slow_link(self, node, delay, loss):
        """Frames of a node come after a delay in ms, but for some percent of them."""
        run("ip", "link", "del", f"port{node}")
        command = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("slow_link.py")),
                   str(self.holders[node].pid), f"port{node}", str(delay), str(loss)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as relay:
            expect(relay.stdout.readline() == b"ready\n", "no TAP devices")
            self.plug(node)
            yield
            relay.stdin.close()
        self.link(node)

    def start(self, nodes, *command, stdout=subprocess.PIPE):
        hosts = ",".join(f"10.77.0.{node + 1}" for node in range(nodes))
        environment = dict(os.environ, UCX_TLS="tcp", UCX_NET_DEVICES="eth0")
        option, _, settings = LAUNCHERS[self.launcher]
        settings = [word for name, value in settings.items() for word in (option, name, value.format(agent=self.folder / "agent"))]
        return subprocess.Popen(
            [self.launcher, "--allow-run-as-root", "--host", hosts, "-n", str(nodes), *settings, "-x", "UCX_TLS",
             "-x", "UCX_NET_DEVICES", *map(str, command)],
            env=environment, stdout=stdout, stderr=subprocess.STDOUT, text=True)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


@contextlib.contextmanager
def step(text):
    begin = time.monotonic()
    yield
    print(f"{text}: {time.monotonic() - begin:.1f} s", flush=True)


def expect(condition, text):
    if not condition:
        sys.exit(f"check-nodes: {text}")


def reap():
    """The launcher leaves its daemons to the first process of the namespace, which this is."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass


def end_of(job):
    """Output and status of a job, which ends within a bound."""
    try:
        said, _ = job.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        job.kill()
        sys.exit(f"check-nodes: a job has not ended after {SECONDS} s:\n{job.communicate()[0]}")
    reap()
    return said, job.returncode


class StandsStill(Exception):
    """All nodes have ended, but the launcher does not: in PMIx 4.2 PMIx_server_finalize() of one of its daemons and the
    server's thread may wait for each other when a node was killed."""


def end_after_fault(network, tmpirun, job):
    """As end_of() for a job that fails."""
    still = 0
    for _ in range(SECONDS):
        with contextlib.suppress(subprocess.TimeoutExpired):
            said, _ = job.communicate(timeout=1)
            reap()
            return said, job.returncode
        still = 0 if processes_of(network, tmpirun) else still + 1
        if still == STILL_SECONDS:
            break
    for name in DAEMONS:
        kill(processes_of(network, name))
    job.kill()
    said, _ = job.communicate()
    reap()
    expect(still == STILL_SECONDS, f"a job that fails has not ended after {SECONDS} s:\n{said}")
    raise StandsStill


def try_fault(function, *arguments):
    """Calls it again if the launcher stands still, which is not ours."""
    for _ in range(5):
        try:
            return function(*arguments)
        except StandsStill:
            print("the launcher stands still: once more", flush=True)
    sys.exit("check-nodes: the launcher has stood still five times")


def kill(entries):
    for entry in entries:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(entry.name), signal.SIGKILL)


def processes_of(network, name):
    """The processes of a program on all nodes, by their command line."""
    spaces = [os.readlink(f"/proc/{holder.pid}/ns/net") for holder in network.holders]
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0] == os.fsencode(name) and os.readlink(entry / "ns/net") in spaces:
                found.append(entry)
    return found


def lines_of(said):
    """What a job has printed, without a warning of mpirun's, which comes now and then."""
    return [line for line in said.splitlines() if "setpgid" not in line]


def wait_until(condition, seconds, text):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, text)
        time.sleep(0.1)


def cut_link(network, tmpirun, program, what):
    """The processes of both nodes end, each with a message that names the other. The launcher, which is not ours,
    may wait for the node that it no longer hears of."""
    with tempfile.TemporaryFile("w+") as said:
        job = network.start(2, tmpirun, "-n", 4, program, what, stdout=said)
        wait_until(lambda: len(processes_of(network, tmpirun)) == 2, SECONDS, "2 nodes have not started")
        time.sleep(3)  # the ranks have begun
        run("ip", "link", "set", "port1", "down")
        wait_until(lambda: not processes_of(network, tmpirun), SILENCE_SECONDS + 10,
                   f"nodes have not ended {SILENCE_SECONDS + 10} s after the link was cut")
        run("ip", "link", "set", "port1", "up")
        wait_until(lambda: end_of_launcher(job) is not None, SECONDS, "the launcher stays")
        said.seek(0)
        text = said.read()
        expect("node 1 (node1): no answer for" in text, f"node 0 has not told that node 1 is gone:\n{text}")


def end_of_launcher(job):
    if job.poll() is None:
        job.terminate()
    return job.poll()


def start_by_tmpirun(network, tmpirun, program):
    """tmpirun finds PRRTE's or Open MPI's launcher, and forwards its own environment."""
    environment = dict(os.environ, UCX_TLS="tcp", UCX_NET_DEVICES="eth0")
    for _, prefix, settings in LAUNCHERS.values():
        environment |= {prefix + name: value.format(agent=network.folder / "agent") for name, value in settings.items()}
    return subprocess.Popen([tmpirun, "-n", "4", "--hosts", "10.77.0.1:2,10.77.0.2", program, "short"], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def deadlock(network, tmpirun, program, nodes):
    said, status = end_after_fault(network, tmpirun, network.start(nodes, tmpirun, "-n", 2 * nodes, program, "stuck"))
    expect(status == 86 and said.count("tmpi: deadlock of") == 1 and "wait for each other in a circle" in said,
           f"no report of a deadlock: status {status}:\n{said}")


def kill_node(network, tmpirun, program):
    said, status = end_after_fault(network, tmpirun, network.start(2, tmpirun, "-n", 4, program, "die"))
    expect(status != 0 and ("node1" in said or "10.77.0.2" in said), f"status {status}:\n{said}")


def check(network, tmpirun, program):
    for nodes in [2, 4, 8]:
        while len(network.holders) < nodes:
            network.add()
        with step(f"{nodes} nodes x 2 ranks"):
            said, status = end_of(network.start(nodes, tmpirun, "-n", 2 * nodes, program,
                                                "all" if nodes < 8 else "short"))
        expect((lines_of(said), status) == (["right"], 0), f"{nodes} nodes: status {status}:\n{said}")
    shared = program.parent / "shared_by_nodes"
    for what, file in [("partitioned", ""), ("windows", ""), ("files", network.folder / "file"),
                       ("not_one_file", "/tmp/file")]:  # nodes have a /tmp of their own
        with step(f"4 nodes x 2 ranks: {what}"):
            said, status = end_of(network.start(4, tmpirun, "-n", 8, shared, what, file))
        expect((said.splitlines()[-1:], status) == (["right"], 0), f"{what}: status {status}:\n{said}")
    with step("tmpirun --hosts, on 2 nodes"):
        said, status = end_of(start_by_tmpirun(network, tmpirun, program))
    expect((said.splitlines()[-1:], status) == (["right"], 0), f"--hosts: status {status}:\n{said}")
    for nodes in [2, 4]:
        with step(f"a deadlock of {nodes} nodes"):
            try_fault(deadlock, network, tmpirun, program, nodes)
    for what in ["wait", "stream"]:
        with step(f"a link that is cut while ranks {what}"):
            cut_link(network, tmpirun, program, what)
    with step("a node that is killed"):
        try_fault(kill_node, network, tmpirun, program)


def skip_in_tmp(args):
    if any(pathlib.Path("/tmp") in path.resolve().parents for path in [args.tmpirun, args.program]):
        skip("each node has a /tmp of its own, and the build is in /tmp (build elsewhere)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tmpirun", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, help="over_nodes; shared_by_nodes is beside it")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="mpirun.openmpi")
    args = parser.parse_args()
    if not shutil.which(args.launcher):
        skip(f"no {args.launcher} (openmpi-bin)")
    skip_in_tmp(args)
    if INSIDE not in os.environ:
        enter_namespaces()
    with tempfile.TemporaryDirectory(dir=args.program.parent) as folder:  # nodes have a /tmp of their own
        network = Network(pathlib.Path(folder).resolve(), args.launcher)
        try:
            check(network, args.tmpirun.resolve(), args.program.resolve())
        finally:
            network.close()


if __name__ == "__main__":
    main()

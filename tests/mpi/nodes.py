#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several tmpiruns that a launcher has started as one job: each is a node of it, and their ranks exchange messages.

The launcher is Open MPI's mpirun, or with --launcher=prterun PRRTE's; without one that has PMIx, or without UCX, the test is
skipped. All nodes are on this machine, and UCX uses TCP as it would between two."""
import ctypes
import json
import os
import re
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

TMPIRUN, PROGRAM, OVER_NODES, SHARED, FAILING = "", "", "", "", ""
LAUNCHERS = {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe"],
             "prterun": ["--allow-run-as-root", "--map-by", ":oversubscribe"]}
LAUNCHER = "mpirun.openmpi"
GONE = r"node 1 \(\S+\): its process is gone.*: this node \(0, \S+\) ends, too"
GROUPS, OWN_GROUP = "/sys/fs/cgroup", "mount --bind /sys/fs/cgroup/own /proc/$$/cgroup"
NO_MEMORY = "(NO-MEM|PMIX_ERR_NOMEM)"  # PMIx 4 and 5
REFUSALS = pathlib.Path(__file__).parents[2] / "tools/mpi/refusals.py"
ASKS = 'test -n "$PMIX_NAMESPACE"'
LOOKS = 30  # at a launcher without nodes, a second apart, until it counts as standing still
# The launcher joins the nodes' errors in pieces, which may cut lines, and loses some of a job that fails.
APART = ["sh", "-c", 'exec "$0" "$@" 2>>"$NODE_ERRORS/$PMIX_RANK"']


def ended_children(pid):
    """The signals that ended the children of a process, 0 for a status, if all are zombies. None if one lives.

    None also where the kernel does not tell, or the process ends meanwhile.
    """
    try:
        lists = [path.read_text() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")]
        states = [pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split() for child in " ".join(lists).split()]
    except OSError:
        return None
    return None if lists == [] or any(state[0] != "Z" for state in states) else [int(state[-1]) & 127 for state in states]


def run_launcher(words, environment, folder):
    """Again where the launcher stands still although all nodes have ended.

    In PMIx 4.2 PMIx_server_finalize() and the server's thread may wait for each other when a node was killed. The
    launcher then ignores SIGTERM, and may not have collected its nodes. A node that crashed is no fault of the launcher.
    """
    for number in range(1, 6):
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as launcher:
            looks, ends = 0, None
            while looks < LOOKS:
                try:
                    stdout, stderr = launcher.communicate(timeout=1)
                    return subprocess.CompletedProcess(words, launcher.returncode, stdout, stderr)
                except subprocess.TimeoutExpired:
                    ends = ended_children(launcher.pid)
                    looks = looks + 1 if ends is not None else 0
            launcher.kill()
        said = [path.read_text() for path in sorted(folder.iterdir())]
        print(f"{words[0]} stands still although its nodes have ended (try {number} of 5): killed by SIGKILL; the nodes said {said}",
              file=sys.stderr)
        if not {0, signal.SIGKILL, signal.SIGTERM}.issuperset(ends):
            raise AssertionError(f"nodes were ended by signals {ends}, and the launcher stood still: {words}")
        for path in folder.iterdir():
            path.unlink()
    raise AssertionError(f"the launcher stood still five times: {words}")


def launch(*arguments, **variables):
    words = [word for argument in arguments for word in ([*APART, argument] if argument == TMPIRUN else [argument])]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NODE_ERRORS=folder, **{"UCX_TLS": "tcp", **variables})
        result = run_launcher([LAUNCHER, *LAUNCHERS[LAUNCHER], *words], environment, pathlib.Path(folder))
        if ":" in words and result.returncode == -signal.SIGSEGV:
            raise unittest.SkipTest("this mpirun crashes when it is to start two programs, as that of Open MPI 5.0.7")
        result.stderr += "".join(path.read_text() for path in sorted(pathlib.Path(folder).iterdir()))
    return result


class Nodes(unittest.TestCase):
    def refused(self, *arguments, **variables):
        result = launch(*arguments, **variables)
        self.assertEqual(result.returncode, 1, result)
        return result.stderr

    def test_ranks_of_several_nodes_exchange_messages(self):
        for nodes, ranks, what in [(2, 4, "all"), (3, 6, "short"), (2, 24, "short")]:  # 24: messages of nodes in pieces
            result = launch("-n", str(nodes), TMPIRUN, "-n", str(ranks), OVER_NODES, what)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_more_than_there_is_room_for(self):
        """A rank with too little room gets an error and what fits, as on one node, and the others get all."""
        for name, nodes, ranks in [("collectives", 2, 6), ("collectives", 3, 6), ("collectives", 4, 4), ("offers", 2, 6)]:
            with self.subTest(name, nodes=nodes, ranks=ranks):
                result = launch("-n", str(nodes), TMPIRUN, "-n", str(ranks), str(pathlib.Path(SHARED).with_name(name)), "wrong")
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), result)

    def test_messages_in_a_row(self):
        program = str(pathlib.Path(SHARED).with_name("bursts"))
        for nodes, ranks, variables in [(2, 2, {}), (2, 8, {}), (4, 8, {}), (2, 8, {"MLTP_VPS": "1"})]:
            with self.subTest(nodes=nodes, ranks=ranks, **variables), tempfile.TemporaryDirectory() as folder:
                words = [word for name in variables for word in ("-x", name)]
                result = launch("-n", str(nodes), *words, TMPIRUN, "--timeout=600", "-n", str(ranks), program, folder,
                                **variables)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_each_rank_knows_its_place(self):
        result = launch("-n", "2", TMPIRUN, "--label", "-n", "4", OVER_NODES, "place")
        lines = [f"[{rank}] {rank} {rank % 2} 4 2" for rank in range(4)]
        self.assertEqual((result.returncode, sorted(result.stdout.splitlines())), (0, lines), result)

    def test_a_new_function_is_refused_until_it_has_a_form_for_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            header, out = pathlib.Path(folder, "new.h"), pathlib.Path(folder, "refusals.c")
            header.write_text("int MPI_Comm_join(int fd, MPI_Comm *intercomm);\nint MPI_Comm_join_all(int fd);\n")
            subprocess.run([sys.executable, "-B", REFUSALS, header, "--out", out], check=True)
            self.assertEqual(re.findall(r'strcmp\(name, "(\w+)"\)', out.read_text()), ["MPI_Comm_join_all"])

    def test_options_of_one_node(self):
        for option in ["--seed=3", "--share=libnone"]:
            said = self.refused("-n", "2", TMPIRUN, option, "-n", "4", OVER_NODES)
            name = option.split("=", maxsplit=1)[0]
            self.assertRegex(said, rf"tmpirun: node 0 \(\S+\): {name} is not available in a job of 2 nodes")

    def checked(self, what, *options, nodes=4):
        mistakes = pathlib.Path(SHARED).with_name("mistakes")
        if not mistakes.exists():
            self.skipTest("no names of lines here")
        return launch("-n", str(nodes), TMPIRUN, *options, "--timeout=600", "-n", "4", str(mistakes), what)

    def test_check_compares_nodes(self):
        """Each rank is a node, so what differs is another node's."""
        for what, why, line in [("wrong-order", "call different collectives", r"node 1: MPI_Barrier\(\)"),
                                ("wrong-root", "name different roots", r"node 2: MPI_Bcast\(root 1, 1 basic element\)"),
                                ("other-op", "name different operations", r"node 3: MPI_Allreduce\(4 basic elements, MPI_MAX\)"),
                                ("other-count", "have different data", r"node 1: MPI_Reduce\(root 0, 5 basic elements, MPI_SUM\)")]:
            with self.subTest(what):
                result = self.checked(what, "--check")
                self.assertEqual((result.returncode, result.stdout), (1, ""), result)
                self.assertEqual(result.stderr.count("tmpi: check: "), 1, result)
                self.assertIn(f"tmpi: check: nodes of MPI_COMM_WORLD {why}:\n", result.stderr)
                self.assertRegex(result.stderr, rf"(?m)^tmpi:   {line} at mistakes.c:\d+ \(")
        for what in ["same-data", "right-buffers", "ordered-accesses", "intercomm"]:
            with self.subTest(what):
                result = self.checked(what, "--check=strict")
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), result)

    def test_check_of_each_node(self):
        result = launch("-n", "2", TMPIRUN, "--check=strict", "-n", "4", OVER_NODES, "short")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)
        result = self.checked("never-received", "--check")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("tmpi: check: rank 1: 2 messages were never received: 12 bytes from rank 0 of MPI_COMM_WORLD, tag 4", result.stderr)
        result = self.checked("only-leaks", "--check=strict", nodes=2)
        self.assertEqual(result.returncode, 1, result)
        for ranks in ["0-1", "2-3"]:
            self.assertIn(f"tmpi: check: ranks {ranks}: 2 groups were not freed, ", result.stderr)
        said = self.refused("-n", "1", TMPIRUN, "--check", "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "4", PROGRAM)
        self.assertIn("have different words for --check", said)

    def test_one_report_of_all_nodes(self):
        result = launch("-n", "2", TMPIRUN, "--report", "-n", "4", OVER_NODES, "nothing")
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result)
        self.assertEqual(result.stderr.count("tmpi: report of"), 1, result)
        self.assertIn("tmpi: report of 4 ranks on 2 nodes; ", result.stderr)
        for call in ["MPI_Init", "MPI_Barrier", "MPI_Finalize"]:
            rank, node = re.search(rf"(?m)^{call} +4 .* (\d+) +(\d)$", result.stderr).groups()
            self.assertEqual(int(node), int(rank) // 2, result)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report.json")
            result = launch("-n", "2", TMPIRUN, f"--report={file}", "-n", "4", OVER_NODES, "short")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)
            report = json.loads(file.read_text())
        ranks = report["ranks"]
        self.assertEqual([(rank["rank"], rank["node"]) for rank in ranks], [(0, 0), (1, 0), (2, 1), (3, 1)])
        self.assertEqual([rank["calls"]["MPI_Finalize"]["calls"] for rank in ranks], [1] * 4)
        self.assertEqual([rank["calls"]["MPI_Send"]["messages"] for rank in ranks[1:]], [30] * 3)  # to rank 0
        self.assertEqual(sum(rank["parks"] for rank in ranks), report["waits"]["parks"])
        said = self.refused("-n", "1", TMPIRUN, "--report", "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "4", PROGRAM)
        self.assertIn("have different words for --report", said)

    def test_a_node_without_ucx(self):
        said = self.refused("-n", "2", TMPIRUN, "-n", "4", OVER_NODES, UCX_TLS="none_of_them")
        self.assertRegex(said, r"node 0 \(\S+\) cannot carry messages to other nodes: no UCX")

    def test_a_node_that_the_others_cannot_reach(self):
        result = launch("-n", "1", TMPIRUN, "-n", "2", OVER_NODES, "place",
                        ":", "-n", "1", "-x", "UCX_TLS=self,posix", TMPIRUN, "-n", "2", OVER_NODES, "place")
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertRegex(result.stderr, r"tmpirun: node 0 \(\S+\) cannot connect to the other nodes: node 1 \(\S+\): ")

    def test_damaged_libraries(self):
        """They are named, with what the loader says of them."""
        with tempfile.TemporaryDirectory() as folder:
            ucx = pathlib.Path(folder, "libucp.so.0")
            ucx.touch()
            said = self.refused("-n", "2", "-x", f"LD_LIBRARY_PATH={folder}", TMPIRUN, "-n", "4", OVER_NODES)
            ucx.unlink()
            pathlib.Path(folder, "libpmix.so.2").touch()
            self.assertRegex(said, rf"node 0 \(\S+\) cannot carry messages to other nodes: no UCX: {folder}/libucp.so.0: ")
            environment = dict(os.environ, PMIX_NAMESPACE="gone", PMIX_RANK="0", LD_LIBRARY_PATH=folder)
            result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False,
                                    env=environment)
            self.assertEqual(result.returncode, 0, result)
            self.assertRegex(result.stderr, rf"job of its own, .*: no library of PMIx: {folder}/libpmix.so.2: ")
            environment["OMPI_COMM_WORLD_SIZE"] = "2"  # then two jobs would run
            result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False,
                                    env=environment)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertRegex(result.stderr, r"has started 2 processes .*: no library of PMIx: .*\(.*env -u OMPI_COMM_WORLD_SIZE tmpirun\)\n$")

    def ends_early(self, status, why, *arguments):
        """Both other nodes print which node ended the job, and why; all have the same status."""
        result = launch("-n", "3", TMPIRUN, *arguments)
        self.assertEqual(result.returncode, status, result)
        self.assertNotIn("right", result.stdout)
        said = re.findall(rf"tmpirun: node (\d) \(\S+\): {why}.*: this node \((\d), \S+\) ends, too", result.stderr)
        self.assertEqual({node for node, _ in said}, {"2"}, result)
        self.assertEqual(sorted(other for _, other in said), ["0", "1"], result)

    def test_a_node_that_ends_early_tells_the_others(self):
        for what, status, why in [("abort", 7, r"rank 5 called MPI_Abort\(7\)"),
                                  ("exit", 3, "rank 5 ended with status 3"),
                                  ("crash", 139, "rank 5: SIGSEGV")]:
            with self.subTest(what):
                self.ends_early(status, why, "--timeout=600", "-n", "6", OVER_NODES, what)

    def test_a_node_that_is_killed(self):
        result = launch("-n", "2", TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "die")
        self.assertNotIn(result.returncode, [0, 124], result)
        self.assertRegex(result.stderr, r"signal 9 \(Killed\)|node 1 \(\S+\): its process is gone")
        self.assertNotIn("right", result.stdout)

    def test_a_node_that_is_killed_under_a_launcher_that_does_not_mind(self):
        self.assertRegex(self.survives("die"), GONE)
        # the ranks of node 0 may end later than node 1 is killed, so several may be needed
        for seconds in (1, 1, 2, 4, 8, 16, 32, 64):
            said = self.survives(f"end_die {seconds}")
            if re.search(r"not ended on all nodes: node 1 \(\S+\) has gone away before its ranks had ended", said):
                return
            self.assertRegex(said, GONE)
        self.fail("node 0 has never come to its end before node 1 was killed")

    def survives(self, what):
        """What node 0 says when node 1 is killed, and the launcher leaves it alone."""
        node = f"{TMPIRUN} --timeout=600 -n 4 {OVER_NODES} {what}; echo ended with $? >&2"
        result = launch("--enable-recovery", "-n", "2", "sh", "-c", f"({node}) 2>>$NODE_ERRORS/$PMIX_RANK")
        self.assertEqual(sorted(re.findall("ended with .*", result.stderr)), ["ended with 1", "ended with 137"], result)
        self.assertNotIn("right", result.stdout)
        return result.stderr

    def test_a_rank_that_has_a_child(self):
        result = launch("-n", "2", TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "child")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_a_node_that_does_not_end(self):
        for nodes in [2, 4]:
            ranks = 2 * nodes
            for seconds in (5, 20, 80, 320):  # on a busy machine ranks begin late
                result = launch("-n", str(nodes), TMPIRUN, f"--timeout={seconds}", "-n", str(ranks), OVER_NODES, "wait")
                if len(re.findall(r"tmpi:   rank \d waits in MPI_Recv", result.stderr)) == ranks - 1:
                    break
            self.assertEqual((result.returncode, result.stderr.count("tmpi: time-out of")), (124, 1), result)
            for rank in range(ranks - 1):
                self.assertRegex(result.stderr, rf"tmpi:   rank {rank} waits in MPI_Recv.*, at over_nodes.c:\d+")
            self.assertRegex(result.stderr, rf"tmpi:   rank {ranks - 1} is outside of MPI.*, at over_nodes.c:\d+")
            self.assertRegex(result.stderr, rf"node 0 \(\S+\): the program has not ended after {seconds} s")

    def test_a_deadlock_over_nodes_is_one_report(self):
        circle = r"ranks 0 -> 1 -> 2 -> 3 -> 0 wait for each other in a circle: all receive first"
        ended = r"rank 0 waits for rank 1, which is in MPI_Finalize"
        for nodes, what, why, *options in [
                (2, "stuck", circle), (2, "stuck", circle, "--one-to-one"),
                (4, "stuck", r"ranks 0 -> 1 -> .* -> 7 -> 0 wait for each other in a circle: all receive first"),
                (2, "stuck_send", r"ranks 0 -> 1 -> 2 -> 3 -> 0 wait for each other in a circle: all send first"),
                (2, "stuck_ended", ended), (2, "stuck_ended", ended, "--one-to-one")]:
            with self.subTest(what, nodes=nodes, options=options):
                result = launch("-n", str(nodes), TMPIRUN, "--timeout=600", *options, "-n", str(2 * nodes), OVER_NODES, what)
                self.assertEqual((result.returncode, result.stdout.count("right")), (86, 0), result)
                self.assertEqual(result.stderr.count("tmpi: deadlock of"), 1, result)
                self.assertRegex(result.stderr, why)
                for rank in range(2 * nodes):
                    self.assertRegex(result.stderr, rf"tmpi:   rank {rank} waits in MPI_\w+.*, at over_nodes.c:\d+")

    def test_a_node_whose_ranks_wait_for_one_that_sleeps_is_no_deadlock(self):
        for what, *options in [("stuck_not",), ("stuck_later",), ("stuck_not", "--one-to-one"), ("stuck_later", "--one-to-one")]:
            with self.subTest(what, options=options):
                result = launch("-n", "2", TMPIRUN, "--timeout=600", *options, "-n", "4", OVER_NODES, what)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_idle_vps_of_nodes_that_outnumber_cpus_search_briefly(self):
        """The node that brings work needs the CPU. Elsewhere they search for as long as a wake-up takes."""
        cpus, program = len(os.sched_getaffinity(0)), str(pathlib.Path(SHARED).with_name("made_over_nodes"))
        if cpus > 8:
            self.skipTest(f"{cpus} CPUs need too many nodes")
        for nodes, words in [(2, r"\d+  from wake_ns"), (cpus + 1, r"10000  set")]:
            if nodes == 2 > cpus:
                continue
            with self.subTest(nodes=nodes):
                result = launch("-n", str(nodes), TMPIRUN, "-n", str(nodes), program, "options")
                self.assertEqual((result.returncode, len(re.findall(rf"(?m)^idle_spin_ns +{words}: ", result.stdout))), (0, nodes), result)

    def test_idle_vps_of_nodes_that_share_few_cpus_search_briefly(self):
        """What counts are the CPUs that the launcher and the container leave them, not those of the machine."""
        program, cpus = str(pathlib.Path(SHARED).with_name("made_over_nodes")), sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("one CPU: all nodes outnumber it")
        quota = f'mount -t tmpfs none {GROUPS} && echo $0 100000 >{GROUPS}/cpu.max && echo 0::/ >{GROUPS}/own && {OWN_GROUP} && exec "$@"'
        shared, own = f"exec taskset -c {cpus[0]} \"$@\"", f'exec taskset -c $(((PMIX_RANK + {cpus[0]}) % {cpus[1] + 1})) "$@"'
        container = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", quota]
        for what, nodes, crowded, words in [("one CPU for both", 2, True, ["sh", "-c", shared, "sh"]),
                                            ("one CPU for each", 2, False, ["sh", "-c", own, "sh"]),
                                            ("a quota of two CPUs", 2, False, [*container, "150000"]), ("a quota of one CPU", 2, True, [*container, "100000"])]:
            with self.subTest(what, nodes=nodes):
                if words[0] == container[0] and subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
                    self.skipTest("no mount namespace can be made here")
                result = launch("--bind-to", "none", "-n", str(nodes), *words, TMPIRUN, "-n", str(nodes), program, "options")
                said = r"10000  set" if crowded else r"\d+  from wake_ns"
                self.assertEqual((result.returncode, len(re.findall(rf"(?m)^idle_spin_ns +{said}: ", result.stdout))), (0, nodes), result)

    def test_ranks_that_cannot_be_divided(self):
        self.assertIn("choose a multiple of 2", self.refused("-n", "2", TMPIRUN, "-n", "5", PROGRAM))

    def test_nodes_that_differ(self):
        said = self.refused("-n", "1", TMPIRUN, "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "2", PROGRAM)
        self.assertRegex(said, r"nodes 0 \(\S+\) and 1 \(\S+\) have different values of -n")
        said = self.refused("-n", "1", TMPIRUN, "-n", "4", PROGRAM, ":", "-n", "1", TMPIRUN, "-n", "4", sys.executable)
        self.assertRegex(said, r"nodes 0 \(\S+\) and 1 \(\S+\) have different programs")

    def test_versions_that_differ(self):
        said = self.refused("-n", "2", "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}", "-x",
                            "NODES_FAIL=mltp_version 1 1", TMPIRUN, "-n", "4", PROGRAM)
        self.assertRegex(said, r"nodes 0 \(\S+\) and 1 \(\S+\) have different versions: .* tmpirun 0\.0 -n 4 .*\(give all nodes the same\)")

    def test_a_launcher_with_one_process_changes_nothing(self):
        alone = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False)
        result = launch("-n", "1", TMPIRUN, "-n", "4", PROGRAM)
        self.assertEqual((result.returncode, result.stderr), (alone.returncode, alone.stderr), result)
        self.assertEqual(alone.returncode, 0, alone)

    def test_a_launcher_that_is_gone(self):
        environment = dict(os.environ, PMIX_NAMESPACE="gone", PMIX_RANK="0")
        result = subprocess.run([TMPIRUN, "-n", "4", PROGRAM], capture_output=True, text=True, check=False,
                                env=environment)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, "warning: this process is a job of its own, .* no server of PMIx")


class Shared(unittest.TestCase):
    """Partitioned messages, files and windows."""

    def right(self, *what, sizes=((2, 4), (4, 8))):
        for nodes, ranks in sizes:
            with self.subTest(what, nodes=nodes):
                result = launch("-n", str(nodes), TMPIRUN, "--timeout=600", "-n", str(ranks), SHARED, *what)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_partitioned_messages(self):
        self.right("partitioned")

    def test_cancelled_sends(self):
        for nodes in [2, 3]:
            result = launch("-n", str(nodes), TMPIRUN, "--timeout=600", "-n", str(2 * nodes),
                            str(pathlib.Path(SHARED).with_name("cancels")))
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_files(self):
        for sizes in [(2, 4)], [(4, 8)]:
            with tempfile.TemporaryDirectory() as folder:
                self.right("files", os.path.join(folder, "file"), sizes=sizes)

    def test_files_as_on_one_node(self):
        for name in ["io", "datarep"]:
            for nodes in [2, 4]:
                with self.subTest(name, nodes=nodes):
                    program = str(pathlib.Path(SHARED).with_name(name))
                    result = launch("-n", str(nodes), TMPIRUN, "--timeout=600", "-n", "4", program)
                    self.assertEqual((result.returncode, result.stdout), (0, ""), result)

    def test_a_file_that_each_node_has_of_its_own(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            node = [TMPIRUN, "--timeout=600", "-n", "4", SHARED, "not_one_file", "file"]
            result = launch("-n", "1", "--wdir", one, *node, ":", "-n", "1", "--wdir", other, *node)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_ports(self):
        ports = str(pathlib.Path(SHARED).with_name("ports"))
        for nodes, ranks in (("2", "4"), ("3", "3")):
            for options in ([], ["--check"]):
                result = launch("-n", nodes, TMPIRUN, "--timeout=600", *options, "-n", ranks, ports)
                self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def test_ranks_of_two_jobs_do_not_join(self):
        """Each rank of a job has the same mark, and another job has another one."""
        ports, marks = str(pathlib.Path(SHARED).with_name("ports")), set()
        for nodes in ("2", "2", "1", "1"):
            result = launch("-n", nodes, TMPIRUN, "-n", "2", ports, "mark")
            lines = result.stdout.splitlines()
            self.assertEqual((result.returncode, len(lines), len(set(lines))), (0, 2, 1), result)
            marks.update(lines)
        self.assertEqual(len(marks), 4)

    def test_a_rank_that_waits_at_a_socket_is_in_no_deadlock(self):
        ports = str(pathlib.Path(SHARED).with_name("ports"))
        result = launch("-n", "2", TMPIRUN, "--timeout=600", "-n", "4", ports, "late")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), result)

    def test_windows(self):
        self.right("windows")

    def test_a_lock_that_goes_with_its_accesses(self):
        self.right("deferred")

    def test_a_deadlock_at_a_window_over_nodes(self):
        for what, why in [("stuck_lock", r"ranks 0-2 wait in MPI_Win_lock: rank 3 holds a lock of rank 0 on the table"),
                          ("stuck_deferred", r"rank 2 waits in MPI_Win_unlock: rank 3 holds a lock of rank 0 on the table"),
                          ("stuck_deferred", r"ranks 0-1 wait in MPI_Win_lock: rank 3 holds a lock of rank 0 on the table"),
                          ("stuck_start", r"rank 3 waits in MPI_Win_start: ranks 0-3 have not called MPI_Win_post")]:
            with self.subTest(what):
                result = launch("-n", "2", TMPIRUN, "--timeout=600", "-n", "4", SHARED, what)
                self.assertEqual((result.returncode, result.stderr.count("tmpi: deadlock of")), (86, 1), result)
                self.assertRegex(result.stderr, why)


class Launcher(unittest.TestCase):
    """One that does not end, started in place of Open MPI's."""

    def run_still(self, start, times=1):
        """It starts a node, and does not end the first times; then it says "right"."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as errors:
            script = f'cd {folder}; test $(ls | wc -l) = {times} && echo right && exit; trap "" TERM; touch $$; {start} exec sleep 1000000'
            with unittest.mock.patch(f"{__name__}.LOOKS", 3):
                return run_launcher(["sh", "-c", script], os.environ, pathlib.Path(errors))

    def test_nodes_that_have_ended(self):
        for start in ["sh -c 'exit 1' &", "sh -c 'kill -KILL $$' &", "true;"]:  # the last one is collected
            with self.subTest(start):
                result = self.run_still(start)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_it_stands_still_again_and_again(self):
        with self.assertRaisesRegex(AssertionError, "the launcher stood still five times"):
            self.run_still("true;", times=6)

    def test_a_node_that_crashes(self):
        with self.assertRaisesRegex(AssertionError, r"nodes were ended by signals \[11\]"):
            self.run_still("sh -c 'kill -SEGV $$' &", times=6)

    def test_a_node_that_lives(self):
        """As long as one lives, the launcher is waited for."""
        result = self.run_still("(sleep 8; kill -KILL $$) &", times=6)
        self.assertEqual(result.returncode, -signal.SIGKILL, result)


class Failing(unittest.TestCase):
    """A call of PMIx or UCX fails on one of two nodes: the job ends, and that node or node 0 prints the reason."""

    def fails(self, library, call, number, why, node=1):
        folder = os.path.join(FAILING, library)
        with self.subTest(call, number=number, node=node):
            result = launch("-n", "2", "-x", f"LD_LIBRARY_PATH={folder}", "-x", f"NODES_FAIL={call} {number} {node}",
                            TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "short")
            self.assertRegex(result.stderr, why)
            self.assertNotIn(result.returncode, [0, 124], result)

    def call_fails(self, call, number, why, node=1):
        with self.subTest(call, number=number, node=node):
            result = launch("-n", "2", "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}", "-x",
                            f"NODES_FAIL={call} {number} {node}", TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "short")
            self.assertRegex(result.stderr, why)
            self.assertNotIn(result.returncode, [0, 124], result)

    def test_none_fails(self):
        for library in ["pmix", "ucx"]:
            result = launch("-n", "2", "-x", f"LD_LIBRARY_PATH={os.path.join(FAILING, library)}",
                            TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "short")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def sent(self, how, times):
        """How often the nodes of a job have called UCX to send, while 16 ranks on 4 nodes made communicators."""
        program = str(pathlib.Path(SHARED).with_name("made_over_nodes"))
        result = launch("-n", "4", "-x", f"LD_LIBRARY_PATH={os.path.join(FAILING, 'ucx')}", "-x", "NODES_COUNT=ucp_am_send_nbx",
                        TMPIRUN, "--timeout=600", "-n", "16", program, how, str(times))
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result)
        calls = re.findall(r"(?m)^(\d+) calls of ucp_am_send_nbx$", result.stderr)
        self.assertEqual(len(calls), 4, result)
        return sum(map(int, calls))

    def test_messages_that_make_communicators(self):
        """One from each node to each for a split, and one to each node from the one that has the context.

        When a communicator is copied, nodes meet in a barrier now and then, at most 4 times in a row.
        """
        times, others, barriers = 20, self.sent("split", 0), 4 * 8
        for how, most in [("split", times * 4 * 3), ("create", times * 4 * 3), ("create_group", times * 3), ("from_group", times * 3),
                          ("dup", times * 3 + barriers), ("idup", times * 3 + barriers)]:
            with self.subTest(how):
                self.assertLessEqual(self.sent(how, times) - others, most)

    def test_pmix(self):
        find = "the nodes of this job do not find each other"
        self.fails("pmix", "PMIx_Get", 1, f"{find}: size of the job: {NO_MEMORY}")
        for number in [1, 2, 3]:
            self.fails("pmix", "PMIx_Put", number, f"{find}: other nodes have not come: {NO_MEMORY}")
        self.fails("pmix", "PMIx_Commit", 1, f"{find}: other nodes have not come: {NO_MEMORY}")
        self.fails("pmix", "PMIx_Get", 2, f"{find}: what a node is: {NO_MEMORY}")
        for number in [4, 5]:
            self.fails("pmix", "PMIx_Get", number, rf"node 1 \(\S+\) cannot connect to the other nodes: node 0 \(\S+\): {NO_MEMORY}")
        self.fails("pmix", "PMIx_Fence_nb", 1, f"{find}: other nodes have not come: {NO_MEMORY}")
        self.fails("pmix", "PMIx_Fence_nb", 2, rf"node 1 \(\S+\) cannot connect to the other nodes: another node has not .*: {NO_MEMORY}")
        self.fails("pmix", "PMIx_Fence_nb", 3, f"this node cannot begin with the others: another node has not started: {NO_MEMORY}")
        self.fails("pmix", "PMIx_Fence_nb", 4, f"the job has not ended on all nodes: the launcher does not answer: {NO_MEMORY}")

    def test_ucx(self):
        for call in ["config_read", "init_version", "worker_create", "worker_set_am_recv_handler", "worker_get_address"]:
            self.fails("ucx", f"ucp_{call}", 1, r"node 1 \(\S+\) cannot carry messages to other nodes: no UCX: Out of memory")
        self.fails("ucx", "ucp_worker_set_am_recv_handler", 2, "no UCX: Out of memory")
        for call in ["ep_create", "worker_flush_nbx"]:
            self.fails("ucx", f"ucp_{call}", 1, r"node 1 \(\S+\) cannot connect to the other nodes: .*Out of memory")
        for call in ["am_send_nbx", "am_recv_data_nbx"]:
            self.fails("ucx", f"ucp_{call}", 1, r"node [01] \(\S+\): UCX has lost it: Out of memory.*: this node .* ends, too")

    def killed(self, library, call, *command, options=()):
        """Node 1 is killed at a call of the module."""
        return launch(*options, "-n", "2", "-x", f"LD_LIBRARY_PATH={os.path.join(FAILING, library)}",
                      "-x", f"NODES_FAIL={call} 1 killed", *command)

    def test_a_node_that_is_killed_before_ranks_start(self):
        """At its first call of PMIx, before and while it connects, and before its ranks may start.

        Which of the two tells first, the launcher or node 0, is chance.
        """
        for library, call in [("pmix", "PMIx_Put 1"), ("pmix", "PMIx_Fence_nb 1"), ("ucx", "ucp_ep_create 1"),
                              ("ucx", "ucp_worker_flush_nbx 1"), ("pmix", "PMIx_Fence_nb 2"), ("pmix", "PMIx_Fence_nb 3")]:
            with self.subTest(call):
                result = self.killed(library, call, TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "short")
                self.assertNotIn(result.returncode, [0, 124], result)
                self.assertNotIn("right", result.stdout, result)
                self.assertRegex(result.stderr, r"signal 9 \(Killed\)|node 1 \(\S+\): its process is gone|"
                                                r"the process of node 1 \(\S+\) is gone|nothing has come from node 1 \(\S+\)")

    def test_the_launcher_knows_first_that_a_node_is_gone(self):
        """It does not tell node 0 which; in the first fence, while nodes connect, and before ranks may start."""
        for fence, call, why in [(1, "PMIx_Get 2", r"the process of node 1 \(\S+\) is gone: "), (2, "PMIx_Fence_nb 2", GONE),
                                 (3, "PMIx_Fence_nb 3", GONE)]:
            with self.subTest(fence=fence):
                node = f"{TMPIRUN} --timeout=600 -n 4 {OVER_NODES} short; echo ended with $? >&2"
                result = self.killed("pmix", call, "sh", "-c", f"({node}) 2>>$NODE_ERRORS/$PMIX_RANK",
                                     options=["--enable-recovery", "-x", f"NODES_LATE={fence} 0",
                                              "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}"])
                self.assertEqual(sorted(re.findall("ended with .*", result.stderr)), ["ended with 1", "ended with 137"], result)
                self.assertRegex(result.stderr, why)

    def test_a_launcher_that_reads_late(self):
        """It drops what is in the pipe when the process has ended."""
        reader = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("late_reader.py"))]
        for words, status, why in [(("4", OVER_NODES, "die"), 1, GONE), (("5", OVER_NODES), 1, "choose a multiple of 2"),
                                   (("4", OVER_NODES, "abort"), 7, r"node 1 \(\S+\): .*MPI_Abort\(7\): the job ends on all")]:
            with self.subTest(words):
                node = f"{shlex.join(reader)} {TMPIRUN} --timeout=600 -n {' '.join(words)}; echo ended with $? >&2"
                result = launch("--enable-recovery", "-n", "2", "sh", "-c", f"({node}) 2>>$NODE_ERRORS/$PMIX_RANK")
                self.assertIn(f"ended with {status}\n", result.stderr, result)
                self.assertRegex(result.stderr, why)

    def test_a_node_that_ends_the_job_does_not_wait_for_itself(self):
        """The launcher does not mind, as srun, so the node is not killed when the other one has ended."""
        for what, status in [("abort", 7), ("exit", 3)]:
            with self.subTest(what):
                node = f"{TMPIRUN} --timeout=600 -n 4 {OVER_NODES} {what}; echo ended with $? >&2"
                result = launch("--enable-recovery", "-n", "2", "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}",
                                "sh", "-c", f"({node}) 2>>$NODE_ERRORS/$PMIX_RANK")
                self.assertEqual(result.stderr.count(f"ended with {status}\n"), 2, result)
                self.assertNotIn("sleeps for", result.stderr)

    def test_a_rank_that_tests_offers_its_cpu(self):
        """The message may come from a process of the same machine."""
        program = str(pathlib.Path(SHARED).with_name("bursts"))
        with tempfile.TemporaryDirectory() as folder:
            result = launch("-n", "2", "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}", "-x", "NODES_OFFERS=1",
                            TMPIRUN, "--timeout=600", "-n", "2", program, folder, "tested")
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result)
        self.assertIn("a CPU is offered", result.stderr)

    def test_a_node_that_is_killed_while_ranks_run(self):
        """When it fetches a large message, in a collective, and when its ranks have ended. The launcher leaves node 0 alone.

        When the ranks of both have ended, the launcher may tell node 0 that all nodes have come, and its job is complete.
        """
        for library, call, what in [("ucx", "ucp_am_recv_data_nbx 1", "short"), ("ucx", "ucp_am_send_nbx 100", "meet"),
                                    ("pmix", "PMIx_Fence_nb 4", "nothing")]:
            with self.subTest(call):
                node = f"{TMPIRUN} --timeout=600 -n 4 {OVER_NODES} {what}; echo has ended with $? >&2"
                result = self.killed(library, call, "sh", "-c", f"({node}) 2>>$NODE_ERRORS/$PMIX_RANK",
                                     options=["--enable-recovery"])
                ends = sorted(re.findall("ended with [0-9]+", result.stderr))
                if what == "nothing" and ends[0] == "ended with 0":
                    self.assertEqual((ends[1:], result.stdout), (["ended with 137"], "right\n"), result)
                    continue
                self.assertEqual(ends, ["ended with 1", "ended with 137"], result)
                self.assertRegex(result.stderr, r"node 1 \(\S+\)(: its process is gone| has gone away before its ranks had ended|: UCX has lost it)")

    def test_a_thread_that_loses_its_cpu(self):
        """The module's thread, when it releases the transport's lock. Ranks that wait for it are in no deadlock."""
        for number in [2, 3, 4, 5]:
            with self.subTest(number=number):
                result = launch("-n", "2", "-x", f"LD_PRELOAD={os.path.join(FAILING, 'failing_calls.so')}", "-x",
                                f"NODES_FAIL=mltp_unlock {number} 1", TMPIRUN, "--timeout=600", "-n", "4", OVER_NODES, "short")
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""), result)

    def test_calls_of_libc(self):
        for call in ["socket", "bind", "listen", "getsockname", "getifaddrs", "getrandom"]:
            self.call_fails(call, 1, r"node 1 \(\S+\) cannot carry messages to other nodes: no TCP socket: Cannot allocate memory")
        lost = r"node {0} \(\S+\) cannot connect to the other nodes: {1}Cannot allocate memory"
        for call, number in [("socket", 2), ("connect", 1), ("setsockopt", 1), ("setsockopt", 2), ("setsockopt", 3)]:
            self.call_fails(call, number, lost.format(1, r"node 0 \(\S+\): "))
        self.call_fails("send", 1, r"node 1 \(\S+\) cannot connect to the other nodes: node 0 \(\S+\): Protocol error")
        self.call_fails("recv", 1, r"node 1 \(\S+\) cannot connect to the other nodes: node 0 \(\S+\): Protocol error", node=0)
        self.call_fails("accept4", 1, lost.format(0, ""), node=0)
        self.call_fails("socketpair", 1, lost.format(1, ""))
        self.call_fails("calloc", 1, "the nodes of this job do not find each other: list of nodes: ")
        for number in [2, 3, 4, 5, 6]:
            self.call_fails("calloc", number, r"node 1 \(\S+\) cannot connect to the other nodes: .*no memory")
        self.call_fails("pthread_create", 1, r"node 1 \(\S+\) cannot connect to the other nodes: Resource temporarily")
        self.call_fails("pthread_create", 2, "this node cannot begin with the others: no kernel thread")
        self.call_fails("malloc", 1, "no memory for a message between nodes")


def skip_without_launcher():
    if not shutil.which(LAUNCHER) or launch("-n", "1", "sh", "-c", ASKS).returncode != 0:
        print(f"skipped: no {LAUNCHER} with PMIx can start a process here (openmpi-bin)")
        sys.exit(77)
    try:
        ctypes.CDLL("libucp.so.0")
    except OSError as error:
        print(f"skipped: no UCX here: {error} (libucx0)")
        sys.exit(77)


if __name__ == "__main__":
    if sys.argv[1].startswith("--launcher="):
        LAUNCHER = sys.argv.pop(1).split("=")[1]
    TMPIRUN, PROGRAM, OVER_NODES, SHARED, FAILING = sys.argv[1:6]
    skip_without_launcher()
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])

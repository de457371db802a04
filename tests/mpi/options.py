#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options of tmpirun that choose how ranks run, and wrong ones.

usage: options.py TMPIRUN INTERLEAVING
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

TMPIRUN, PROGRAM = "", ""


def run(*options, arguments=(), ranks=8, **environment):
    line = [TMPIRUN, "-n", str(ranks), *options, PROGRAM, *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class Options(unittest.TestCase):
    def order(self, *options):
        result = run(*options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(result.stdout.split()), 7 * 5)
        return result.stdout

    def kernel_threads(self, *options, ranks=8):
        """Without the monitor, which makes one more where a VP seems to stand still on a busy machine."""
        result = run(*options, arguments=["who"], ranks=ranks, MLTP_MONITOR="off")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_same_seed_same_interleaving(self):
        orders = {seed: self.order(f"--seed={seed}") for seed in range(1, 7)}
        for seed, order in orders.items():
            self.assertEqual(self.order(f"--seed={seed}"), order)
        self.assertGreater(len(set(orders.values())), 1)

    def test_log_of_a_seeded_run_names_the_waits(self):
        with tempfile.NamedTemporaryFile("r") as log:
            self.assertEqual(run("--seed=3", MLTP_SCHEDULE_LOG=log.name).returncode, 0)
            reasons = {line.split("\t")[5] for line in log if line.count("\t") > 5}
        self.assertIn("wait for a message", reasons)
        self.assertIn("end", reasons)

    def test_virtual_processors(self):
        self.assertEqual(len(set(self.kernel_threads("--vps=1"))), 1)
        self.assertLessEqual(len(set(self.kernel_threads("--vps=3", ranks=100))), 3)

    def test_communicators(self):
        result = run("--communicators=50", arguments=["communicators"], ranks=4)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for count in result.stdout.split():
            self.assertIn(int(count), range(40, 50))
        self.assertEqual(len(result.stdout.split()), 4)

    def test_one_to_one(self):
        self.assertEqual(len(set(self.kernel_threads("--one-to-one"))), 8)

    def test_stack(self):
        for size in (16384, 64):
            self.order(f"--stack={size}")
        self.assertIn("MLTP_STACK_SIZE", run("--stack=1").stderr)

    def test_np_behind_an_option_with_a_word(self):
        result = subprocess.run([TMPIRUN, "--vps", "2", "-np", "3", "--seed", "5", "/bin/true"], capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_options_of_other_launchers(self):
        """Each of these is accepted with its words, and the program runs with 8 ranks."""
        host = socket.gethostname()
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write(f"# hosts\nlocalhost slots=4\n{host}:2\n")
            hosts.flush()
            for line in ("--bind-to core --map-by=ppr:1:node -oversubscribe", "--mca btl self,vader -x A=1 -x PATH -genv B 2",
                         f"-host localhost:8,{host} -ppn 4 -v", f"-hostfile {hosts.name} --allow-run-as-root", "-wdir / -bind-to none"):
                self.order(*line.split())

    def test_variables_and_folder(self):
        for option in ("-x V=two=2", "-genv V two=2", "-env V two=2"):
            result = subprocess.run([TMPIRUN, *option.split(), "-wd", "/proc", "/bin/sh", "-c", "echo $V; pwd"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.stdout, result.stderr), ("two=2\n/proc\n", ""))

    def test_words_for_ours(self):
        self.assertIn("[0] 1:0", run("-l").stdout)
        result = subprocess.run([TMPIRUN, "--np=3", "-l", PROGRAM, "part"], capture_output=True, text=True, check=False)
        self.assertEqual(sorted(line[:4] for line in result.stdout.splitlines()), ["[0] ", "[1] ", "[2] "])

    def test_refused_options(self):
        for line, why in (("-host nowhere.invalid", "no machine has this name"), ("-hostfile /none", "No such file"), ("-wdir /none", "No such file"),
                          ("-genvnone", "env -i"), ("-configfile x", "with : between"), ("--xterm", "gdb --args"),
                          ("-x =1", "Invalid argument")):
            result = run(*line.split())
            self.assertEqual(result.returncode, 2, line)
            self.assertRegex(result.stderr, rf"^tmpirun: {line.split()[0]}: .*{why}.*\n$")
        result = subprocess.run([TMPIRUN, "-genv", "A"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (2, "tmpirun: -genv: 2 words must follow (tmpirun --help)\n"))

    def test_each_option_of_other_launchers(self):
        """With one hyphen and with two, each has as many words as there; a letter has one hyphen."""
        without = """oversubscribe nooversubscribe no-oversubscribe use-hwthread-cpus allow-run-as-root report-bindings display-map
            display-allocation bind-to-core bind-to-socket bind-to-none bycore bysocket byslot bynode nolocal genvall envall
            enable-recovery disable-recovery localhost disable-hostname-propagation q quiet v verbose merge-stderr-to-stdout
            disable-auto-cleanup"""
        one = """bind-to map-by rank-by npernode npersocket N ppn perhost membind cpu-set cpu-list launcher rmk iface usize order-nodes
            personality stdin prefix display topolib s max-restarts"""
        two = "mca gmca pmca prtemca pmixmca omca tune genv env"
        refused = {0: "genvnone envnone xterm debug tv gdb preload-binary preload-files",
                   1: "genvlist envlist configfile app errfile-pattern gpus-per-proc gpu-subdevs-per-proc"}
        printed = ["/bin/echo", "ran"]
        for names, words in ((without, []), (one, ["word"]), (two, ["NAME", "word"])):
            for name in names.split():
                for hyphens in ("-", "--"):
                    with self.subTest(hyphens + name):
                        result = subprocess.run([TMPIRUN, hyphens + name, *words, *printed], capture_output=True, text=True, check=False)
                        if len(name) == 1 and hyphens == "--":
                            self.assertEqual(result.returncode, 2, result)
                        else:
                            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ran\n", ""), result)
        for count, names in refused.items():
            for name in names.split():
                with self.subTest(name):
                    result = subprocess.run([TMPIRUN, f"-{name}", *["word"] * count, *printed], capture_output=True, text=True, check=False)
                    self.assertEqual((result.returncode, result.stdout), (2, ""), result)
                    self.assertRegex(result.stderr, rf"^tmpirun: -{name}: refused: no option of tmpirun \(.+\)\n$")

    def test_hosts_that_make_no_job(self):
        for line, status, why in (("-n 4 --hosts 192.0.2.1,192.0.2.1:8", 2, "'192.0.2.1': this machine is named twice"),
                                  ("-n 4 -H 192.0.2.1,localhost,127.0.0.1", 2, "named twice"),
                                  ("-n 5 --hosts 192.0.2.1,192.0.2.2", 2, "choose a multiple of 2"),
                                  ("-n 4 --hosts 192.0.2.1,192.0.2.2", 1, "no launcher in PATH .*prterun")):
            result = subprocess.run([TMPIRUN, *line.split(), PROGRAM], capture_output=True, text=True, check=False,
                                    env={"PATH": "/nowhere"})
            self.assertEqual((result.returncode, result.stdout), (status, ""), result)
            self.assertRegex(result.stderr, rf"^tmpirun: .*{why}.*\n$")
        result = subprocess.run([TMPIRUN, "-n", "4", "--hosts", "192.0.2.1", PROGRAM], capture_output=True, text=True,
                                check=False, env=dict(os.environ, PMIX_NAMESPACE="some"))
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("a launcher has started this tmpirun", result.stderr)

    def test_launcher_of_hosts(self):
        """It gets the hosts, the variables that are no matter of a machine, and the rest of the command line."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "prterun")
            script.write_text('#!/bin/sh\nprintf "%s\\n" "$PRTE_ALLOW_RUN_AS_ROOT" "$@"\n', encoding="ascii")
            script.chmod(0o755)
            stay = {"HOME", "HOSTNAME", "LOGNAME", "OLDPWD", "PWD", "SHLVL", "TMPDIR", "USER", "XAUTHORITY", "_", "DISPLAY", "BASH_FUNC_f%%",
                    "a.b", *(f"{start}_x" for start in ("OMPI", "ORTE", "PMIX", "PRTE", "SLURM", "SSH", "XDG"))}
            travel = {"LANG", "MLTP_STATS", "HOMES", "__", "x_USER", "OMPI", "xSSH_", "a9_Z"}
            variables = {"PATH": folder, **dict.fromkeys(stay | travel, "C")}
            line = ["-n", "4", "--hosts", "192.0.2.1,192.0.2.2:3", "--wait=spin:2", PROGRAM, "a word"]
            result = subprocess.run([TMPIRUN, *line], capture_output=True, text=True, check=False, env=variables)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
            root, *words = result.stdout.splitlines()
            self.assertEqual(root, "1" if os.geteuid() == 0 else "")
            self.assertEqual(words[:4], ["--host", "192.0.2.1,192.0.2.2", "-n", "2"])
            again = [os.path.realpath(TMPIRUN), *line[:2], *line[4:]]
            self.assertEqual(words[-len(again):], again)
            exported = words[4:-len(again)]
            self.assertEqual(set(exported[::2]), {"-x"})
            self.assertLessEqual({"PATH", *travel}, set(exported[1::2]))
            self.assertFalse(stay & set(exported[1::2]))
            script.write_text("#!/no/such/shell\n", encoding="ascii")
            result = subprocess.run([TMPIRUN, *line], capture_output=True, text=True, check=False, env=variables)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, rf"^tmpirun: .*{folder}/prterun.*: No such file.*\n$")

    def test_parts(self):
        result = subprocess.run([TMPIRUN, "-n", "3", PROGRAM, "part", "a", ":", "-np", "2", "--bind-to", "core", PROGRAM, "part", "b",
                                 ":", PROGRAM, "part"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["0 of 6: part 0, a", "1 of 6: part 0, a", "2 of 6: part 0, a", "3 of 6: part 1, b", "4 of 6: part 1, b",
                          "5 of 6: part 2, none"])

    def test_wrong_parts(self):
        for words, why in (([":"], "no program behind"), ([":", "-n", "x", PROGRAM], "is no number"), ([":", "--vps", "2", PROGRAM], "only -n"),
                           ([":", "-x", "A=1", PROGRAM], "in front of the first"), ([":", "/bin/true"], "different programs")):
            result = subprocess.run([TMPIRUN, PROGRAM, *words], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(why, result.stderr)

    def test_names(self):
        folder = os.path.join(os.path.dirname(TMPIRUN), "../lib/tmpi/bin")
        for name in ("mpiexec", "mpirun"):
            result = subprocess.run([os.path.join(folder, name), "-np", "8", PROGRAM, "who"], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, len(result.stdout.split())), (0, 8))
        for name in ("mpicc", "mpicxx", *(["mpifort"] if shutil.which("gfortran") else [])):
            shown = subprocess.run([os.path.join(folder, name), "-showme:libs"], capture_output=True, text=True, check=True)
            self.assertIn("mpi_abi", shown.stdout)

    def test_wait(self):
        for how in ("conscious", "spin", "spin:2", "park"):
            self.order(f"--wait={how}")

    def test_help_and_version(self):
        text = subprocess.run([TMPIRUN, "--help"], capture_output=True, text=True, check=True).stdout
        for option in ("np", "vps", "one-to-one", "seed", "stack", "wait", "timeout", "label", "output", "check",
                       "report"):
            self.assertRegex(text, rf"--{option}\b")
        version = subprocess.run([TMPIRUN, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(version, r"^tmpirun \d+\.\d+")

    def test_output_that_cannot_be_written(self):
        """The reason is that of the flush which failed first: later ones find nothing to write."""
        for options in [], ["--label"]:
            with open("/dev/full", "w", encoding="ascii") as full:
                result = subprocess.run([TMPIRUN, "-n", "8", *options, PROGRAM], stdout=full, stderr=subprocess.PIPE, text=True,
                                        check=False)
            self.assertNotEqual(result.returncode, 0, options)
            self.assertRegex(result.stderr, "tmpirun: output of ranks was lost: No space left on device \\(")

    def test_wrong_checks(self):
        result = run("--check=lenient")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--check=lenient: bad value (strict, or none)", result.stderr)

    def test_wrong_numbers(self):
        """The least and the greatest number of each option are right, and no others beside them."""
        for option, least, most in (("-n", 1, 1000000), ("--wait=spin:", 1, 1000000), ("--vps=", 1, 1024), ("--seed=", 1, 2**63 - 1),
                                    ("--stack=", 1, 1 << 20), ("--timeout=", 1, 1 << 30), ("--spare=", 0, 1000000),
                                    ("--communicators=", 2, 2**31 - 1)):
            for number in (least - 1, most + 1, "x", "", f"{least}s", f" {most}", f"+{most}", 2**64 + least):
                with self.subTest(f"{option}{number}"):
                    result = subprocess.run([TMPIRUN, f"{option}{number}", PROGRAM], capture_output=True, text=True, check=False)
                    if (option, number) == ("-n", ""):
                        continue  # the next word is the number
                    self.assertEqual(result.returncode, 2, result)
                    name = option.partition("=")[0]
                    self.assertRegex(result.stderr, rf"{name}: '.*' is no number from {least} to {most}\n")
            for number in (least, most):
                with self.subTest(f"{option}{number}"):  # the program is what is wrong
                    result = subprocess.run([TMPIRUN, f"{option}{number}", "/no/such/program"], capture_output=True, text=True, check=False)
                    self.assertEqual(result.returncode, 1, result)
                    self.assertIn("cannot run '/no/such/program'", result.stderr)


if __name__ == "__main__":
    TMPIRUN, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

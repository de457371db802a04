#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev compare: which rows it calls slower, the best of turns that alternate, and what it refuses."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

COMPARE = pathlib.Path(__file__).resolve().parents[2] / "bench/report/compare.py"

# Stands in for mltp-bench: notes its name, and gives one value more than its last run did.
FAKE = """\
    #!/usr/bin/env python3
    import json, os, pathlib, sys
    calls = pathlib.Path("{folder}/calls")
    with calls.open("a") as file:
        file.write("{name}\\n")
    runs = calls.read_text().split().count("{name}")
    scale = float(os.environ.get("FAKE_SCALE", {scale}))
    if {name!r} == "broken":
        sys.exit("the answer is wrong")
    ours, params = {{"mpi": ("tmpi", {{"ranks": 2}}), "sim": ("native", {{"model": "prodcons"}}),
                    "systemc": ("mltp-systemc", {{}})}}[sys.argv[1]]
    row = lambda name, value, impl=ours: {{"metric": name, "params": params, "min": value, "unit": "us", "impl": impl}}
    rows = [row("scaled", scale * (9 + runs)), row("same", 5), row("of-{name}", 1), row("each", scale * 4),
            row("theirs", scale * 7, "systemc"), row("each", scale * 8, "kernel")]
    pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps({{"rows": rows}}))
"""

# Stand in for tmpicc and tmpirun.
FAKE_TMPICC = """\
    #!/bin/sh
    while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done
"""
FAKE_TMPIRUN = """\
    #!/bin/sh
    echo '{{"wall_ns": {value}, "cpu_ns": 1, "rank_bytes": {value}, "verified": {verified}}}'
"""


# Stands in for valgrind: what the older build takes is 1,000 for each batch or operation, and the newer one a tenth more.
FAKE_VALGRIND = """\
    #!/bin/sh
    shift 2
    case $1 in
      */tmpirun) for word; do batches=$last last=$word; done ;;
      *) batches=${2#--ops=} ;;
    esac
    case $1 in
      */new/*) each=1100 ;;
      *) each=1000 ;;
    esac
    echo "Collected : $((each * (batches + 5)))" >&2
    exec "$@"
"""


class Compare(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "bin"
        self.folder.mkdir()

    def executable(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        path.chmod(0o755)
        return path

    def fake(self, name, scale):
        return self.executable(name, textwrap.dedent(FAKE).format(folder=self.folder, name=name, scale=scale))

    def compare(self, scale, *arguments, newer="newer", experiment="mpi"):
        self.executable("tmpicc", FAKE_TMPICC)
        run = subprocess.run(
            [sys.executable, "-B", COMPARE, "HEAD", experiment, "--older-bench", self.fake("older", 1), "--out",
             self.folder / "out", "--bench", self.fake(newer, scale), "--turns", "3", *arguments],
            capture_output=True, text=True, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_slower(self):
        code, stdout, stderr = self.compare(1.1)
        self.assertEqual(code, 1, stderr)
        self.assertRegex(stdout, r"scaled, 2 ranks +10 +11 us +x1.100 slower +medians 11 12.1")
        self.assertRegex(stdout, r"same, 2 ranks +5 +5 us +x1.000 even")
        self.assertNotIn("of-", stdout)  # a row that one of them does not have
        self.assertNotIn("theirs", stdout)
        self.assertIn("2 rows are slower by more than 2 %", stdout)
        self.assertIn("\nmean of 3 rows: x1.0656, standard error 0.0318\n", stdout)  # 1.1, 1, 1.1

    def test_models(self):
        """Of SpecC the time of a wait on each of our backends; of SystemC the rows with our package."""
        code, stdout, stderr = self.compare(1.1, experiment="sim")
        self.assertEqual(code, 1, stderr)
        self.assertRegex(stdout, r"\neach, prodcons, native +4 +4.4 us +x1.100 slower")
        self.assertNotRegex(stdout, "scaled|kernel")
        code, stdout, stderr = self.compare(1.1, experiment="systemc")
        self.assertRegex(stdout, r"\nsame +5 +5 us +x1.000 even")
        self.assertNotIn("theirs", stdout)

    def test_even_and_faster(self):
        self.assertEqual(self.compare(1.019)[0], 0)
        self.assertEqual(self.compare(1.1, "--limit", "11")[0], 0)
        self.assertRegex(self.compare(0.9)[1], "x0.900 faster")

    def test_setting(self):
        """A setting stands for the older commit: the same program runs with it and without it."""
        command = [sys.executable, "-B", COMPARE, "FAKE_SCALE=2", "--bench", self.fake("newer", 3), "--turns", "2"]
        run = subprocess.run([*command, "sim"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stdout, r"FAKE_SCALE=2, then this tree")
        self.assertRegex(run.stdout, r"\neach, prodcons, native +8 +12 us +x1.500 slower")
        self.assertEqual(subprocess.run([*command, "price"], capture_output=True, check=False).returncode, 2)

    def test_define(self):
        """An older commit is built with a setting of CMake's, in a folder of its own."""
        self.fake("older", 1)
        self.executable("git", '#!/bin/sh\ncase $1 in rev-parse) echo 0123456789abcdef ;; archive) tar -c -T /dev/null ;; esac\n')
        self.executable("cmake", f'#!/bin/sh\necho "$*" >> {self.folder}/cmake.calls\n'
                                 f'mkdir -p build/bin && cp {self.folder}/older build/bin/mltp-bench\n')
        command = [sys.executable, "-B", COMPARE, "HEAD", "sim", "--define", "MLTP_NODES=OFF", "--turns", "1",
                   "--bench", self.fake("newer", 2), "--out", self.folder / "out"]
        for _ in range(2):  # the second time it is built already
            run = subprocess.run(command, capture_output=True, text=True, check=False,
                                 env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn("HEAD MLTP_NODES=OFF, then this tree", run.stdout)
        self.assertEqual((self.folder / "cmake.calls").read_text(encoding="utf-8").splitlines(),
                         ["--preset release -DMLTP_NODES=OFF", "--build --preset release"])
        self.assertTrue((self.folder / "out/0123456789ab-MLTP_NODES-OFF/built").exists())

    def test_the_same_program(self):
        """The older tree runs this tree's MPI program, which its own tmpicc has compiled."""
        programs = self.folder.parent / "libexec/mltp/mpi"
        programs.mkdir(parents=True)
        (programs / "rate.tmpi").touch()
        self.assertEqual(self.compare(1)[0], 0)
        self.assertTrue((self.folder / "out/mpi/libexec/mltp/mpi/single.tmpi").exists())
        self.assertEqual((self.folder / "out/mpi/libexec/mltp/mpi/rate.tmpi").resolve(), (programs / "rate.tmpi").resolve())
        self.assertEqual((self.folder / "out/mpi/bin/tmpirun").readlink(), (self.folder / "tmpirun").resolve())

    def test_turns_alternate(self):
        self.compare(1)
        called = (self.folder / "calls").read_text(encoding="utf-8").split()
        self.assertEqual(called, ["older", "newer", "newer", "older", "older", "newer"])

    def price(self, verified="true", experiment="price", older_tmpicc=FAKE_TMPICC):
        """The newer build takes a tenth more memory and time."""
        valgrind = self.folder / "valgrind"
        valgrind.write_text(textwrap.dedent(FAKE_VALGRIND), encoding="utf-8")
        valgrind.chmod(0o755)
        for name, value in ("old", 1000), ("new", 1100):
            answer = textwrap.dedent(FAKE_TMPIRUN).format(value=value, verified=verified)
            tmpicc = textwrap.dedent(older_tmpicc if name == "old" else FAKE_TMPICC)
            for file, text in (("bin/tmpicc", tmpicc), ("bin/tmpirun", answer),
                               ("bin/mltp-bench", "#!/bin/sh\n"), ("libexec/mltp/mltp", answer)):
                path = self.folder / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                path.chmod(0o755)
        run = subprocess.run(
            [sys.executable, "-B", COMPARE, "HEAD", experiment, "--older-bench", self.folder / "old/bin/mltp-bench", "--bench",
             self.folder / "new/bin/mltp-bench", "--out", self.folder, "--turns", "2", "--limit", "5"],
            capture_output=True, text=True, check=False, env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))
        return run.returncode, run.stdout, run.stderr

    def test_price(self):
        code, stdout, stderr = self.price()
        self.assertEqual(code, 1, stderr)
        self.assertRegex(stdout, r"memory of a rank, 1024 ranks +1 +1.1 kB +x1.100 slower")
        self.assertRegex(stdout, r"latency, 8 bytes, one VP, 2 ranks +1 +1.1 us +x1.100 slower")
        self.assertRegex(stdout, r"latency, 8 bytes, CPU, 2 ranks +0.001 +0.001 us +x1.000 even")
        self.assertRegex(stdout, r"start and end, CPU, 1024 ranks .* ms ")
        self.assertRegex(stdout, r"conjugate gradients, CPU, 64 ranks .* ms ")

    def test_price_of_a_wrong_answer(self):
        code, _, stderr = self.price(verified="false")
        self.assertEqual(code, 2)
        self.assertRegex(stderr, r"tmpirun.* ended with 0 and printed .*\"verified\": false")

    def test_instructions(self):
        """Of a batch, two barriers are not the operation's; so is a third of a batch of barriers a barrier."""
        code, stdout, stderr = self.price(experiment="instructions")
        self.assertEqual(code, 1, stderr)
        self.assertRegex(stdout, r"\nmutex, 1 vps +1000 +1100 instr x1.100 slower")
        self.assertRegex(stdout, r"\nbarrier, 16 ranks +333.3 +366.7 instr x1.100 slower +medians 333.3 366.7\n")
        self.assertRegex(stdout, r"\nlatency, 8 bytes, 2 ranks +333.3 +366.7 instr x1.100 slower")
        self.assertRegex(stdout, r"\nstart to end, 64 ranks +5000 +5500 instr x1.100 slower")
        code, _, stderr = self.price(verified="false", experiment="instructions")
        self.assertEqual(code, 2)
        self.assertRegex(stderr, r"valgrind .*tmpirun.* ended with 0 and printed .*\"verified\": false")

    def test_instructions_of_a_tree_without_windows(self):
        tmpicc = '#!/bin/sh\ncase "$*" in *onesided*) echo "no MPI_Win_fence" >&2; exit 1 ;; esac\n'
        code, stdout, stderr = self.price(experiment="instructions", older_tmpicc=tmpicc)
        self.assertEqual(code, 1, stderr)
        self.assertRegex(stderr, "old/bin/mltp-bench has no windows: their rows are left out")
        self.assertRegex(stdout, "latency, 8 bytes, 2 ranks")
        self.assertNotIn("put", stdout)

    def test_what_is_not_measured(self):
        code, _, stderr = self.compare(1, newer="broken")
        self.assertEqual(code, 2)
        self.assertIn("the answer is wrong", stderr)
        for wrong in (["no-such-commit"], ["HEAD", "ocean"], ["HEAD", "--turns", "0"], ["MLTP_VPS=1", "--define", "A=B"]):
            run = subprocess.run([sys.executable, "-B", COMPARE, *wrong, "--out", self.folder],
                                 cwd=COMPARE.parent, capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)


if __name__ == "__main__":
    unittest.main()

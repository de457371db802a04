#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that start the MPI program: it gets its ranks, or is refused. No program is rank 0 of 1 by mistake.

usage: wrapped.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

import built

SAYS = """
    #include <mpi.h>
    #include <stdio.h>
    #include <stdlib.h>
    int main(int argc, char **argv) {
      int rank, size;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      printf("%d of %d: %s %s\\n", rank, size, getenv("WORD") ? getenv("WORD") : "-", argv[argc - 1]);
      MPI_Finalize();
      return 0;
    }"""
STARTS = """
    #include <mpi.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(int argc, char **argv) {
      int rank, status = 0;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (rank == 1 && strcmp(argv[1], "child") == 0) {
        if (fork() == 0) { execl(argv[2], argv[2], "x", (char *)NULL); _exit(99); }
        wait(&status);
        status = WEXITSTATUS(status);
      } else if (rank == 1) {
        execlp(argv[2], argv[2], "x", (char *)NULL);
        perror("exec");
      }
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Finalize();
      return status;
    }"""


# Words in front of a program, which it replaces or starts. Tools that some machines have not got are left out.
PREFIXES = """
    env WORD=-
    env -i WORD=-
    nice -n 1
    timeout 600
    taskset -c CPU
    stdbuf -oL
    setsid -w
    nohup
    ionice -c 3
    chrt -o 0
    setarch -R
    prlimit --core=0
    numactl --all
    /usr/bin/time -o out
    flock lock
    perf stat -o out
    strace -f -o out
    gdb -q -batch -ex run --args
    xvfb-run
    env WORD=- nice timeout -k 5 600 env"""


class Wrapped(built.Programs):
    def tmpirun(self, *words, **environment):
        return subprocess.run([built.TMPIRUN, "-n", "3", *map(str, words)], capture_output=True, text=True, check=False,
                              cwd=self.folder, env={**os.environ, **environment})

    def says(self, word, last, *words, label=""):
        result = self.tmpirun(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [f"{label.format(rank=rank)}{rank} of 3: {word} {last}" for rank in range(3)]
        self.assertEqual(sorted(result.stdout.splitlines()), lines)

    def script(self, text):
        path = self.folder / "script"
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_commands(self):
        program = self.build("says", SAYS)
        self.says("-", "x", program, "x")
        self.says("a b", "x", "env", "WORD=a b", "./says", "x")
        self.says("-", "x", "env", "--", program, "x")
        self.says("-", "it's", "timeout", "60", "env", program, "it's")
        self.says("-", "x", "sh", "-c", "true; ./says x")
        self.says("c", "x", "bash", "-c", "export WORD=c; exec ./says x")
        self.says("-", "x", "--label", "env", "./says", "x", label="[{rank}] ")

    def loads_late(self, name):
        """An interpreter: it loads MPI when it already runs."""
        library = self.shared_object("late", SAYS.replace("int main(", "int start("))
        return self.build(name, f"""
            #include <dlfcn.h>
            int main(int argc, char **argv) {{
              int (*start)(int, char **) = dlsym(dlopen("{library}", RTLD_NOW), "start");
              return start(argc, argv);
            }}""", by="cc")

    def runs_here(self, words):
        if shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True, check=False, cwd=self.folder).returncode == 0:
            return True
        print(f"wrapped.py: {' '.join(words)} does not run here: skipped")
        return False

    def test_commands_that_become_a_program(self):
        """Each rank runs the program: one that needs MPI, an interpreter that may load it, scripts."""
        self.build("says", SAYS)
        self.script(f"#!{self.loads_late('loads')}\n").rename(self.folder / "interpreted")
        self.script('#!/bin/sh\nexec ./says "$@"\n').rename(self.folder / "starts")
        for line in PREFIXES.strip().splitlines():
            words = line.replace("CPU", str(min(os.sched_getaffinity(0)))).split()
            if not self.runs_here(words):
                continue
            for command in "./says", "./loads", "./interpreted", "./starts":
                with self.subTest(f"{line.strip()} {command}"):
                    result = self.tmpirun(*words, command, "x")
                    self.assertEqual(result.returncode, 0, result)
                    self.assertEqual(sorted(re.findall("(?m)^. of 3: - x$", result.stdout)), [f"{rank} of 3: - x" for rank in range(3)], result)

    def test_valgrind_looks_at_ranks(self):
        """It does not follow a program that becomes another one."""
        program = self.build("wrong", """
            #include <mpi.h>
            #include <stdlib.h>
            int main(int argc, char **argv) {
              int rank;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              volatile int *one = malloc(sizeof *one);
              one[argc > 1 && rank == 1] = 1;
              free((void *)one);
              return MPI_Finalize();
            }""")
        words = ["valgrind", "-q", "--error-exitcode=99"]
        if not self.runs_here(words):
            self.skipTest("no valgrind")
        self.assertEqual(self.tmpirun(*words, program).returncode, 0)
        result = self.tmpirun(*words, program, "x")
        self.assertEqual((result.returncode, result.stderr.count("Invalid write")), (99, 1), result)

    def test_options_of_tmpirun_behind_such_a_command(self):
        self.loads_late("loads")
        self.build("says", SAYS)
        self.says("-", "x", "--label", "env", "./loads", "x", label="[{rank}] ")
        self.says("-", "x", "--label", "--", "env", "./loads", "x", label="[{rank}] ")
        self.says("-", "x", "--label", "--", "sh", "-c", "./says x; exit $?", label="[{rank}] ")
        self.says("-", "-n", "env", "./loads", "-n")  # the program's own
        self.says("a=b", "./x=y", "env", "WORD=a=b", "./loads", "./x=y")
        self.assertEqual(self.tmpirun("env", "--", "./none").returncode, 127)

    def test_shells_that_become_a_program(self):
        """One that needs MPI becomes ranks; an interpreter that they start is refused when it loads MPI."""
        self.build("says", SAYS)
        self.loads_late("loads")
        for words in [self.script('#!/bin/sh\nexec "$@"\n')], ["sh", "-c", 'exec "$0" "$@"'], ["bash", "-c", '"$0" "$@"; exit $?']:
            self.says("-", "x", *words, "./says", "x")
            result = self.tmpirun(*words, "./loads", "x")
            self.assertEqual((result.returncode, result.stdout), (16, ""), result)

    def test_statically_linked_program_of_an_mpi(self):
        """The auditor does not see it."""
        text = '#include <stdio.h>\nint MPI_Init(void) { return 0; } int main(void) { puts("ran"); return MPI_Init(); }'
        self.build("other", text, "-static", by="cc")
        self.build("none", text.replace("MPI_Init", "init"), "-static", by="cc")
        for words in [], ["env", "A=1"], ["timeout", "60", "nice"]:
            result = self.tmpirun(*words, "./other")
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertRegex(result.stderr, r"^tmpirun: cannot run '[^']*/other': .*\(.*\)\n$")
        result = self.tmpirun("env", "./none")
        self.assertEqual((result.returncode, result.stdout), (1, "ran\n"), result)
        result = subprocess.run([built.TMPIRUN, "env", "./other"], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result)

    def test_scripts(self):
        self.build("says", SAYS)
        self.says("d", "x y", self.script('#!/bin/sh\nWORD=d exec ./says "$@"\n'), "x y")
        self.says("e", "x", self.script("#!/usr/bin/env bash\nset -e\nWORD=e ./says x\n"))
        self.says("f", "x", self.script("#! /bin/sh -e \t \nWORD=f ./says x\n"))

    def test_mpi_through_a_library(self):
        """The file alone does not say that it is an MPI program, and it starts others."""
        self.shared_object("starts", "#include <mpi.h>\nint start(void) { return MPI_Init(0, 0) || MPI_Finalize(); }")
        program = self.build("through", "#include <unistd.h>\nint start(void);\n"
                             'int main(int argc, char **argv) { return argc > 1 ? execvp(argv[1], argv + 1) : start(); }',
                             *self.using("starts"), "-Wl,--as-needed", by="cc")
        for words in [program], ["env", program]:
            result = self.tmpirun("--report", *words)
            self.assertEqual(result.returncode, 0, result)
            self.assertRegex(result.stderr, r"MPI_Finalize +3\b")

    def test_without_mpi(self):
        """Its user has asked for three times."""
        script = self.script("#!/bin/sh\necho ran\n")
        result = self.tmpirun(script)
        self.assertEqual((result.returncode, result.stdout), (1, "ran\n"))
        self.assertRegex(result.stderr, r"script' has ended, and ran once, not 3 times: it has started no MPI program \(.*\)")
        one = subprocess.run([built.TMPIRUN, script], capture_output=True, text=True, check=False)
        self.assertEqual((one.returncode, one.stdout, one.stderr), (0, "ran\n", ""))
        for folder in "/proc/none", "none", "":
            unwritable = self.tmpirun(script, TMPDIR=folder)
            self.assertEqual((unwritable.returncode, unwritable.stdout, unwritable.stderr), (1, "ran\n", result.stderr))

    def test_a_folder_is_no_command(self):
        """One of the program's name hides no program in PATH."""
        program = self.build("says", SAYS)
        (self.folder / "bin").mkdir()
        program.rename(self.folder / "bin/says")
        (self.folder / "says").mkdir()
        (self.folder / "hides/says").mkdir(parents=True)
        path = f"{self.folder}/hides:{self.folder}/bin:{os.environ['PATH']}"
        for words in ["says", "x"], ["env", "says", "x"]:
            result = self.tmpirun(*words, PATH=path)
            self.assertEqual((result.returncode, result.stdout.count("of 3: - x"), result.stderr), (0, 3, ""), words)
        result = self.tmpirun("says", "x")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("it is no plain file", result.stderr)

    def test_ranks_in_a_wrapper_that_closes_files(self):
        self.build("says", SAYS)
        self.says("-", "x", "sh", "-c", f"""{sys.executable} -c 'import subprocess; subprocess.run(["./says", "x"], check=True)'""")

    def test_signals_reach_the_wrapper(self):
        waits = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        with subprocess.Popen([built.TMPIRUN, "-n", "3", "sh", "-c", waits], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.terminate()
            self.assertEqual((process.stdout.read(), process.wait()), ("caught\n", 5))

    def test_wrapper_ends_with_tmpirun(self):
        for number in signal.SIGKILL, signal.SIGHUP:
            with subprocess.Popen([built.TMPIRUN, "-n", "3", "sh", "-c", "echo ready; exec sleep 1000"],
                                  stdout=subprocess.PIPE, text=True) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                self.assertEqual(process.stdout.read(), "")  # nobody holds the pipe any more
                self.assertEqual(process.wait(), -number)

    def test_status_is_that_of_the_program(self):
        self.assertEqual(self.tmpirun("sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.tmpirun("env", "/no/such/program").returncode, 127)

    def test_exec_in_a_rank_is_refused(self):
        program = self.build("starts", STARTS)
        result = self.tmpirun(program, "replace", "true")
        self.assertRegex(result.stderr, r'rank 1: execlp\("true"\) is refused: it would replace all 3 ranks \(.*\)')
        self.assertIn("exec: Operation not supported", result.stderr)
        self.assertEqual(self.tmpirun(program, "child", "/bin/true").returncode, 0)

    def test_one_rank_is_replaced(self):
        self.build("says", SAYS)
        program = self.build("replaced", '#include <unistd.h>\nint main(void) { return execl("./says", "says", "x", (char *)0); }')
        result = subprocess.run([built.TMPIRUN, program], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (0, "0 of 1: - x\n"), result)

    def test_mpi_program_in_a_child(self):
        program = self.build("says", SAYS)
        result = self.tmpirun(self.build("starts", STARTS), "child", program)
        self.assertNotIn("of 1", result.stdout)
        self.assertRegex(result.stderr, r"MPI_Init: this program was started by a rank: .* \(.*\)")
        self.assertNotEqual(result.returncode, 0)

    def test_mpi_that_comes_late(self):
        """A process that loads MPI when it already runs cannot become ranks."""
        self.loads_late("loads")
        result = self.tmpirun("sh", "-c", "./loads; exit $?")
        self.assertEqual(result.returncode, 16, result)
        self.assertRegex(result.stderr, r"started by a wrapper of tmpirun, and loads MPI when it already runs.*\(.*\)")

    def of_another_mpi(self):
        """A program that ld.so can start, and one that opens the other MPI when it already runs."""
        library = self.build("libmpi.so.40", "int MPI_Init(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", by="cc")
        self.build("other", '#include <stdio.h>\nint MPI_Init(void); int main(void) { puts("ran"); return MPI_Init(); }', library,
                   f"-Wl,-rpath,{self.folder}", by="cc")
        self.build("opens", f"""
            #include <dlfcn.h>
            #include <stdio.h>
            int main(void) {{ puts("ran"); return dlopen("{library}", RTLD_NOW) == NULL; }}""", by="cc")

    def refuses(self, result, why, status=1, printed=""):
        self.assertEqual((result.returncode, result.stdout), (status, printed), result)
        self.assertRegex(result.stderr, rf"^tmpirun: cannot run './other': it uses another MPI, libmpi.so.40, {why} \(.*\)\n")
        self.assertEqual(result.stderr.count("another MPI"), 1, result)

    def test_program_of_another_mpi(self):
        """It would be a job of one rank, print its result and end with status 0."""
        self.of_another_mpi()
        self.build("says", SAYS)
        one = "in which it would be a job of one rank"
        for words in ["sh", "-c", "./other"], ["env", "A=1", "./other"], ["sh", "-c", "cd .; exec timeout 60 ./other"]:
            self.refuses(self.tmpirun(*words), f"{one}, not of 3")
        result = self.tmpirun("sh", "-ec", "./says x | sort; ./other; echo continued")
        self.refuses(result, f"{one}, not of 3", printed="".join(f"{rank} of 3: - x\n" for rank in range(3)))
        self.refuses(self.tmpirun(self.build("starts", STARTS), "child", "./other"), f"{one}, started by a rank")
        for launcher in "PMIX_RANK=0", "PMI_FD=9", "-u TMPI_LAUNCH", "-u LD_AUDIT":
            result = self.tmpirun("sh", "-c", f"./says x > out; env {launcher} ./other")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ran\n", ""), launcher)

    def test_another_mpi_where_one_rank_is_right(self):
        self.of_another_mpi()
        result = subprocess.run([built.TMPIRUN, "sh", "-c", "./other"], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result)
        self.assertRegex(result.stderr, r"^tmpirun: warning: './other' uses another MPI, libmpi.so.40, in which it is a job of one rank \(.*\)\n$")

    def test_another_mpi_that_comes_late(self):
        """A library may need it that never calls it."""
        self.of_another_mpi()
        self.build("says", SAYS)
        result = self.tmpirun("sh", "-c", "./says x > out; ./opens")
        self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result)
        self.assertRegex(result.stderr, r"^tmpirun: warning: './opens' uses another MPI, .*\(.*\)\n$")

    def test_standard_abi_of_another_mpi(self):
        """Its compiler has named its library by a path; the program becomes ranks as it does without a wrapper."""
        functions = "".join(f'int MPI_{name}(void) {{ return puts("another"); }}' for name in ("Init", "Comm_rank", "Comm_size", "Finalize"))
        library = self.build("libmpi_abi.so.1", "#include <stdio.h>\n" + functions, "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", by="cc")
        include = subprocess.run([pathlib.Path(built.TMPIRUN).parent / "tmpicc", "-showme:incdirs"], capture_output=True, text=True, check=True)
        program = self.build("abi", SAYS, f"-I{include.stdout.strip()}", library, f"-Wl,--disable-new-dtags,-rpath,{self.folder}", "-fPIE",
                             "-pie", by="cc")
        self.says("-", "x", program, "x")
        self.says("-", "x", "sh", "-c", "true; ./abi x")
        result = self.tmpirun("sh", "-c", "PMI_FD=9 ./abi x")
        self.assertIn("another", result.stdout)

    def test_auditors_of_the_user(self):
        """They stay."""
        text = "unsigned la_version(unsigned version) { return version; }"
        auditor = self.build("own.so", text, "-shared", "-fPIC", by="cc")
        program = self.build("lists", SAYS.replace('"WORD"', '"LD_AUDIT"'))
        for words in [program, "x"], ["env", program, "x"]:
            result = self.tmpirun(*words, LD_AUDIT=str(auditor))
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
            self.assertRegex(result.stdout, rf"(?m)^1 of 3: [^:]*/tmpi/audit.so:{auditor} x$")

    def test_commands_of_r(self):
        """They start R as another process, which would run once."""
        for name in "R", "Rscript":
            command = self.script("#!/bin/sh\necho ran\n").rename(self.folder / name)
            result = self.tmpirun(command, "some.R")
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertRegex(result.stderr, rf"^tmpirun: cannot run '.*/{name}' as 3 ranks: .*bin/exec/R.*tmpirun -n 3 env {name}\)\n$")
            result = subprocess.run([built.TMPIRUN, command], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ran\n", ""), result)

    def by_a_launcher(self, words, **variables):
        """As a process of a launcher with PMI, which has an open descriptor."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
        with open(os.devnull, "rb") as null:
            for name, value in variables.items():
                environment[name] = {"open": str(null.fileno()), "closed": "999"}.get(value, value)
            return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=environment,
                                  pass_fds=[null.fileno()])

    def test_several_processes_of_a_launcher_without_pmix(self):
        """Each would be a job of its own, and print what the other prints."""
        program = self.build("says", SAYS)
        tmpirun, several = [built.TMPIRUN, "-n", "3", program, "x"], "has started 2 processes"
        refused = [{"PMI_FD": "open", "PMI_SIZE": "2"}, {"PMI_PORT": "host:1", "PMI_SIZE": "2"},
                   {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}]
        right = [{"PMI_FD": "open", "PMI_SIZE": "1"}, {"PMI_FD": "closed", "PMI_SIZE": "2"}, {"PMI_SIZE": "2"},
                 {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2"}]
        for variables in refused:
            result = self.by_a_launcher(tmpirun, **variables)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assertRegex(result.stderr, rf"^tmpirun: the launcher {several} .*: it offers no PMIx, .*\(.*env -u .*\)\n$")
        for variables in [*refused, {"PMIX_NAMESPACE": "some", "OMPI_COMM_WORLD_SIZE": "2"}]:
            result = self.by_a_launcher([program, "x"], **variables)
            self.assertEqual((result.returncode, result.stdout), (16, ""), result)
            self.assertRegex(result.stderr, rf"a launcher {several} of this program.*\(.*tmpirun -n N PROGRAM.*\)")
        for variables in right:
            result = self.by_a_launcher(tmpirun, **variables)
            self.assertEqual((result.returncode, result.stderr, len(result.stdout.splitlines())), (0, "", 3), result)
            result = self.by_a_launcher([program, "x"], **variables)
            self.assertEqual((result.returncode, result.stdout), (0, "0 of 1: - x\n"), result)

    def test_launcher_of_mpich(self):
        program = self.build("says", SAYS)
        if not shutil.which("mpiexec.mpich"):
            self.skipTest("no mpiexec.mpich (mpich)")
        for words, why in [([built.TMPIRUN, "-n", "3", program, "x"], "it offers no PMIx"), ([program, "x"], "tmpirun -n N PROGRAM")]:
            result = subprocess.run(["mpiexec.mpich", "-n", "2", *map(str, words)], capture_output=True, text=True, check=False)
            self.assertNotEqual(result.returncode, 0, result)
            self.assertNotIn(" of ", result.stdout)
            self.assertIn(why, result.stderr)

    def test_interpreter_of_a_script(self):
        """An interpreter that may load MPI runs as ranks, with its script."""
        interpreter = self.build("interpreter", SAYS + "\nvoid *dlopen(const char *, int);\nvoid *opens = (void *)dlopen;")
        self.says("-", "x", self.script(f"#!{interpreter} -s\n"), "x")
        self.says("-", str(self.folder / "script"), self.folder / "script")


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)

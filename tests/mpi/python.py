#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python as a program of ranks: the system's, which has a fixed address, scripts, and extensions in C.

usage: python.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import built

PYTHON = "/usr/bin/python3"
COUNTER = """
    #define PY_SSIZE_T_CLEAN
    #include <Python.h>
    #include <mpi.h>
    static int counter;
    static PyObject *count(PyObject *self, PyObject *none) {
      MPI_Barrier(MPI_COMM_WORLD);
      counter++;
      MPI_Barrier(MPI_COMM_WORLD);
      return PyLong_FromLong(counter);
    }
    static PyObject *rank(PyObject *self, PyObject *none) {
      int rank;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      return PyLong_FromLong(rank);
    }
    static PyObject *finalize(PyObject *self, PyObject *none) { MPI_Finalize(); Py_RETURN_NONE; }
    static PyMethodDef methods[] = {{"count", count, METH_NOARGS, ""}, {"rank", rank, METH_NOARGS, ""},
                                    {"finalize", finalize, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "counter", NULL, -1, methods};
    PyMODINIT_FUNC PyInit_counter(void) { MPI_Init(NULL, NULL); return PyModule_Create(&module); }"""
SPAWNER = """
    #define PY_SSIZE_T_CLEAN
    #include <Python.h>
    #include <mpi.h>
    static PyObject *spawn(PyObject *self, PyObject *arguments) {
      char *program, *script;
      int number = -1;
      MPI_Comm others;
      if (!PyArg_ParseTuple(arguments, "ss", &program, &script)) return NULL;
      MPI_Comm_get_parent(&others);
      if (others != MPI_COMM_NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &number);
        MPI_Send(&number, 1, MPI_INT, 0, 0, others);
      } else {
        MPI_Comm_spawn(program, (char *[]){script, NULL}, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others, MPI_ERRCODES_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 1, 0, others, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
        printf("spawned\\n");
      }
      MPI_Comm_disconnect(&others);
      MPI_Finalize();
      Py_RETURN_NONE;
    }
    static PyMethodDef methods[] = {{"spawn", spawn, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "spawner", NULL, -1, methods};
    PyMODINIT_FUNC PyInit_spawner(void) { MPI_Init(NULL, NULL); return PyModule_Create(&module); }"""
SCRIPT = """#!/usr/bin/python3
import math, os, subprocess, sys
import counter
os.environ["RANK"] = str(counter.rank())
said = subprocess.run(["sh", "-c", "echo $RANK"], capture_output=True, text=True, check=True).stdout.strip()
print(counter.rank(), counter.count(), said, sys.argv[1:], sys.executable, math.sqrt(4))
counter.finalize()
"""


def include():
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


class Python(built.Programs):
    def setUp(self):
        super().setUp()
        if not os.access(PYTHON, os.X_OK) or not pathlib.Path(include(), "Python.h").exists():
            self.skipTest("no Python of the system with its headers")
        self.build("counter.so", COUNTER, "-shared", f"-I{include()}")
        self.script = self.folder / "script.py"
        self.script.write_text(SCRIPT)
        self.script.chmod(0o755)

    def says(self, *words, **variables):
        result = subprocess.run([built.TMPIRUN, "-n", "3", *map(str, words)], capture_output=True, text=True, check=False,
                                env={**os.environ, "PYTHONPATH": str(self.folder), "PYTHONUNBUFFERED": "", **variables})
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"{rank} 1 {rank} ['x'] {PYTHON} 2.0" for rank in range(3)])

    def test_interpreter(self):
        self.says(PYTHON, self.script, "x")

    def spawns(self, program):
        self.build("spawner.so", SPAWNER, "-shared", f"-I{include()}")
        script = self.folder / "spawns.py"
        script.write_text(f"#!{PYTHON}\nimport spawner, sys\nspawner.spawn({program}, sys.argv[0])\n")
        script.chmod(0o755)
        result = subprocess.run([built.TMPIRUN, "-n", "2", PYTHON, script], capture_output=True, text=True, check=False,
                                env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual((result.returncode, result.stdout), (0, "spawned\nspawned\n"), result)

    def test_ranks_are_spawned_without_an_option(self):
        self.spawns("sys.executable")

    def test_a_script_is_spawned(self):
        self.spawns("sys.argv[0]")

    def test_a_wait_without_end_is_reported(self):
        """The thread that would have ended it has failed. Python handles Ctrl-C, so the job continues to wait for that."""
        script = self.folder / "waits.py"
        script.write_text("""import threading
def fail(): raise RuntimeError("spawn failed")
event = threading.Event()
threading.Thread(target=fail).start()
try:
    event.wait()
except KeyboardInterrupt:
    print("interrupted")
""")
        job = subprocess.Popen([built.TMPIRUN, PYTHON, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while "only a signal can end that" not in said:
            line = job.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        self.assertIn("RuntimeError: spawn failed", said)
        job.send_signal(signal.SIGINT)
        self.assertEqual((job.communicate()[0], job.returncode), ("interrupted\n", 0))

    def test_what_tmpirun_has_looked_at_is_closed(self):
        """It reads the interpreter, of which no rank has a copy."""
        script = self.folder / "lists.py"
        script.write_text("""import os
for name in os.listdir("/proc/self/fd"):
    try:
        print(os.readlink(f"/proc/self/fd/{name}"))
    except FileNotFoundError:
        pass  # of the folder
""")
        result = subprocess.run([built.TMPIRUN, PYTHON, script], capture_output=True, text=True, check=True)
        self.assertNotIn(os.path.realpath(PYTHON), result.stdout.splitlines(), result)

    def test_script(self):
        self.says(self.script, "x")

    def test_script_whose_interpreter_env_finds(self):
        folder, name = os.path.split(PYTHON)
        self.script.write_text(SCRIPT.replace("#!/usr/bin/python3\n", f"#!/usr/bin/env {name}\n"))
        self.says(self.script, "x", PATH=f"{folder}:/usr/bin:/bin")

    def test_interpreter_by_itself(self):
        """What runs in the place of Python says how to start it, and which library it cannot open."""
        program = pathlib.Path(built.TMPIRUN).resolve().parents[1] / "lib" / "tmpi" / "python"
        damaged = self.folder / "libpython.so"
        damaged.touch()
        for variables, why in (({}, "TMPI_PYTHON is not set"), ({"TMPI_PYTHON": str(damaged)}, f"{damaged}: "),
                               ({"TMPI_PYTHON": built.LIBRARY}, "Py_BytesMain")):
            result = subprocess.run([program], capture_output=True, text=True, check=False, env=variables)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, rf"^tmpirun: cannot run '.*': .*{why}.*\(start Python by tmpirun, and install its library\)\n$")


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)

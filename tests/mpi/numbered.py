#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs make of the process number, which ranks share: names of files, seeds of random numbers.

usage: numbered.py TMPIRUN PROCESS LIBRARY, as built.py
"""
import subprocess
import sys
import unittest

import built

RANKS = 4
MESSAGE = (r"tmpirun: ranks [0-3] and [0-3] write to the same file '.*/{}': its name has the process number, which all ranks"
           r" share \(put the rank into the name\)\n")
# Each rank names a file by a format of its number, the process number and its rank, and opens it by a mode.
PROGRAM = """
    #include <fcntl.h>
    #include <mpi.h>
    #include <semaphore.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    static int write_to(const char *path, const char *mode) {
      if (strcmp(mode, "shm") == 0) {
        int fd = shm_open(strrchr(path, '/'), O_CREAT | O_RDWR, 0600);
        return fd < 0 || close(fd) != 0;
      }
      FILE *file = fopen(path, mode);
      return file == NULL || fputs("x", file) < 0 || fclose(file) != 0;
    }
    /* As programs do that take what they find for a left-over. */
    static int replace(const char *path, const char *mode) {
      const char *name = strrchr(path, '/');
      int flags = O_CREAT | O_EXCL | O_RDWR;
      if (strcmp(mode, "shm") == 0) return shm_unlink(name), shm_open(name, flags, 0600) < 0;
      if (strcmp(mode, "sem") == 0) return sem_unlink(name), sem_open(name, flags, 0600, 1) == SEM_FAILED;
      if (strcmp(mode, "unlinkat") == 0) unlinkat(AT_FDCWD, path, 0);
      else if (strcmp(mode, "remove") == 0) remove(path);
      else unlink(path);
      return open(path, flags, 0600) < 0;
    }
    static int make_and_remove(const char *path) {
      int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
      return fd < 0 || close(fd) != 0 || unlink(path) != 0;
    }
    static int tidy(const char *path, const char *mode) {
      const char *name = strrchr(path, '/');
      return strcmp(mode, "shm") == 0 ? shm_unlink(name) : strcmp(mode, "sem") == 0 ? sem_unlink(name) : 0;
    }
    int main(int argc, char **argv) {
      char path[4096], last[4200];
      int rank, size, failed = argc != 4;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      int at_once = strcmp(argv[3], "at once") == 0;
      snprintf(path, sizeof path, argv[1], (int)getpid(), rank);
      snprintf(last, sizeof last, "%s.rank%d", path, rank);
      if (at_once) failed |= write_to(path, argv[2]);
      for (int i = 0; i < size && !at_once; i++) {
        if (i == rank && strcmp(argv[3], "in turn") == 0) failed |= write_to(path, argv[2]) || rename(path, last);
        if (i == rank && strcmp(argv[3], "replaced") == 0) failed |= replace(path, argv[2]);
        if (i == rank && strcmp(argv[3], "removed") == 0) failed |= make_and_remove(path);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) failed |= tidy(path, argv[2]);
      return MPI_Finalize() | failed;
    }"""


# Each rank starts random numbers in the way that the argument names.
SEEDS = """
    #include <mpi.h>
    #include <stdlib.h>
    #include <string.h>
    #include <time.h>
    #include <unistd.h>
    int main(int argc, char **argv) {
      int rank;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      long number = getpid(), now = time(NULL);
      MPI_Bcast(&now, 1, MPI_LONG, 0, MPI_COMM_WORLD);
      if (strcmp(argv[1], "number") == 0) srand(number);
      if (strcmp(argv[1], "sum") == 0) srandom(now + number);
      if (strcmp(argv[1], "xor") == 0) srand48(now ^ number);
      if (strcmp(argv[1], "difference") == 0) srand(now - number);
      if (strcmp(argv[1], "product") == 0) srandom(now * number);
      if (strcmp(argv[1], "earlier") == 0) srand48(now - 10 + number);
      if (strcmp(argv[1], "long ago") == 0) srand(now - 100000000 + number);
      if (strcmp(argv[1], "time") == 0) srand(now);
      if (strcmp(argv[1], "rank") == 0) srand(now + number + 1000000 * (rank + 1));
      if (strcmp(argv[1], "constant") == 0) srand(0);
      return MPI_Finalize();
    }"""

# Rank 0 makes as many files as are noted, and one more; rank 1 writes to the one that the argument names.
MANY = """
    #include <mpi.h>
    #include <stdio.h>
    #include <unistd.h>
    static int make(const char *folder, int file) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%d.%d", folder, (int)getpid(), 1000 + file);
      FILE *stream = fopen(path, "w");
      return stream == NULL || fclose(stream) != 0;
    }
    int main(int argc, char **argv) {
      int rank, failed = 0, file;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      for (int i = 0; i < 257 && rank == 0; i++) failed |= make(argv[1], i);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 1) failed |= sscanf(argv[2], "%d", &file) != 1 || make(argv[1], file);
      return MPI_Finalize() | failed;
    }"""


class Numbered(built.Programs):
    def setUp(self):
        super().setUp()
        self.program = self.build("names", PROGRAM)

    @staticmethod
    def run_words(*words, ranks=RANKS):
        return subprocess.run([built.TMPIRUN, "-n", str(ranks), *words], capture_output=True, text=True, check=False)

    def says(self, pattern, name, mode="w", how="at once", ranks=RANKS):
        result = self.run_words(self.program, f"{self.folder}/{name}", mode, how, ranks=ranks)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, f"^{pattern}$")

    def test_one_file_of_all_ranks(self):
        for name, written, mode in (("a.%d", r"a\.\d+", "w"), ("%08d.tmp", r"\d+\.tmp", "w"),
                                    ("numbered-%d", r"numbered-\d+", "shm"), ("wide1%010d7", r"wide1\d+7", "w"),
                                    ("e.1%1$d-%1$d", r"e\.\d+-\d+", "w")):
            with self.subTest(name):
                self.says(MESSAGE.format(written), name, mode)

    def test_one_rank_takes_the_place_of_another(self):
        for mode in ("shm", "sem", "unlink", "unlinkat", "remove"):
            with self.subTest(mode):
                self.says(MESSAGE.format(r"\S*taken-\d+"), "taken-%d", mode, "replaced")

    def test_others_are_not_reported(self):
        self.says("", "e.%d", how="removed")
        self.says("", "f.%d.%d", mode="unlink", how="replaced")
        self.says("", "a.%d.%d")
        self.says("", "b.%d", mode="a")
        self.says("", "c.%d", how="in turn")
        self.says("", "d.%d", ranks=1)
        for name in ("same.1%d1", "same.1%d", "same.%d1"):
            self.says("", name)

    def test_more_files_than_are_noted(self):
        many = self.build("many", MANY)
        for file, pattern in ((0, MESSAGE.format(r"\d+\.1000")), (255, MESSAGE.format(r"\d+\.1255")), (256, "")):
            result = self.run_words(many, self.folder, str(file), ranks=2)
            self.assertEqual(result.returncode, 0, result)
            self.assertRegex(result.stderr, f"^{pattern}$")

    def test_seeds(self):
        seeds = self.build("seeds", SEEDS)
        message = r"tmpirun: ranks [0-3] and [0-3] start the same random numbers, from \d+: .*\(add the rank\)\n"
        for how, pattern in (("number", message), ("sum", message), ("xor", message), ("difference", message), ("product", message),
                             ("earlier", message), ("rank", ""), ("constant", ""), ("long ago", ""), ("time", "")):
            with self.subTest(how):
                result = self.run_words(seeds, how)
                self.assertEqual(result.returncode, 0, result)
                self.assertRegex(result.stderr, f"^{pattern}$")


if __name__ == "__main__":
    built.TMPIRUN, built.PROCESS, built.LIBRARY = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)

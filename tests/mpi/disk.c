/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose disk has no room, that end early, and that disappear: the status counts what was
 * transferred, the error has its class, and what was reported written is there. The file is in
 * TMPDIR, else in /tmp. "full": the file system is to be filled; disk.py makes a small one.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { BLOCK = 50000, LIMIT = 275000, ROUNDS = 100 };

static int rank, size;
static char path[400], block[BLOCK], got[BLOCK];
static MPI_File file;
static MPI_Status status;

static void open_file(int amode) {
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
}

static int moved(void) {
  int count = -1;
  MPI_Get_count(&status, MPI_CHAR, &count);
  return count;
}

/* ---- a view past the end, or across it */

static void past_the_end(void) {
  int numbers[8] = {0}, sum;
  MPI_Offset bytes;
  MPI_Datatype every;
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 40);
  MPI_File_set_view(file, 1000, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  memset(numbers, 7, sizeof numbers);
  CHECK(MPI_File_read_at_all(file, 0, numbers, 8, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(moved() == 0 && numbers[0] == 0x07070707); /* nothing was read */
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == 40); /* and nothing was written */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, &status);
  MPI_File_get_size(file, &bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == 1000 + size * 4);
  MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, got, 1000, MPI_CHAR, &status);
  CHECK(moved() == 1000);
  sum = 0;
  for (int i = 0; i < 1000; i++) sum |= got[i];
  CHECK(sum == 0); /* the hole */
  /* Every second number, from one before the end on: one is there. */
  MPI_Type_create_resized(MPI_INT, 0, 8, &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, 1000 + (size - 1) * (MPI_Offset)4, MPI_INT, every, "native",
                    MPI_INFO_NULL);
  CHECK(MPI_File_read_all(file, numbers, 8, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(moved() == 4 && numbers[0] == size - 1);
  MPI_Type_free(&every);
  MPI_File_close(&file);
}

/* ---- no room */

/* Part `round` of the caller. */
static MPI_Offset place(int round) { return ((MPI_Offset)round * size + rank) * BLOCK; }

static void fill(int round) { memset(block, 1 + (round * 7 + rank) % 120, sizeof block); }

/* Writes in one of the ways. @return the class of the error. */
static int write_block(int round) {
  int error, class;
  MPI_Request request;
  MPI_Datatype spread;
  fill(round);
  switch (round % 4) {
    case 0: error = MPI_File_write_at(file, place(round), block, BLOCK, MPI_CHAR, &status); break;
    case 1:
      error = MPI_File_write_at_all(file, place(round), block, BLOCK, MPI_CHAR, &status);
      break;
    case 2:
      error = MPI_File_iwrite_at(file, place(round), block, BLOCK, MPI_CHAR, &request);
      if (error == MPI_SUCCESS) error = MPI_Wait(&request, &status);
      break;
    default: /* through a buffer */
      MPI_Type_create_hvector(BLOCK / 2, 1, 2, MPI_CHAR, &spread);
      MPI_Type_commit(&spread);
      error = MPI_File_write_at(file, place(round), block, 1, spread, &status);
      MPI_Type_free(&spread);
  }
  MPI_Error_class(error, &class);
  return class;
}

static void check_block(int round, int bytes) {
  fill(round);
  CHECK(MPI_File_read_at(file, place(round), got, bytes, MPI_CHAR, &status) == MPI_SUCCESS);
  CHECK(moved() == bytes && memcmp(got, block, (size_t)bytes) == 0);
}

/* Writes until there is no room. What was reported written is read back from the file, opened
 * anew. */
static void until_full(void) {
  int written[ROUNDS] = {0}, rounds = 0, full = 0, all_full = 0;
  while (!all_full && rounds < ROUNDS) {
    int class = write_block(rounds), wanted = rounds % 4 == 3 ? BLOCK / 2 : BLOCK;
    written[rounds] = moved();
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_NO_SPACE);
    CHECK(class == MPI_SUCCESS ? written[rounds] == wanted : written[rounds] < wanted);
    full |= class != MPI_SUCCESS;
    rounds++;
    MPI_Allreduce(&full, &all_full, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  }
  CHECK(all_full);
  MPI_File_close(&file);
  open_file(MPI_MODE_RDONLY);
  for (int i = 0; i < rounds; i++) check_block(i, written[i]);
}

/* All ranks are one process, which may not write beyond LIMIT. */
static void limited(void) {
  struct rlimit old, limit;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  signal(SIGXFSZ, SIG_IGN);
  if (getrlimit(RLIMIT_FSIZE, &old) != 0) abort();
  limit = old;
  limit.rlim_cur = LIMIT;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0) abort();
  MPI_Barrier(MPI_COMM_WORLD);
  until_full();
  MPI_Offset bytes;
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == LIMIT); /* not a byte less than there was room for */
  MPI_File_close(&file);
  open_file(MPI_MODE_RDWR);
  EXPECT(MPI_ERR_NO_SPACE, MPI_File_set_size(file, 2 * LIMIT));
  EXPECT(MPI_ERR_NO_SPACE, MPI_File_preallocate(file, 2 * LIMIT));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && setrlimit(RLIMIT_FSIZE, &old) != 0) abort();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
}

static void full(void) {
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  until_full();
  MPI_File_close(&file);
}

/* ---- files that disappear */

static void disappears(void) {
  int value = rank;
  MPI_File other;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unlink(path) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_ERR_NO_SUCH_FILE,
         MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  /* A rank that has it open may use it. */
  CHECK(MPI_File_write_at_all(file, rank * (MPI_Offset)4, &rank, 1, MPI_INT, &status) == 0);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, (rank + 1) % size * (MPI_Offset)4, &value, 1, MPI_INT, &status);
  CHECK(value == (rank + 1) % size);
  MPI_File_close(&file);
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(path, MPI_INFO_NULL));
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unlink(path) == 0);
  MPI_File_close(&file); /* it is gone already */
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/tmpi-disk-%d", folder != NULL ? folder : "/tmp", (int)getpid());
  if (argc > 1 && strcmp(argv[1], "full") == 0) {
    full();
  } else {
    past_the_end();
    limited();
    disappears();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  MPI_Finalize();
  return 0;
}

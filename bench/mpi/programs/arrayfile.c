/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective accesses to a file that has an array of three dimensions, in C's order. Each rank has
 * a box of it. BYTES is the length of an edge, which the numbers of boxes along it divide. The file
 * is in /dev/shm ("memory"), or in TMPDIR, else /var/tmp ("disk"), where it stays in the page
 * cache.
 */
#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[400];
static MPI_File file;
static int boxes[3], lengths[3], starts[3];
static double *box, *got;
static int numbers; /* in a box */

/* The number in the array at a place of the box: its index. */
static double value_at(int place) {
  int z = place % lengths[2], y = place / lengths[2] % lengths[1],
      x = place / lengths[2] / lengths[1];
  return ((double)(starts[0] + x) * bytes + (starts[1] + y)) * bytes + (starts[2] + z);
}

static void divide(void) {
  int own = rank;
  MPI_Dims_create(size, 3, boxes);
  for (int i = 2; i >= 0; i--) {
    if (bytes % boxes[i] != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    lengths[i] = bytes / boxes[i];
    starts[i] = own % boxes[i] * lengths[i];
    own /= boxes[i];
  }
}

static void write_all(void) {
  MPI_Status status;
  int count;
  MPI_File_write_at_all(file, 0, box, numbers, MPI_DOUBLE, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  wrong += count != numbers;
}

static void read_all(void) {
  MPI_Status status;
  int count;
  MPI_File_read_at_all(file, 0, got, numbers, MPI_DOUBLE, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  wrong += count != numbers;
}

static void open_file(const char *folder) {
  MPI_Datatype view;
  int edges[3] = {bytes, bytes, bytes};
  divide();
  numbers = lengths[0] * lengths[1] * lengths[2];
  box = malloc((size_t)numbers * sizeof *box);
  got = calloc((size_t)numbers, sizeof *got);
  if (box == NULL || got == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < numbers; i++) box[i] = value_at(i);
  if (rank == 0) snprintf(path, sizeof path, "%s/mltp-bench-%d", folder, (int)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Type_create_subarray(3, edges, lengths, starts, MPI_ORDER_C, MPI_DOUBLE, &view);
  MPI_Type_commit(&view);
  MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL);
  MPI_Type_free(&view);
  write_all();
  MPI_Barrier(MPI_COMM_WORLD);
}

static void open_in_memory(void) { open_file("/dev/shm"); }

static void open_on_disk(void) {
  const char *folder = getenv("TMPDIR");
  open_file(folder != NULL ? folder : "/var/tmp");
}

static void check_and_remove(double added) {
  for (int i = 0; i < numbers; i++) wrong += got[i] != value_at(i) + added;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  free(box);
  free(got);
}

/* One write more is compared with what read(2) finds: a box's rows, one by one. */
static void close_written(void) {
  for (int i = 0; i < numbers; i++) box[i] = value_at(i) + 0.5;
  write_all();
  MPI_File_close(&file);
  int plain = open(path, O_RDONLY);
  for (int i = 0; i < numbers; i += lengths[2]) {
    off_t at = (off_t)value_at(i) * (off_t)sizeof *got;
    size_t row = (size_t)lengths[2] * sizeof *got;
    if (pread(plain, got + i, row, at) != (ssize_t)row) wrong++;
  }
  close(plain);
  check_and_remove(0.5);
}

static void close_read(void) {
  memset(got, 0, (size_t)numbers * sizeof *got);
  read_all();
  MPI_File_close(&file);
  check_and_remove(0);
}

static const struct row rows[] = {
    {.name = "write-memory", .run = write_all, .before = open_in_memory, .after = close_written},
    {.name = "read-memory", .run = read_all, .before = open_in_memory, .after = close_read},
    {.name = "write-disk", .run = write_all, .before = open_on_disk, .after = close_written},
    {.name = "read-disk", .run = read_all, .before = open_on_disk, .after = close_read},
};

int main(int argc, char **argv) {
  return measure_row(argc, argv, rows, sizeof rows / sizeof rows[0]);
}

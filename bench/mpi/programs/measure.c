/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TRIES = 3 }; /* batches, to find how many operations one should have */

int rank, size, bytes;
char *mine, *others;
unsigned char round_number;
int checked;
long wrong;

/* @return seconds of CPU time of this process. */
static double cpu_time(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* @return bytes of memory of this process, what it shares counted in part. */
static double memory(void) {
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  char line[200];
  long kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Pss: %ld", &kib) == 1) break;
  if (file != NULL) fclose(file);
  return (double)kib * 1024;
}

/* @return whether this rank speaks for its process: there may be several in one. */
static int is_first(void) {
  int own = (int)getpid(), first = 1, *all = malloc((size_t)size * sizeof *all);
  MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < rank; i++) first &= all[i] != own;
  free(all);
  return first;
}

static double run(const struct row *row, long count) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (long i = 0; i < count; i++) {
    round_number++;
    checked = i == count - 1;
    row->run();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

static double shortest(const struct row *row, long count, int batches) {
  double best = run(row, count);
  for (int i = 1; i < batches; i++) {
    double taken = run(row, count);
    if (taken < best) best = taken;
  }
  return best;
}

/* Rank 0 says, as the clocks of the others differ. */
static int is_enough(double taken, double seconds) {
  int enough = taken >= seconds / 2;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return enough;
}

/* How many operations take so long. One batch may be long because it was disturbed. */
static long calibrate(const struct row *row, double seconds) {
  long count = 1;
  while (!is_enough(shortest(row, count, TRIES), seconds)) count *= 2;
  return count;
}

static void measure(const struct row *row, int batches, double seconds) {
  int first = is_first();
  if (row->before != NULL) row->before();
  long count = calibrate(row, seconds);
  double best, own[2] = {cpu_time(), 0}, sums[2];
  while (!is_enough(best = shortest(row, count, batches), seconds)) {
    count *= 2; /* all the tries were disturbed */
    own[0] = cpu_time();
  }
  own[0] = first ? cpu_time() - own[0] : 0;
  own[1] = first ? memory() : 0;
  if (row->after != NULL) row->after();
  long all_wrong;
  MPI_Reduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  int operations = row->operations > 0 ? row->operations : 1;
  if (rank == 0)
    printf(
        "{\"row\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"wall_ns\": %.1f, \"cpu_ns\": %.1f, "
        "\"rank_bytes\": %.0f, \"verified\": %s}\n",
        row->name, bytes, size, best / (double)count / operations * 1e9,
        sums[0] / (double)count / batches / operations * 1e9, sums[1] / size,
        all_wrong == 0 ? "true" : "false");
  if (rank == 0 && all_wrong != 0) exit(1);
}

int measure_row(int argc, char **argv, const struct row *rows, size_t count) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct row *row = NULL;
  for (size_t i = 0; argc > 2 && i < count; i++)
    if (strcmp(argv[1], rows[i].name) == 0) row = &rows[i];
  bytes = argc > 2 ? atoi(argv[2]) : 0;
  int batches = argc > 3 ? atoi(argv[3]) : 20;
  double seconds = (argc > 4 ? atoi(argv[4]) : 1) * 1e-3;
  if (row == NULL) {
    fprintf(stderr, "%s: usage: %s ROW BYTES [BATCHES [MS]]\n", argv[0], argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int parts = row->parts == PART_FOR_EACH_RANK ? size : row->parts > 0 ? row->parts : 1;
  size_t room = (size_t)bytes * (size_t)parts + 16;
  mine = calloc(1, room);
  others = calloc(1, room);
  if (mine == NULL || others == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (row->run != NULL)
    measure(row, batches, seconds);
  else if (rank == 0) /* the process that started us has the clock */
    puts("{\"row\": \"start\", \"verified\": true}");
  free(mine);
  free(others);
  MPI_Finalize();
  return 0;
}

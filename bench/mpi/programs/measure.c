/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* gettid() */
#include "measure.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  TRIES = 3,    /* batches, to find how many operations one should have */
  SPREADS = 3,  /* attempts to bring two ranks apart */
  MOMENTS = 16, /* of a batch in which the ranks look where they are */
  MOST_RUNS = 5 /* for each batch that is to count */
};

/* Two ranks compute for this time to get a CPU each, seconds: longer than a library takes to see
 * that one computes and the other waits for its CPU. */
static const double SPREAD = 20e-3;

/* What the batches took that count. */
struct batches {
  double shortest, cpu; /* seconds */
  int count;
};

int rank, size, bytes;
char *mine, *others;
unsigned char round_number;
int checked;
long wrong;
static int apart; /* batches count only if the two ranks have a kernel thread each */

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

/* @return whether the two ranks ran on different kernel threads whenever they looked; both get the
 * same answer. */
static int were_apart(const int *own, int count) {
  int other[MOMENTS], done = 1;
  MPI_Sendrecv(own, count, MPI_INT, 1 - rank, 3, other, count, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) done &= own[i] != other[i];
  return done;
}

static int are_apart(void) {
  int own = (int)gettid();
  return were_apart(&own, 1);
}

/* @return whether the two ranks are apart, if need be because they have computed for a while. */
static int spread(void) {
  int done = are_apart();
  for (int i = 0; i < SPREADS && !done; i++) {
    double start = MPI_Wtime();
    while (MPI_Wtime() < start + SPREAD) continue;
    done = are_apart();
  }
  return done;
}

static void run(const struct row *row, long count, struct batches *batches) {
  int threads[MOMENTS], looks = 0;
  long every = (count + MOMENTS - 1) / MOMENTS;
  double cpu = cpu_time();
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (long i = 0; i < count; i++) {
    if (apart && i == looks * every) threads[looks++] = (int)gettid();
    round_number++;
    checked = i == count - 1;
    row->run();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double taken = MPI_Wtime() - start;
  cpu = cpu_time() - cpu;
  if (apart && !were_apart(threads, looks)) return;
  if (taken < batches->shortest) batches->shortest = taken;
  batches->cpu += cpu;
  batches->count++;
}

static struct batches repeat(const struct row *row, long count, int wanted) {
  struct batches batches = {.shortest = DBL_MAX};
  for (int runs = 0; batches.count < wanted; runs++) {
    apart = apart && runs < MOST_RUNS * wanted && spread();
    run(row, count, &batches);
  }
  return batches;
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
  while (!is_enough(repeat(row, count, TRIES).shortest, seconds)) count *= 2;
  return count;
}

static void measure(const struct row *row, int wanted, double seconds) {
  int first = is_first();
  if (row->before != NULL) row->before();
  apart = size == 2 && seconds > 0 && spread();
  long count = calibrate(row, seconds);
  double own[2], sums[2];
  struct batches batches = repeat(row, count, wanted);
  while (!is_enough(batches.shortest, seconds)) {
    count *= 2; /* all the tries were disturbed */
    batches = repeat(row, count, wanted);
  }
  own[0] = first ? batches.cpu : 0;
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
        row->name, bytes, size, batches.shortest / (double)count / operations * 1e9,
        sums[0] / (double)count / batches.count / operations * 1e9, sums[1] / size,
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

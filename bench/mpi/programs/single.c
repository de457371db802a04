/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single operations of MPI take: an ordinary MPI program, for any library.
 *
 * single ROW BYTES [BATCHES [MS]]
 *
 * Each batch has as many operations as take MS milliseconds (1), or half of that at least; the
 * shortest of BATCHES (20) counts, so that other programs on the machine disturb little. Rank 0
 * prints a line of JSON: wall time of an operation, CPU time of all processes, and memory of all
 * processes for each rank (proportional, so that what is shared counts once). What every operation
 * brought is checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  TRIES = 3, /* batches, to find how many operations one should have */
  WINDOW = 64,
  WINDOW_BYTES = 1 << 22
};

static int rank, size, bytes;
static char *mine, *others; /* a part for each rank */
static unsigned char round_number;
static int checked; /* this operation is: the last of a batch */
static long wrong;

static void expect(const char *buffer, unsigned char value, int length) {
  if (length > 0)
    wrong += (unsigned char)buffer[0] != value || (unsigned char)buffer[length - 1] != value;
}

/* ---- rows: each performs one operation; all ranks call it */

/* There and back, between the first two ranks. */
static void latency(void) {
  if (rank > 1) return;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  if (rank == 0) MPI_Send(mine, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  MPI_Recv(others, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(others, round_number, bytes);
  if (rank == 1) MPI_Send(mine, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

/* The same by ranks that never sleep, so each keeps a CPU where there are two. */
static void polled(void) {
  if (rank > 1) return;
  MPI_Request request;
  int here = 0;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Irecv(others, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Send(mine, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  while (!here) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
  expect(others, round_number, bytes);
  if (rank == 1) MPI_Send(mine, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

/* Messages that a rank sends before it waits. */
static int window(void) { return bytes * WINDOW > WINDOW_BYTES ? WINDOW_BYTES / bytes : WINDOW; }

/* Each rank of the first half sends to one of the second, which says when all have come. */
static void stream(void) {
  MPI_Request requests[WINDOW];
  int half = size / 2, count = window();
  if (rank >= 2 * half) return;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  for (int i = 0; i < count; i++) {
    char *into = others + (size_t)i * (size_t)bytes;
    if (rank < half)
      MPI_Isend(mine, bytes, MPI_CHAR, rank + half, 1, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(into, bytes, MPI_CHAR, rank - half, 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (rank < half) {
    MPI_Recv(NULL, 0, MPI_CHAR, rank + half, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  for (int i = 0; i < count; i++) expect(others + (size_t)i * (size_t)bytes, round_number, bytes);
  MPI_Send(NULL, 0, MPI_CHAR, rank - half, 2, MPI_COMM_WORLD);
}

/* Each to the next one. */
static void ring(void) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)(round_number + rank);
  MPI_Sendrecv(mine, bytes, MPI_CHAR, next, 1, others, bytes, MPI_CHAR, before, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  expect(others, (unsigned char)(round_number + before), bytes);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void bcast(void) {
  int root = round_number % size;
  if (rank == root && bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Bcast(mine, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
  expect(mine, round_number, bytes);
}

static void fill(double *numbers, int count) {
  for (int i = 0; checked && i < count; i++) numbers[i] = rank + round_number;
}

static void check_sum(const double *numbers, int count) {
  double sum = size * (size - 1.0) / 2 + (double)size * round_number;
  if (checked && count > 0) wrong += numbers[0] != sum || numbers[count - 1] != sum;
}

static void allreduce(void) {
  int count = bytes / 8;
  fill((double *)mine, count);
  MPI_Allreduce(mine, others, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check_sum((double *)others, count);
}

static void reduce(void) {
  int count = bytes / 8, root = round_number % size;
  fill((double *)mine, count);
  MPI_Reduce(mine, others, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) check_sum((double *)others, count);
}

static void allgather(void) {
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)(round_number + rank);
  MPI_Allgather(mine, bytes, MPI_CHAR, others, bytes, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; checked && i < size; i++)
    expect(others + (size_t)i * (size_t)bytes, (unsigned char)(round_number + i), bytes);
}

static void alltoall(void) {
  for (int i = 0; checked && i < size && bytes > 0; i++)
    mine[(size_t)i * (size_t)bytes] = mine[(size_t)(i + 1) * (size_t)bytes - 1] =
        (char)(round_number + rank + i);
  MPI_Alltoall(mine, bytes, MPI_CHAR, others, bytes, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; checked && i < size; i++)
    expect(others + (size_t)i * (size_t)bytes, (unsigned char)(round_number + rank + i), bytes);
}

/* What is measured is there before. */
static void nothing(void) {}

static const struct row {
  const char *name;
  void (*run)(void);
  int parts; /* a part for each rank */
} rows[] = {
    {"latency", latency, 0}, {"polled", polled, 0},       {"ring", ring, 0},
    {"barrier", barrier, 0}, {"bcast", bcast, 0},         {"allreduce", allreduce, 0},
    {"reduce", reduce, 0},   {"allgather", allgather, 1}, {"alltoall", alltoall, 1},
    {"stream", stream, 0},   {"memory", nothing, 0},      {"start", NULL, 0},
};

/* ---- measuring */

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
  if (row->run == nothing) seconds = 0;
  long count = calibrate(row, seconds);
  double best, own[2] = {cpu_time(), 0}, sums[2];
  while (!is_enough(best = shortest(row, count, batches), seconds)) {
    count *= 2; /* all the tries were disturbed */
    own[0] = cpu_time();
  }
  own[0] = first ? cpu_time() - own[0] : 0;
  own[1] = first ? memory() : 0;
  long all_wrong;
  MPI_Reduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  int trips = row->run == stream ? window() : row->run == latency || row->run == polled ? 2 : 1;
  if (rank == 0)
    printf(
        "{\"row\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"wall_ns\": %.1f, \"cpu_ns\": %.1f, "
        "\"rank_bytes\": %.0f, \"verified\": %s}\n",
        row->name, bytes, size, best / (double)count / trips * 1e9,
        sums[0] / (double)count / batches / trips * 1e9, sums[1] / size,
        all_wrong == 0 ? "true" : "false");
  if (rank == 0 && all_wrong != 0) exit(1);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct row *row = NULL;
  for (size_t i = 0; argc > 2 && i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(argv[1], rows[i].name) == 0) row = &rows[i];
  bytes = argc > 2 ? atoi(argv[2]) : 0;
  int batches = argc > 3 ? atoi(argv[3]) : 20;
  double seconds = (argc > 4 ? atoi(argv[4]) : 1) * 1e-3;
  if (row == NULL || (row->run == latency && size < 2)) {
    fprintf(stderr, "single: usage: single ROW BYTES [BATCHES [MS]]; latency needs 2 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int parts = row->run == stream ? window() : row->parts ? size : 1;
  size_t room = (size_t)bytes * (size_t)parts + 16;
  mine = calloc(1, room);
  others = calloc(1, room);
  if (mine == NULL || others == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (row->run != NULL)
    measure(row, batches, seconds);
  else if (rank == 0)
    puts(
        "{\"row\": \"start\", \"verified\": true}"); /* the process that started us has the clock */
  free(mine);
  free(others);
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thing costs beside many others of its kind: an ordinary MPI program, for any library.
 *
 * growth ROW COUNT
 *
 * COUNT is of what the row's name says. Rank 0 prints a line of JSON: CPU time and memory of its
 * process for each. What every operation brought is checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "line.h"

static int rank, size;
static long wrong;

static void *need(size_t bytes) {
  void *memory = calloc(1, bytes + 1);
  if (memory != NULL) return memory;
  fprintf(stderr, "growth: no memory for %zu bytes\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

/* Of this process, in seconds, so that other programs do not count. Ranks that are threads count
 * together. */
static double cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double resident(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f != NULL) fclose(f);
  return (double)pages * 4096;
}

/* ---- rows: each returns seconds, and sets the bytes in use at the peak */

static double memory;

/* COUNT nonblocking collectives outstanding on all ranks. */
static double outstanding(int count) {
  MPI_Request *requests = need((size_t)count * sizeof *requests);
  int *sums = need((size_t)count * sizeof *sums);
  double begin = cpu_time();
  for (int i = 0; i < count; i++)
    MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  memory = resident();
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  double seconds = cpu_time() - begin;
  for (int i = 0; i < count; i++) wrong += sums[i] != size * (size - 1) / 2;
  free(requests);
  free(sums);
  return seconds / size; /* for each rank */
}

/* COUNT messages of the second rank, which the first receives by their tags, the last one first. */
static double messages(int count, int source) {
  int number;
  if (rank > 1) return 0;
  if (rank == 1) {
    for (int i = 0; i < count; i++) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_INT, 0, count, MPI_COMM_WORLD);
    return 0;
  }
  MPI_Recv(NULL, 0, MPI_INT, 1, count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  memory = resident();
  double begin = cpu_time();
  for (int i = count - 1; i >= 0; i--) {
    MPI_Recv(&number, 1, MPI_INT, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += number != i;
  }
  return cpu_time() - begin;
}

static double unexpected(int count) { return messages(count, 1); }

static double wildcard(int count) { return messages(count, MPI_ANY_SOURCE); }

/* COUNT receives posted from any source; their messages come in the reverse order. */
static double posted(int count) {
  double seconds = 0;
  int *numbers = need((size_t)count * sizeof *numbers);
  MPI_Request *requests = need((size_t)count * sizeof *requests);
  for (int i = 0; i < count && rank == 0; i++)
    MPI_Irecv(&numbers[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
  memory = resident();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    double begin = cpu_time();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    seconds = cpu_time() - begin;
    for (int i = 0; i < count; i++) wrong += numbers[i] != i;
  }
  for (int i = count - 1; i >= 0 && rank == 1; i--) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  free(requests);
  free(numbers);
  return seconds;
}

/* COUNT receives posted, from one source and from any in turn, and cancelled in another order. */
static double cancelled(int count) {
  enum { STEP = 7919 /* a prime: every receive's turn comes if it does not divide COUNT */ };
  int *numbers = need((size_t)count * sizeof *numbers), flag;
  MPI_Request *requests = need((size_t)count * sizeof *requests);
  double seconds = 0;
  for (int i = 0; i < count && rank == 0; i++)
    MPI_Irecv(&numbers[i], 1, MPI_INT, i % 2 == 0 ? 1 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
              &requests[i]);
  memory = resident();
  if (rank == 0) {
    double begin = cpu_time();
    for (long i = 0; i < count; i++) {
      MPI_Request *request = &requests[count % STEP == 0 ? i : i * STEP % count];
      MPI_Status status;
      MPI_Cancel(request);
      MPI_Wait(request, &status);
      MPI_Test_cancelled(&status, &flag);
      wrong += !flag;
    }
    seconds = cpu_time() - begin;
  }
  free(requests);
  free(numbers);
  return seconds;
}

/* COUNT requests, all complete, taken one by one. */
static double waitany(int count) {
  int *numbers = need((size_t)count * sizeof *numbers);
  MPI_Request *requests = need((size_t)count * sizeof *requests);
  double seconds = 0;
  for (int i = 0; i < count && rank == 0; i++)
    MPI_Irecv(&numbers[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count && rank == 1; i++) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  memory = resident();
  if (rank == 0) {
    double begin = cpu_time();
    for (int i = 0, index; i < count; i++) {
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      wrong += index < 0 || index >= count || numbers[index] != index;
    }
    seconds = cpu_time() - begin;
  }
  free(requests);
  free(numbers);
  return seconds;
}

/* COUNT communicators alive. */
static double communicators(int count) {
  MPI_Comm *all = need((size_t)count * sizeof(MPI_Comm));
  double begin = cpu_time();
  for (int i = 0; i < count; i++) MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
  memory = resident();
  for (int i = 0; i < count; i++) MPI_Comm_free(&all[i]);
  free(all);
  return cpu_time() - begin;
}

/* COUNT attributes of one communicator. */
static double attributes(int count) {
  int *keys = need((size_t)count * sizeof *keys), found;
  void *value;
  double begin = cpu_time();
  for (int i = 0; i < count; i++)
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
  for (int i = 0; i < count; i++) MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], &keys[i]);
  memory = resident();
  for (int i = 0; i < count; i++) {
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &found);
    wrong += !found || value != &keys[i];
  }
  for (int i = 0; i < count; i++) {
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]);
    MPI_Comm_free_keyval(&keys[i]);
  }
  free(keys);
  return cpu_time() - begin;
}

/* COUNT keys of one info. */
static double info(int count) {
  char key[32], value[32];
  int found;
  MPI_Info all;
  MPI_Info_create(&all);
  double begin = cpu_time();
  for (int i = 0; i < count; i++) {
    snprintf(key, sizeof key, "key%d", i);
    MPI_Info_set(all, key, key + 3);
  }
  memory = resident();
  for (int i = 0; i < count; i++) {
    snprintf(key, sizeof key, "key%d", i);
    MPI_Info_get(all, key, sizeof value - 1, value, &found);
    wrong += !found || strcmp(value, key + 3) != 0;
    MPI_Info_delete(all, key);
  }
  MPI_Info_free(&all);
  return cpu_time() - begin;
}

/* A type of COUNT structures: made, committed and freed. */
static double structures(int count) {
  int lengths[] = {1, 1};
  MPI_Aint displs[] = {0, 8};
  MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE}, one, all;
  MPI_Type_create_struct(2, lengths, displs, parts, &one);
  double begin = cpu_time();
  MPI_Type_contiguous(count, one, &all);
  MPI_Type_commit(&all);
  memory = resident();
  double seconds = cpu_time() - begin;
  MPI_Type_free(&all);
  MPI_Type_free(&one);
  return seconds;
}

/* COUNT look-ups in a communicator whose ranks are rotated; it has as many ranks as there are. */
static double rotated(int count) {
  MPI_Comm comm, copy;
  MPI_Group group;
  double seconds = 0;
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + 1) % size, &comm);
  MPI_Comm_group(comm, &group);
  for (int done = 0; done < count; done += size) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = cpu_time();
    MPI_Comm_create(comm, group, &copy);
    seconds += cpu_time() - begin;
    MPI_Comm_free(&copy);
  }
  memory = resident();
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  return seconds;
}

static void comm_free(MPI_Comm *comm) {
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

/* COUNT ranks get a graph of degree 4; a call's time is shared by the ranks. */
static double graph(int count) {
  int degree = 4, near[4] = {(rank + 1) % size, (rank + size - 1) % size, (rank + 7) % size,
                             (rank + size - 7 % size) % size};
  double seconds = 0;
  for (int done = 0; done < count; done += size) {
    MPI_Comm made;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = cpu_time();
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, near, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &made);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds += cpu_time() - begin;
    memory = resident();
    comm_free(&made);
  }
  return seconds;
}

/* COUNT ranks get a grid, and may be reordered. */
static double grid(int count) {
  double seconds = 0;
  for (int done = 0; done < count; done += size) {
    int dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Comm made;
    MPI_Dims_create(size, 2, dims);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = cpu_time();
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &made);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds += cpu_time() - begin;
    memory = resident();
    comm_free(&made);
  }
  return seconds;
}

/* COUNT results: each rank but the first sends ten, and the first takes them from any rank by their
 * tags, the highest first. */
static double master(int count) {
  enum { RESULTS = 10 };
  double seconds = 0;
  (void)count;
  for (int i = 0; rank != 0 && i < RESULTS; i++) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    memory = resident();
    double begin = cpu_time();
    for (int i = RESULTS - 1, number; i >= 0; i--)
      for (int r = 1; r < size; r++) {
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += number != i;
      }
    seconds = (cpu_time() - begin) / RESULTS;
  }
  return seconds;
}

static void add_pairs(void *from, void *to, int *length, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < 2 * *length; i++) ((double *)to)[i] += ((double *)from)[i];
}

/* A scan of COUNT elements of 16 bytes, with an operation of the program's. */
static double scan(int count) {
  MPI_Datatype pair;
  MPI_Op op;
  double *from = need((size_t)count * 16), *to = need((size_t)count * 16), seconds = 0;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(add_pairs, 1, &op);
  for (int i = 0; i < 2 * count; i++) from[i] = i;
  enum { TIMES = 5 };
  for (int i = 0; i < TIMES; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = cpu_time();
    MPI_Scan(from, to, count, pair, op, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds += (cpu_time() - begin) / TIMES;
  }
  memory = resident();
  wrong += to[2 * count - 1] != (rank + 1.0) * (2 * count - 1);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  free(from);
  free(to);
  return seconds;
}

/* COUNT messages to a receiver that sleeps while the sender begins. */
static double flood(int count) {
  double seconds = 0;
  int number;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank == 1 && i < count; i++) MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    memory = resident();
    double begin = cpu_time();
    for (int i = 0; i < count; i++) {
      MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += number != i;
    }
    seconds = cpu_time() - begin;
  }
  return seconds;
}

static const struct row {
  const char *name;
  double (*run)(int count);
} rows[] = {
    {"outstanding", outstanding},
    {"unexpected", unexpected},
    {"wildcard", wildcard},
    {"posted", posted},
    {"cancelled", cancelled},
    {"waitany", waitany},
    {"communicators", communicators},
    {"attributes", attributes},
    {"info", info},
    {"structures", structures},
    {"rotated", rotated},
    {"graph", graph},
    {"grid", grid},
    {"master", master},
    {"scan", scan},
    {"flood", flood},
};

int main(int argc, char **argv) {
  const struct row *row = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, argv[1]) == 0) row = &rows[i];
  int count = row != NULL ? size_argument(argc - 1, argv + 1, 100000000) : 0;
  if (row == NULL || size < 2) {
    fprintf(stderr, "growth: usage: growth ROW COUNT, in 2 ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  double before = resident(), seconds = row->run(count), all = 0;
  long wrong_all = 0;
  MPI_Reduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&wrong, &wrong_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  double bytes = memory > before ? memory - before : 0;
  if (rank == 0)
    printf(
        "{\"row\": \"%s\", \"size\": %d, \"ranks\": %d, \"cpu_ns\": %.3f, \"bytes\": %.3f, "
        "\"verified\": %s}\n",
        row->name, count, size, all * 1e9 / count, bytes / count,
        wrong_all == 0 ? "true" : "false");
  MPI_Finalize();
  return wrong_all != 0;
}

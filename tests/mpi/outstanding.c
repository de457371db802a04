/* SPDX-License-Identifier: Apache-2.0 */
/* Many nonblocking collectives outstanding at once: each costs little memory, none waits for
 * another, and a lack of memory is an error of the call. */
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { MANY = 200, COMMS = 4, PERSISTENT = 8 };

static long resident(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
  fclose(f);
  return pages * 4096;
}

/* Rank 0 starts last, so all of the others' are outstanding. */
static void many(int rank, int size, int measured) {
  int own[MANY], sums[MANY];
  MPI_Request requests[MANY];
  long before = resident();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && size > 1) {
    for (int r = 1; r < size; r++)
      MPI_Recv(NULL, 0, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long each = (resident() - before) / ((size - 1) * MANY);
    if (measured) printf("%ld bytes for each outstanding collective\n", each);
    CHECK(!measured || each <= 2000);
  }
  for (int i = 0; i < MANY; i++) {
    own[i] = rank + i;
    MPI_Iallreduce(&own[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  }
  if (rank != 0) MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) CHECK(sums[i] == size * (size - 1) / 2 + size * i);
}

/* Ranks start the collectives of several communicators in different orders, and wait in others. */
static void several_comms(int rank, int size) {
  MPI_Comm comms[COMMS];
  MPI_Request requests[COMMS];
  int received[COMMS];
  for (int c = 0; c < COMMS; c++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < COMMS; i++) {
      int c = (i + rank) % COMMS;
      received[c] = rank == c % size ? round + c : -1;
      MPI_Ibcast(&received[c], 1, MPI_INT, c % size, comms[c], &requests[c]);
    }
    for (int i = 0; i < COMMS; i++) {
      int c = (i + 2 * rank) % COMMS;
      MPI_Wait(&requests[c], MPI_STATUS_IGNORE);
      CHECK(received[c] == round + c);
    }
  }
  for (int c = 0; c < COMMS; c++) MPI_Comm_free(&comms[c]);
}

/* Persistent collectives may start in another order on each rank, and again before others have
 * seen the last one complete. */
static void persistent(int rank, int size) {
  int own[PERSISTENT], all[PERSISTENT];
  MPI_Request requests[PERSISTENT];
  for (int i = 0; i < PERSISTENT; i++)
    MPI_Allreduce_init(&own[i], &all[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i]);
  for (int round = 0; round < 20; round++) {
    for (int k = 0; k < PERSISTENT; k++) {
      int i = (k * 3 + rank) % PERSISTENT;
      own[i] = rank * 100 + round + i;
      MPI_Start(&requests[i]);
    }
    MPI_Waitall(PERSISTENT, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PERSISTENT; i++) CHECK(all[i] == (size - 1) * 100 + round + i);
  }
  for (int i = 0; i < PERSISTENT; i++) MPI_Request_free(&requests[i]);
}

/* Rank 0 starts barriers until there is no memory for another; the others start as many. */
static void until_no_memory(int rank) {
  enum { MOST = 2000000 };
  MPI_Comm comm;
  int count = 0, error = MPI_SUCCESS, class = MPI_SUCCESS;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request *requests = malloc(MOST * sizeof *requests);
  CHECK(requests != NULL);
  struct rlimit old, small;
  getrlimit(RLIMIT_DATA, &old);
  MPI_Ibarrier(comm, &requests[count++]); /* the first one makes what all share */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    small = old;
    small.rlim_cur = 1;
    setrlimit(RLIMIT_DATA, &small);
    while (count < MOST && (error = MPI_Ibarrier(comm, &requests[count])) == MPI_SUCCESS) count++;
    setrlimit(RLIMIT_DATA, &old);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_NO_MEM);
    puts("then MPI_ERR_NO_MEM");
  }
  int wanted = count;
  MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  while (count < wanted) MPI_Ibarrier(comm, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(requests);
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  int measured = argc > 1 && strcmp(argv[1], "measured") == 0; /* not where allocators differ */
  many(rank, size, measured);
  several_comms(rank, size);
  persistent(rank, size);
  if (measured) until_no_memory(rank);
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank has a team of OpenMP's: its threads see the rank's globals, have thread-locals of their
 * own, may call what belongs to a rank, and take part in messages. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include "check.h"

enum { TEAM = 4, ROUNDS = 50 };

static int mine;
static __thread int local = 7;
static int private = 5;
#pragma omp threadprivate(private)

static void look(int rank, int member) {
  int seen;
  pthread_key_t key;
  CHECK(mine == rank && local == 100 * rank + member && private == local);
  MPI_Comm_rank(MPI_COMM_WORLD, &seen);
  CHECK(seen == rank);
  CHECK(pthread_key_create(&key, NULL) == 0 && pthread_key_delete(key) == 0);
  CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
}

/* Other ranks run while the first of a team waits for a message in the middle of a region. */
static void pass_on(int rank, int size, int round) {
  int got = -1;
  MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == round);
}

int main(int argc, char **argv) {
  int provided, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = rank;
#pragma omp parallel num_threads(TEAM)
  {
    CHECK(local == 7 && private == 5);
    private = local = 100 * rank + omp_get_thread_num();
  }
  for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp master
      pass_on(rank, size, round);
#pragma omp barrier
      look(rank, omp_get_thread_num());
      CHECK(omp_get_num_threads() == TEAM);
    }
  }
#pragma omp parallel num_threads(2)
  {
#pragma omp critical
    MPI_Barrier(MPI_COMM_WORLD); /* ranks wait for each other inside of the unnamed section */
  }
  MPI_Finalize();
  return 0;
}

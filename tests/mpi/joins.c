/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank waits for a pthread of its own, and those meet: more waits at once than there can be
 * VPs. Run with 1,100 ranks. */
#include <pthread.h>

#include "check.h"

static void *meet(void *argument) {
  MPI_Barrier(MPI_COMM_WORLD);
  return argument;
}

static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv) {
  int level, rank;
  pthread_t thread;
  pthread_attr_t attr;
  void *result = NULL;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 65536);
  CHECK(pthread_create(&thread, &attr, meet, &rank) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &rank);
  if (rank < 8) { /* one that has ended when it is joined; one that is never joined */
    CHECK(pthread_create(&thread, &attr, nothing, &rank) == 0);
    MPI_Barrier(MPI_COMM_SELF);
    CHECK(pthread_join(thread, &result) == 0 && result == &rank);
    CHECK(pthread_create(&thread, &attr, nothing, &rank) == 0);
    CHECK(pthread_detach(thread) == 0);
  }
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program that asks for executable stacks, as one in Fortran that passes an internal procedure to
 * another: its ranks and their pthreads have them. */
#include "support/stack_code.h"

#include <pthread.h>

#include "check.h"

static void *call(void *unused) {
  CHECK(call_code_on_stack() == 42);
  return unused;
}

int main(int argc, char **argv) {
  int size;
  check_start(&argc, &argv, &size);
  pthread_t thread;
  call(NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  call(NULL);
  CHECK(pthread_create(&thread, NULL, call, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  MPI_Finalize();
  return 0;
}

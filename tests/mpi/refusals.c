/* SPDX-License-Identifier: Apache-2.0 */
/* A little of all that needs memory; refused.py looks at how it ends. Its own calls are not
 * refused. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static _Thread_local int local = 3;

static void *work(void *argument) {
  pthread_key_t key;
  if (pthread_key_create(&key, NULL) == 0) pthread_setspecific(key, argument);
  local++;
  return argument;
}

/* The file of the program that runs. A read that is refused half-way closes what it has opened. */
static void open_again(const char *program) {
  dlopen(program, RTLD_NOW);
  CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size), values[4] = {0, 0, 0, 0}, others[4];
  pthread_t thread;
  MPI_Comm copy;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Irecv(others, 4, MPI_INT, size - 1 - rank, 0, copy, &request);
  MPI_Send(values, 4, MPI_INT, size - 1 - rank, 0, copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INT, MPI_SUM, copy);
  MPI_Comm_free(&copy);
  open_again(argv[0]);
  if (pthread_create(&thread, NULL, work, values) == 0) pthread_join(thread, NULL);
  fputs("not ended", stdout);
  fflush(stdout);
  fputs(" yet\n", stdout);
  MPI_Finalize();
  return 0;
}

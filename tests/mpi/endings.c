/* SPDX-License-Identifier: Apache-2.0 */
/* Ends as its argument says: what endings.py looks at. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int value;

static int is(const char *word, const char *argument) { return strcmp(word, argument) == 0; }

static void said(void) { printf("handler of rank ran\n"); }

static void leave(void) { exit(3); }

/* "raise-SIGNAL" and the like: rank 1 sends a signal to itself, and would continue. */
static void send(const char *how) {
  int signo = atoi(strchr(how, '-') + 1);
  if (strncmp(how, "raise-", 6) == 0) raise(signo);
  if (strncmp(how, "kill-", 5) == 0) kill(getpid(), signo);
  if (strncmp(how, "pthread_kill-", 13) == 0) pthread_kill(pthread_self(), signo);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int size, rank = check_start(&argc, &argv, &size);
  if (is(how, "handlers")) atexit(said);
  if (is(how, "no-finalize")) return 0;
  if (is(how, "lines"))
    for (int i = 0; i < 20; i++) printf("line %d of rank %d\n", i, rank);
  if (is(how, "sleep")) {
    printf("ready\n");
    fflush(stdout);
    sleep(60);
  }
  if (is(how, "abort") && rank == 1) abort();
  if (is(how, "mpi-abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (is(how, "crash") && rank == 1) *(volatile int *)8 = 1;
  if (is(how, "bad-rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strchr(how, '-') != NULL && rank == 1) send(how);
  MPI_Finalize();
  if (is(how, "callee") && rank == 2) leave();
  return is(how, "status") && rank == 1 ? 7 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ends, or hangs, as its argument says: what endings.py looks at. */
#include <string.h>

#include "check.h"

static int value;

static int is(const char *word, const char *argument) { return strcmp(word, argument) == 0; }

static void said(void) { printf("handler of rank ran\n"); }

static void leave(void) { exit(3); }

static void receive(int source, int tag) {
  MPI_Recv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void hang(const char *how, int rank, int size) {
  int other = size - 1 - rank;
  if (is(how, "head-to-head")) {
    MPI_Ssend(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    receive(other, 0);
  } else if (is(how, "missing")) {
    if (rank == size - 1)
      receive(0, 9);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(how, "crossed-tags")) {
    if (rank == 0)
      MPI_Ssend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else if (rank == 1)
      receive(0, 2);
  } else if (is(how, "all-receive")) {
    receive(other, 0);
  } else if (is(how, "early-end")) {
    if (rank == 0) exit(0);
    receive(0, 4);
  }
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int size, rank = check_start(&argc, &argv, &size);
  if (is(how, "handlers")) atexit(said);
  if (is(how, "no-finalize")) return 0;
  if (is(how, "lines"))
    for (int i = 0; i < 20; i++) printf("line %d of rank %d\n", i, rank);
  if (is(how, "abort") && rank == 1) abort();
  if (is(how, "mpi-abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (is(how, "crash") && rank == 1) *(volatile int *)8 = 1;
  if (is(how, "bad-rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  hang(how, rank, size);
  MPI_Finalize();
  if (is(how, "callee") && rank == 2) leave();
  return is(how, "status") && rank == 1 ? 7 : 0;
}

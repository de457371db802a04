/* SPDX-License-Identifier: Apache-2.0 */
/* Meets limits of jobs that mltp-limits(7) lists: ranks LIMIT. Rank 0 prints what it met. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "support/asleep.h"

static int rank;

/* Bytes of messages that rank 1 sends while rank 0 is outside of MPI; all are received then. */
static void mailbox(void) {
  enum { BYTES = 8192, MESSAGES = 10000 };
  static char buffer[BYTES];
  MPI_Win window;
  volatile long *sent;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(rank == 0 ? sizeof *sent : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &sent,
                          &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &sent);
  if (rank == 0) *sent = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (long i = 0; rank == 1 && i < MESSAGES; i++) {
    MPI_Send(buffer, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    *sent = i + 1;
  }
  if (rank == 0) {
    long before;
    do { /* until rank 1 waits */
      before = *sent;
      wait_until_asleep(0);
    } while (before != *sent);
    printf("%ld\n", before * BYTES);
    for (long i = 0; i < MESSAGES; i++)
      MPI_Recv(buffer, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Win_free(&window);
}

/* How many file descriptors the process has open. */
static void descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (rank == 0 && folder != NULL && readdir(folder) != NULL) count++;
  closedir(folder);
  if (rank == 0) printf("%d\n", count);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *limit = argc > 1 ? argv[1] : "";
  if (strcmp(limit, "mailbox") == 0)
    mailbox();
  else if (strcmp(limit, "descriptors") == 0)
    descriptors();
  else
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Work that a rank does with a library. Run alone with a number, a program does that rank's work:
 * libraries.py compares what both print. */
#ifndef WORK_H
#define WORK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int work_rank;

/* Starts MPI. @return whose work is to be done. */
static inline int work_start(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &work_rank);
  if (*argc > 2) work_rank = atoi((*argv)[2]);
  return work_rank;
}

/* Lets other ranks run between two steps, so that their steps mix with the caller's. */
static inline void work_mix(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Prints a result and ends MPI. */
static inline int work_end(double value) {
  printf("%d: %.12g\n", work_rank, value);
  return MPI_Finalize();
}

/* Ends the job if something is wrong. */
#define WORK(what)                                                                                 \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      fprintf(stderr, "rank %d: %s:%d: %s\n", work_rank, __FILE__, __LINE__, #what);               \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                \
    }                                                                                              \
  } while (0)

#endif

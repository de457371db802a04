/* SPDX-License-Identifier: Apache-2.0 */
/** @file line.h The line of JSON each program prints, and numbers on its command line. */
#ifndef BENCH_MPI_LINE_H
#define BENCH_MPI_LINE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /**< bytes of a cache line */

/** @return argument 1 as a number from 1 to most; ends the job when it is none. */
static inline int size_argument(int argc, char **argv, int most) {
  long value = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  if (value < 1 || value > most) {
    fprintf(stderr, "%s: usage: %s SIZE, from 1 to %d\n", argv[0], argv[0], most);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return (int)value;
}

/** Memory for `count` numbers, all 0, from the beginning of a cache line on, and touched, so that
 * no page is missing while the clock runs; ends the job when there is none. */
static inline double *numbers(size_t count) {
  size_t bytes = (count * sizeof(double) / LINE + 1) * LINE;
  double *memory = aligned_alloc(LINE, bytes);
  if (memory != NULL) return memset(memory, 0, bytes);
  fprintf(stderr, "no memory for %zu numbers\n", count);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

/** Rank 0 prints the line. right: this rank's part of the answer is. @return the exit status. */
static inline int print_line(const char *row, int size, double seconds, int right) {
  int rank, ranks, all_right;
  double longest;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("{\"row\": \"%s\", \"size\": %d, \"ranks\": %d, \"wall_ns\": %.0f, \"verified\": %s}\n",
           row, size, ranks, longest * 1e9, all_right ? "true" : "false");
  return all_right ? 0 : 1;
}

#endif

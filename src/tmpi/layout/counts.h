/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counts.h
 * Arrays of counts or displacements as programs give them: ints, or (of the calls that end with
 * _c) 64-bit ones.
 */
#ifndef TM_LAYOUT_COUNTS_H
#define TM_LAYOUT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/mpi.h"

/** Both NULL: there are none. */
struct tm_counts {
  const int *ints;
  const MPI_Count *large;
};

#define TM_NO_COUNTS ((struct tm_counts){NULL, NULL})

_Static_assert(sizeof(MPI_Count) == sizeof(MPI_Aint), "arrays of displacements are large ones");

static inline bool tm_counts_given(struct tm_counts counts) {
  return counts.ints != NULL || counts.large != NULL;
}

static inline MPI_Count tm_counts_at(struct tm_counts counts, MPI_Count i) {
  return counts.large != NULL ? counts.large[i] : counts.ints[i];
}

/** What a call that returns ints returns for a count. */
static inline int tm_count_as_int(MPI_Count count) {
  return count <= INT32_MAX ? (int)count : MPI_UNDEFINED;
}

#endif

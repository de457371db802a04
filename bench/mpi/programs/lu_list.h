/* SPDX-License-Identifier: Apache-2.0 */
/** @file lu_list.h Lists of integers that grow. */
#ifndef BENCH_MPI_LU_LIST_H
#define BENCH_MPI_LU_LIST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/** All 0 when it is empty. */
struct lu_list {
  int *at, count, room;
};

/** Puts a value at the end; ends the job when there is no memory. */
static inline void lu_add(struct lu_list *list, int value) {
  if (list->count == list->room) {
    list->room = list->room * 2 + 4;
    int *larger = realloc(list->at, (size_t)list->room * sizeof *larger);
    if (larger == NULL) {
      fprintf(stderr, "lu: no memory for a list of %d integers\n", list->room);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    list->at = larger;
  }
  list->at[list->count++] = value;
}

/** Empties it, and gives its memory back. */
static inline void lu_drop(struct lu_list *list) {
  free(list->at);
  *list = (struct lu_list){0};
}

#endif

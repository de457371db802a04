/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a collective: blocking, nonblocking, persistent (started twice), and these with
 * 64-bit counts. All give the same results. */
#ifndef TEST_FORMS_H
#define TEST_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "check.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT, BLOCKING_C, NONBLOCKING_C, PERSISTENT_C, FORMS };

enum { EACH = 3, RANKS_MAX = 16, ALL = EACH * RANKS_MAX };

static int rank, size;

/* What a rank sends, and what comes; counts and places for each rank, in both widths. */
static int out[ALL], in[ALL];
static int counts[RANKS_MAX], displs[RANKS_MAX], bytes[RANKS_MAX];
static MPI_Count large_counts[RANKS_MAX];
static MPI_Aint large_displs[RANKS_MAX], large_bytes[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

static inline void prepare(void) {
  for (int i = 0; i < ALL; i++) out[i] = 1000 * rank + i;
  memset(in, 0xff, sizeof in);
  for (int i = 0; i < size; i++) {
    counts[i] = EACH;
    displs[i] = EACH * (size - 1 - i); /* parts in reverse order */
    bytes[i] = displs[i] * (int)sizeof(int);
    large_counts[i] = counts[i];
    large_displs[i] = displs[i];
    large_bytes[i] = bytes[i];
    types[i] = MPI_INT;
  }
}

/* An operation that has started needs the arrays of counts, places and types no more. */
static inline void reuse_arrays(void) {
  for (int i = 0; i < RANKS_MAX; i++) {
    counts[i] = displs[i] = bytes[i] = -1;
    large_counts[i] = large_displs[i] = large_bytes[i] = -1;
    types[i] = MPI_DATATYPE_NULL;
  }
}

static inline void finish(enum form form, MPI_Request *request) {
  if (form == BLOCKING || form == BLOCKING_C) return;
  reuse_arrays();
  bool persistent = form == PERSISTENT || form == PERSISTENT_C;
  for (int times = persistent ? 2 : 1; times > 0; times--) {
    if (persistent) MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  CHECK(persistent == (*request != MPI_REQUEST_NULL));
  if (persistent) MPI_Request_free(request);
}

/* @return what rank `from` sends as its i-th element. */
static inline int sent(int from, int i) { return 1000 * from + i; }

/* Runs each collective in each of its forms. */
static inline void run_all(void (*const collectives[])(enum form), size_t count) {
  for (size_t i = 0; i < count; i++)
    for (enum form form = BLOCKING; form < FORMS; form++) collectives[i](form);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a rank's key values. */
#include "tmpi/attr/keyval.h"

#include <stdlib.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"

enum { FIRST = 1000 };

struct tm_keyval *tm_keyval_find(struct tm_rank *rank, int keyval) {
  int index = keyval - FIRST;
  if (index < 0 || index >= rank->keyval_count || !rank->keyvals[index].used) return NULL;
  return &rank->keyvals[index];
}

static void drop_if_unused(struct tm_rank *rank, struct tm_keyval *keyval) {
  if (!keyval->freed || keyval->uses > 0) return;
  keyval->used = false;
  if (keyval->fortran) free(keyval->extra);
  keyval->next_free = rank->keyval_free;
  rank->keyval_free = (int)(keyval - rank->keyvals) + 1;
}

void tm_keyval_release(struct tm_rank *rank, int keyval) {
  struct tm_keyval *found = tm_keyval_find(rank, keyval);
  found->uses--;
  drop_if_unused(rank, found);
}

/* @return a free index, -1: no memory. The lock is held. */
static int free_index(struct tm_rank *rank) {
  int index = rank->keyval_free - 1;
  if (index >= 0) {
    rank->keyval_free = rank->keyvals[index].next_free;
    return index;
  }
  if (rank->keyval_count == rank->keyval_room) {
    int room = rank->keyval_room == 0 ? 8 : 2 * rank->keyval_room;
    void *more = realloc(rank->keyvals, (size_t)room * sizeof *rank->keyvals);
    if (more == NULL) return -1;
    rank->keyvals = more;
    rank->keyval_room = room;
  }
  return rank->keyval_count++;
}

int tm_keyval_create(const char *call, const struct tm_keyval *functions, int *keyval) {
  struct tm_rank *rank = tm_enter(call);
  mti_lock(&rank->attributes_ilock);
  int index = free_index(rank);
  if (index >= 0) rank->keyvals[index] = *functions;
  mti_unlock(&rank->attributes_ilock);
  if (index < 0) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *keyval = FIRST + index;
  return MPI_SUCCESS;
}

int tm_keyval_free(const char *call, int *keyval) {
  struct tm_rank *rank = tm_enter(call);
  mti_lock(&rank->attributes_ilock);
  struct tm_keyval *found = tm_keyval_find(rank, *keyval);
  if (found != NULL) { /* while attributes use it, it may be freed more than once */
    found->freed = true;
    drop_if_unused(rank, found);
  }
  mti_unlock(&rank->attributes_ilock);
  if (found == NULL)
    return tm_fail(NULL, call, MPI_ERR_KEYVAL, "key value %d is not valid", *keyval);
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

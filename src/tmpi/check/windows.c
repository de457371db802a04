/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to windows that conflict: two of them touch the same bytes of a target in one epoch, one
 * writes, and nothing orders them. Each target keeps the accesses of its current epoch. Fences and
 * posts have numbers, so an access of an older epoch is recognized; under locks an origin's
 * accesses are dropped when it unlocks or flushes. Two accumulates never conflict. Only memory in
 * one piece is compared, because the pieces of others may interleave.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/rank/rank.h"
#include "tmpi/rma/access.h"

enum { KEPT_MAX = 1000 /* accesses of a target */, BUCKETS = 256 };

/* What an access belongs to, beside the target. */
enum epoch_kind { BY_FENCE, BY_POST, BY_LOCK };

struct epoch {
  enum epoch_kind kind;
  unsigned number; /* of the window's fence, or of the target's post; 0: a lock's */
};

struct kept {
  struct kept *next;
  const struct tm_win *target;
  const char *low, *high;
  enum tm_access_kind access;
  struct epoch epoch;
  int origin, target_rank; /* of the window */
  struct tm_seen seen;
};

static struct bucket {
  uint32_t ilock;
  struct kept *first; /* the newest */
} buckets[BUCKETS];

static struct bucket *bucket_of(const struct tm_win *target) {
  return &buckets[(uintptr_t)target / 64 % BUCKETS];
}

static struct epoch epoch_of(const struct tm_access_call *c, const struct tm_access *a) {
  uint8_t access = a->win->access[c->target];
  if (a->win->all_locked || (access & TM_LOCKED) != 0) return (struct epoch){BY_LOCK, 0};
  if (access != 0) return (struct epoch){BY_POST, a->target->exposures};
  return (struct epoch){BY_FENCE, (unsigned)a->win->comm->collectives};
}

static bool same_epoch(const struct kept *a, const struct kept *b) {
  return a->epoch.kind == b->epoch.kind && a->epoch.number == b->epoch.number;
}

static bool conflict(const struct kept *a, const struct kept *b) {
  bool one_writes = a->access != TM_ACCESS_GET || b->access != TM_ACCESS_GET;
  bool updates = a->access == TM_ACCESS_UPDATE && b->access == TM_ACCESS_UPDATE;
  return one_writes && !updates && a->low < b->high && b->low < a->high;
}

/* Adds an access, drops those of older epochs, and finds one that conflicts. The ilock is held. */
static bool add(struct bucket *bucket, struct kept *new, struct kept *other) {
  int kept = 0;
  bool found = false;
  for (struct kept **link = &bucket->first, *k; (k = *link) != NULL;) {
    bool stale = k->epoch.kind == new->epoch.kind && !same_epoch(k, new);
    if (k->target == new->target && (stale || ++kept > KEPT_MAX)) {
      *link = k->next;
      free(k);
      continue;
    }
    if (k->target == new->target && !found && same_epoch(k, new) && conflict(k, new)) {
      *other = *k;
      found = true;
    }
    link = &k->next;
  }
  new->next = bucket->first;
  bucket->first = new;
  return found;
}

static const char *verb(enum tm_access_kind access) {
  return access == TM_ACCESS_GET ? "reads" : access == TM_ACCESS_PUT ? "writes" : "updates";
}

static void report_conflict(const struct tm_access *a, const struct kept *new,
                            const struct kept *other) {
  char here[TM_CALL_TEXT], there[TM_CALL_TEXT];
  tm_describe(here, &new->seen);
  tm_describe(there, &other->seen);
  tm_finding_print(
      "rank %d: %s %s memory of rank %d on %s that %s of rank %d %s in the same epoch"
      " (a fence, flush or unlock has to come between)",
      new->seen.rank, here, verb(new->access), tm_win_number(a->win, new->target_rank),
      a->win->name[0] != '\0' ? a->win->name : "a window", there, other->seen.rank,
      verb(other->access));
}

static void look(const struct tm_access_call *c, const struct tm_access *a, const char *low,
                 const char *high) {
  const struct tm_seen *seen = tm_seen_of(a->win->comm->owner->number);
  bool is_here = a->target->magic == TM_WIN_MAGIC; /* of another node this one sees its own only */
  if (seen == NULL || !is_here || (size_t)(high - low) != a->memory.bytes || c->op == MPI_NO_OP)
    return;
  struct kept *new = malloc(sizeof *new), other;
  if (new == NULL) return; /* one conflict less is found */
  *new = (struct kept){.target = a->target,
                       .low = low,
                       .high = high,
                       .access = c->kind,
                       .epoch = epoch_of(c, a),
                       .origin = a->win->comm->rank,
                       .target_rank = c->target,
                       .seen = *seen};
  struct kept copy = *new; /* others may drop it at once */
  struct bucket *bucket = bucket_of(a->target);
  mti_lock(&bucket->ilock);
  bool found = add(bucket, new, &other);
  mti_unlock(&bucket->ilock);
  if (found) report_conflict(a, &copy, &other);
}

/* Drops what an origin has done to a target under a lock; NULL: to nobody in particular, when the
 * target's window is freed. */
static void drop(const struct tm_win *target, const struct tm_win *origin) {
  struct bucket *bucket = bucket_of(target);
  mti_lock(&bucket->ilock);
  for (struct kept **link = &bucket->first, *k; (k = *link) != NULL;) {
    bool ends = k->target == target &&
                (origin == NULL || (k->epoch.kind == BY_LOCK && k->origin == origin->comm->rank));
    if (!ends) {
      link = &k->next;
      continue;
    }
    *link = k->next;
    free(k);
  }
  mti_unlock(&bucket->ilock);
}

void tm_windows_begin(const struct tm_seen *seen) {
  const char *name = tm_calls[seen->call];
  bool frees = strcmp(name, "MPI_Win_free") == 0;
  bool one = strcmp(name, "MPI_Win_unlock") == 0 || strcmp(name, "MPI_Win_flush") == 0;
  bool all = strcmp(name, "MPI_Win_unlock_all") == 0 || strcmp(name, "MPI_Win_flush_all") == 0;
  if (!frees && !one && !all) return;
  const struct tm_win *win = tm_win_of(frees ? *(MPI_Win *)seen->object : seen->win);
  if (win == NULL) return; /* the call says so */
  if (frees) drop(win, NULL);
  if (one && seen->peer >= 0 && seen->peer < win->common->size)
    drop(win->common->views[seen->peer], win);
  for (int i = 0; all && i < win->common->size; i++) drop(win->common->views[i], win);
}

void tm_windows_start(void) { tm_access_hook = look; }

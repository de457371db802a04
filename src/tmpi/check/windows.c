/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to windows that conflict: two of them touch the same bytes of a target in one epoch, one
 * writes, and nothing orders them. Each target keeps the accesses of its current epoch. Fences and
 * posts have numbers, so an access of an older epoch is recognized; under locks an origin's
 * accesses are dropped when it unlocks or flushes. A get has read its target when it is complete at
 * the origin, so it is also dropped by a local flush, or when MPI_Wait() completes the request of
 * MPI_Rget(). For other accesses these two say nothing of the target. Two accumulates never
 * conflict. Only memory in one piece is compared, because the pieces of others may interleave.
 *
 * Relaxed: the number of gets with requests. A rank that completes one has counted it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/object/hash.h"
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
  const void *request;     /* of MPI_Rget(); NULL: not known yet, or of another call */
  struct tm_seen seen;
};

static struct bucket {
  uint32_t ilock;
  struct kept *first; /* the newest */
} buckets[BUCKETS];

/* The request of an MPI_Rget() that is not complete. */
struct pending {
  struct tm_hash_node node; /* first */
  const void *request;
  const struct tm_win *target;
};

static struct {
  uint32_t ilock;
  uint32_t count; /* [atomic] */
  struct tm_hash by_request;
} gets;

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

/* What comes to its end. */
struct end {
  const struct tm_win *target;
  const void *request;         /* the access of this one; NULL: those of an origin */
  const struct tm_win *origin; /* NULL: all, since the target's window is freed */
  bool reads_only;
};

static bool ends(const struct kept *k, const struct end *end) {
  if (k->target != end->target) return false;
  if (end->request != NULL) return k->request == end->request;
  if (end->origin == NULL) return true;
  bool fits = !end->reads_only || k->access == TM_ACCESS_GET;
  return fits && k->epoch.kind == BY_LOCK && k->origin == end->origin->comm->rank;
}

static void drop(const struct end *end) {
  struct bucket *bucket = bucket_of(end->target);
  mti_lock(&bucket->ilock);
  for (struct kept **link = &bucket->first, *k; (k = *link) != NULL;) {
    if (!ends(k, end)) {
      link = &k->next;
      continue;
    }
    *link = k->next;
    free(k);
  }
  mti_unlock(&bucket->ilock);
}

void tm_windows_begin(const struct tm_seen *seen) {
  static const struct {
    const char *name;
    bool all, reads_only;
  } calls[] = {{"MPI_Win_unlock", false, false},     {"MPI_Win_unlock_all", true, false},
               {"MPI_Win_flush", false, false},      {"MPI_Win_flush_all", true, false},
               {"MPI_Win_flush_local", false, true}, {"MPI_Win_flush_local_all", true, true}};
  const char *name = tm_calls[seen->call];
  bool frees = strcmp(name, "MPI_Win_free") == 0;
  size_t c = 0, count = sizeof calls / sizeof calls[0];
  while (c < count && strcmp(name, calls[c].name) != 0) c++;
  if (c == count && !frees) return;
  const struct tm_win *win = tm_win_of(frees ? *(MPI_Win *)seen->object : seen->win);
  if (win == NULL) return; /* the call says so */
  if (frees) drop(&(struct end){.target = win});
  for (int target = 0; !frees && target < win->common->size; target++)
    if (calls[c].all || target == seen->peer)
      drop(&(struct end){
          .target = win->common->views[target], .origin = win, .reads_only = calls[c].reads_only});
}

/* ---- requests of MPI_Rget() */

/* Notes the request of the newest access that a call has added. @return whether there is one. */
static bool note_request(const struct tm_win *target, const struct tm_seen *seen,
                         const void *request) {
  struct bucket *bucket = bucket_of(target);
  mti_lock(&bucket->ilock);
  struct kept *k = bucket->first;
  while (k != NULL && (k->target != target || k->seen.rank != seen->rank ||
                       k->seen.object != seen->object || k->request != NULL))
    k = k->next;
  if (k != NULL) k->request = request;
  mti_unlock(&bucket->ilock);
  return k != NULL;
}

static uint64_t hash_of(const void *request) {
  return tm_hash_words((uint64_t)(uintptr_t)request, 0);
}

void tm_windows_end(const struct tm_seen *seen, const void *request) {
  const char *name = tm_calls[seen->call];
  if (strcmp(name, "MPI_Rget") != 0 && strcmp(name, "MPI_Rget_c") != 0) return;
  const struct tm_win *win = tm_win_of(seen->win), *target = NULL;
  if (win != NULL && seen->peer >= 0) target = win->common->views[seen->peer];
  if (target == NULL || !note_request(target, seen, request)) return;
  struct pending *new = malloc(sizeof *new);
  if (new == NULL) return; /* the get counts until a flush */
  *new = (struct pending){.request = request, .target = target};
  mti_lock(&gets.ilock);
  tm_hash_add(&gets.by_request, &new->node, hash_of(request));
  mt_store_relaxed(&gets.count, gets.by_request.count);
  mti_unlock(&gets.ilock);
}

void tm_windows_complete(const void *request) {
  if (mt_load_relaxed(&gets.count) == 0) return;
  mti_lock(&gets.ilock);
  struct tm_hash_node *node = tm_hash_first(&gets.by_request, hash_of(request));
  while (node != NULL && ((struct pending *)node)->request != request) node = tm_hash_next(node);
  struct pending *get = (struct pending *)node;
  if (get != NULL) tm_hash_remove(&gets.by_request, node);
  mt_store_relaxed(&gets.count, gets.by_request.count);
  mti_unlock(&gets.ilock);
  if (get != NULL) drop(&(struct end){.target = get->target, .request = request});
  free(get);
}

void tm_windows_start(void) { tm_access_hook = look; }

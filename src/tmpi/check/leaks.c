/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that have been made and not freed, each with the call that made it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"

struct live {
  struct live *next;
  const void *handle, *site;
  int rank, kind, call;
};

enum { BUCKETS = 4096, PREDEFINED = 0x1000 };

static struct bucket {
  uint32_t ilock;
  struct live *first;
} buckets[BUCKETS];

static struct bucket *bucket_of(const void *handle, int rank) {
  return &buckets[((uintptr_t)handle / 16 + (uintptr_t)rank * 7919) % BUCKETS];
}

static void add(const struct tm_seen *seen, const void *handle) {
  struct bucket *bucket = bucket_of(handle, seen->rank);
  struct live *live = malloc(sizeof *live);
  if (live == NULL) return; /* one leak less is found */
  *live = (struct live){NULL, handle, seen->site, seen->rank, seen->kind, seen->call};
  mti_lock(&bucket->ilock);
  live->next = bucket->first;
  bucket->first = live;
  mti_unlock(&bucket->ilock);
}

static void drop(const struct tm_seen *seen, const void *handle) {
  struct bucket *bucket = bucket_of(handle, seen->rank);
  mti_lock(&bucket->ilock);
  struct live **link = &bucket->first;
  while (*link != NULL &&
         ((*link)->handle != handle || (*link)->rank != seen->rank || (*link)->kind != seen->kind))
    link = &(*link)->next;
  struct live *found = *link;
  if (found != NULL) *link = found->next;
  mti_unlock(&bucket->ilock);
  free(found);
}

void tm_leaks_end(struct tm_seen *seen) {
  void *const *handles = seen->object;
  if (seen->object == NULL || seen->kind == TM_NO_OBJECT) return;
  if (seen->makes) {
    if ((uintptr_t)handles[0] < PREDEFINED) return; /* none, or one of all */
    add(seen, handles[0]);
    if (seen->kind == TM_REQUEST) tm_buffers_end(seen, handles[0]);
    return;
  }
  for (int i = 0; seen->before != NULL && i < seen->count; i++) {
    void *before = seen->before[i];
    if ((uintptr_t)before < PREDEFINED) continue;
    if (handles[i] == before) continue;
    drop(seen, before); /* freed, or complete */
    if (seen->kind == TM_REQUEST) tm_buffers_drop(seen->rank, before);
  }
}

/* ---- what is left */

static const char *const words[TM_OBJECTS] = {
    [TM_COMM] = "communicator", [TM_GROUP] = "group",      [TM_TYPE] = "datatype",
    [TM_OP] = "operation",      [TM_INFO] = "info object", [TM_ERRHANDLER] = "error handler",
    [TM_REQUEST] = "request",
};

static const char *const remedies[TM_OBJECTS] = {
    [TM_COMM] = "MPI_Comm_free", [TM_GROUP] = "MPI_Group_free",
    [TM_TYPE] = "MPI_Type_free", [TM_OP] = "MPI_Op_free",
    [TM_INFO] = "MPI_Info_free", [TM_ERRHANDLER] = "MPI_Errhandler_free",
    [TM_REQUEST] = "MPI_Wait",
};

/* A leak in words; equal ones of several ranks are one. */
struct leak {
  int rank, kind;
  char text[TM_CALL_TEXT];
};

static int by_text(const void *a, const void *b) {
  const struct leak *one = a, *other = b;
  int order = strcmp(one->text, other->text);
  if (order == 0) order = (one->kind > other->kind) - (one->kind < other->kind);
  return order != 0 ? order : (one->rank > other->rank) - (one->rank < other->rank);
}

static struct leak *collect(size_t *count) {
  size_t room = 0;
  for (int b = 0; b < BUCKETS; b++)
    for (const struct live *l = buckets[b].first; l != NULL; l = l->next) room++;
  struct leak *leaks = calloc(room + 1, sizeof *leaks);
  *count = 0;
  for (int b = 0; leaks != NULL && b < BUCKETS; b++)
    for (const struct live *l = buckets[b].first; l != NULL; l = l->next) {
      struct leak *leak = &leaks[(*count)++];
      leak->rank = l->rank;
      leak->kind = l->kind;
      int used = snprintf(leak->text, sizeof leak->text, "%s()", tm_calls[l->call]);
      tm_describe_site(leak->text + used, sizeof leak->text - (size_t)used, l->site);
    }
  return leaks;
}

void tm_leaks_finish(void) {
  size_t count;
  struct leak *leaks = collect(&count);
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  if (leaks == NULL || set == NULL) count = 0;
  if (count > 0) qsort(leaks, count, sizeof *leaks, by_text);
  for (size_t i = 0, end; i < count; i = end) {
    char who[TM_RANKS_TEXT];
    memset(set, 0, (unsigned)tm_job.size * sizeof *set);
    for (end = i; end < count && leaks[end].kind == leaks[i].kind &&
                  strcmp(leaks[end].text, leaks[i].text) == 0;
         end++)
      set[leaks[end].rank] = true;
    tm_text_ranks(who, set, tm_job.size);
    tm_finding_print("%s: %zu %s%s not freed, of %s (%s)", who, end - i, words[leaks[i].kind],
                     end - i > 1 ? "s were" : " was", leaks[i].text, remedies[leaks[i].kind]);
  }
  free(leaks);
  free(set);
}

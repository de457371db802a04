/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that have been made and not freed, each with the call that made it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/match.h"
#include "tmpi/object/hash.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"

struct live {
  struct tm_hash_node node; /* first */
  const void *handle, *site;
  int rank, kind, call;
};

enum { PARTS = 64, PREDEFINED = 0x1000 };

/* Divided, so that ranks seldom meet. */
static struct part {
  uint32_t ilock;
  struct tm_hash live;
} parts[PARTS];

static uint64_t hash_of(const void *handle, int rank) {
  return tm_hash_words((uint64_t)(uintptr_t)handle, (uint64_t)rank);
}

static struct part *part_of(uint64_t hash) { return &parts[hash >> 58]; }

static void add(const struct tm_seen *seen, const void *handle) {
  uint64_t hash = hash_of(handle, seen->rank);
  struct part *part = part_of(hash);
  struct live *live = malloc(sizeof *live);
  if (live == NULL) return; /* one leak less is found */
  *live = (struct live){{NULL, 0}, handle, seen->site, seen->rank, seen->kind, seen->call};
  mti_lock(&part->ilock);
  tm_hash_add(&part->live, &live->node, hash);
  mti_unlock(&part->ilock);
}

static bool is_of(const struct live *live, const struct tm_seen *seen, const void *handle) {
  return live->handle == handle && live->rank == seen->rank && live->kind == seen->kind;
}

static void drop(const struct tm_seen *seen, const void *handle) {
  uint64_t hash = hash_of(handle, seen->rank);
  struct part *part = part_of(hash);
  mti_lock(&part->ilock);
  struct tm_hash_node *node = tm_hash_first(&part->live, hash);
  while (node != NULL && !is_of((struct live *)node, seen, handle)) node = tm_hash_next(node);
  if (node != NULL) tm_hash_remove(&part->live, node);
  mti_unlock(&part->ilock);
  free(node); /* its first member */
}

/* A call has started the request, or perhaps completed it. */
static void look_at_persistent(const struct tm_seen *seen, const struct tm_request *request) {
  if (!request->persistent) return;
  if (!request->active)
    tm_buffers_drop(seen->rank, request);
  else if (request->kind == TM_SEND && strncmp(tm_calls[seen->call], "MPI_Start", 9) == 0)
    tm_buffers_start_send(seen, request);
}

/* A call has found the request complete, or perhaps not, and it stays. Its memory is the program's
 * again, as behind MPI_Wait(). */
static void look_at_status(const struct tm_seen *seen, const struct tm_request *request) {
  if (!tm_request_was_done(request)) return;
  tm_buffers_drop(seen->rank, request);
  tm_windows_complete(request);
}

static void look_at_request(const struct tm_seen *seen, const struct tm_request *request) {
  if (strncmp(tm_calls[seen->call], "MPI_Request_get_status", 22) == 0)
    look_at_status(seen, request);
  else
    look_at_persistent(seen, request);
}

void tm_leaks_end(struct tm_seen *seen) {
  void *const *handles = seen->object;
  if (seen->object == NULL || seen->kind == TM_NO_OBJECT) return;
  if (seen->makes) {
    if ((uintptr_t)handles[0] < PREDEFINED) return; /* none, or one of all */
    if (seen->kind == TM_TYPE && tm_type_of(handles[0])->lasting)
      return; /* MPI_Type_create_f90_real() */
    add(seen, handles[0]);
    if (seen->kind == TM_REQUEST) {
      tm_buffers_end(seen, handles[0]);
      tm_windows_end(seen, handles[0]);
    }
    return;
  }
  for (int i = 0; seen->before != NULL && i < seen->count; i++) {
    void *before = seen->before[i];
    if ((uintptr_t)before < PREDEFINED) continue;
    bool is_request = seen->kind == TM_REQUEST;
    if (handles[i] == before) {
      if (is_request) look_at_request(seen, before);
      continue;
    }
    drop(seen, before); /* freed, or complete */
    if (!is_request) continue;
    tm_buffers_drop(seen->rank, before);
    tm_windows_complete(before);
  }
}

/* ---- what is left */

static const char *const words[TM_OBJECTS] = {
    [TM_COMM] = "communicator", [TM_GROUP] = "group",      [TM_TYPE] = "datatype",
    [TM_OP] = "operation",      [TM_INFO] = "info object", [TM_ERRHANDLER] = "error handler",
    [TM_REQUEST] = "request",   [TM_WIN] = "window",       [TM_FILE] = "file",
};

static const char *const remedies[TM_OBJECTS] = {
    [TM_COMM] = "MPI_Comm_free",  [TM_GROUP] = "MPI_Group_free",
    [TM_TYPE] = "MPI_Type_free",  [TM_OP] = "MPI_Op_free",
    [TM_INFO] = "MPI_Info_free",  [TM_ERRHANDLER] = "MPI_Errhandler_free",
    [TM_REQUEST] = "MPI_Wait",    [TM_WIN] = "MPI_Win_free",
    [TM_FILE] = "MPI_File_close",
};

/* A leak in words; equal ones of several ranks are one. */
struct leak {
  int rank, kind;
  bool is_mistake;
  char text[TM_CALL_TEXT];
};

static int by_text(const void *a, const void *b) {
  const struct leak *one = a, *other = b;
  int order = strcmp(one->text, other->text);
  if (order == 0) order = (one->kind > other->kind) - (one->kind < other->kind);
  if (order == 0) order = (int)one->is_mistake - (int)other->is_mistake;
  return order != 0 ? order : (one->rank > other->rank) - (one->rank < other->rank);
}

/* A request that is not complete is a mistake: messages may be missing. */
static bool is_mistake(int kind, const void *handle) {
  const struct tm_request *request = handle;
  return kind == TM_REQUEST && (!request->persistent || request->active);
}

static struct leak *collect(size_t *count) {
  size_t room = 0;
  for (int p = 0; p < PARTS; p++) room += parts[p].live.count;
  struct leak *leaks = calloc(room + 1, sizeof *leaks);
  *count = 0;
  for (int p = 0; leaks != NULL && p < PARTS; p++)
    for (struct tm_hash_node *node = NULL; (node = tm_hash_walk(&parts[p].live, node)) != NULL;) {
      const struct live *l = (const struct live *)node;
      struct leak *leak = &leaks[(*count)++];
      leak->rank = l->rank;
      leak->kind = l->kind;
      leak->is_mistake = is_mistake(l->kind, l->handle);
      int used = snprintf(leak->text, sizeof leak->text, "%s()", tm_calls[l->call]);
      tm_describe_site(leak->text + used, sizeof leak->text - (size_t)used, l->site);
    }
  return leaks;
}

static void print(const struct leak *leak, const bool *set, size_t count, bool mistake) {
  char who[TM_RANKS_TEXT];
  tm_text_ranks(who, set, tm_job.size);
  (mistake ? tm_finding_print : tm_finding_note)(
      "%s: %zu %s%s not %s, of %s (%s)", who, count, words[leak->kind],
      count > 1 ? "s were" : " was", leak->is_mistake ? "completed" : "freed", leak->text,
      leak->kind == TM_REQUEST && !leak->is_mistake ? "MPI_Request_free" : remedies[leak->kind]);
}

unsigned tm_leaks_finish(bool strict) {
  size_t count;
  unsigned notes = 0;
  struct leak *leaks = collect(&count);
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  if (leaks == NULL || set == NULL) count = 0;
  if (count > 0) qsort(leaks, count, sizeof *leaks, by_text);
  for (size_t i = 0, end; i < count; i = end) {
    memset(set, 0, (unsigned)tm_job.size * sizeof *set);
    for (end = i; end < count && leaks[end].kind == leaks[i].kind &&
                  leaks[end].is_mistake == leaks[i].is_mistake &&
                  strcmp(leaks[end].text, leaks[i].text) == 0;
         end++)
      set[leaks[end].rank] = true;
    bool mistake = strict || leaks[i].is_mistake;
    print(&leaks[i], set, end - i, mistake);
    notes += !mistake;
  }
  free(leaks);
  free(set);
  return notes;
}

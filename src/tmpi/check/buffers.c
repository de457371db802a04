/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of operations that are under way belong to MPI: what is received may not be touched, what
 * is sent not be changed. Seen here: two operations of a rank whose buffers overlap, one operation
 * that sends from where it receives, and data that have other contents when their send is complete.
 * Only data that lie together are looked at, since others may interleave; each operation is
 * compared with the last few.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/hash.h"
#include "tmpi/rank/rank.h"

enum { LOOK_BACK = 1000, HASHED = 65536 /* bytes */ };

struct use {
  struct tm_hash_node node; /* first; by its request */
  struct use *older, *newer;
  const void *request;
  const char *low;
  size_t size;
  bool writes;
  uint64_t hash; /* of what is sent */
  struct tm_seen seen;
};

static struct user {
  uint32_t ilock;
  struct tm_hash by_request;
  struct use *newest;
} *users; /* by rank */

bool tm_buffers_start(void) {
  users = calloc((unsigned)tm_job.most, sizeof *users);
  return users != NULL;
}

static uint64_t hash_of_request(const void *request) {
  return tm_hash_words((uint64_t)(uintptr_t)request, 0);
}

/* FNV-1a. */
static uint64_t hash_of(const struct use *use) {
  size_t size = use->size < HASHED ? use->size : HASHED;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)use->low[i]) * 0x100000001b3u;
  return hash;
}

static bool receives(const struct tm_seen *seen) {
  const char *name = tm_calls[seen->call];
  return strcmp(name, "MPI_Recv") == 0 || strcmp(name, "MPI_Irecv") == 0;
}

static bool sends(const struct tm_seen *seen) {
  const char *name = tm_calls[seen->call] + strlen("MPI_");
  if (*name == 'I') name++;
  return strcmp(name, "Send") == 0 || strcmp(name, "send") == 0 || strcmp(name + 1, "send") == 0;
}

/* @return whether it is one of some calls, in the form that blocks or the one that does not. */
static bool is_one_of(const struct tm_seen *seen, const char *const *names) {
  const char *name = tm_calls[seen->call] + strlen("MPI_");
  if (name[0] == 'I' && islower((unsigned char)name[1])) name++;
  while (*names != NULL &&
         (tolower((unsigned char)*name) != **names || strcmp(name + 1, *names + 1) != 0))
    names++;
  return *names != NULL;
}

/* @return whether it is a nonblocking collective in which the rank sends `data`. */
static bool contributes(const struct tm_seen *seen) {
  static const char *const names[] = {"allgather", "allgatherv", "gather", "gatherv",  "allreduce",
                                      "reduce",    "scan",       "exscan", "alltoall", NULL};
  bool in_place = seen->data.buffer == MPI_IN_PLACE || seen->data.buffer == seen->other.buffer;
  bool remote_root = seen->root == MPI_ROOT || seen->root == MPI_PROC_NULL;
  return tm_calls[seen->call][strlen("MPI_")] == 'I' && is_one_of(seen, names) && !in_place &&
         !remote_root;
}

/* @return false: they do not lie together, or there are none. */
static bool range_of(const struct tm_data *data, struct use *use) {
  if (data->count <= 0 || data->buffer == MPI_IN_PLACE) return false; /* the type may be anything */
  const struct tm_type *type = tm_type_of(data->type);
  if (type == NULL || !type->dense) return false;
  use->low = (const char *)data->buffer + type->blocks[0].at;
  use->size = (size_t)data->count * type->size;
  return true;
}

/* @return false: it uses nothing that is looked at. */
static bool use_of(const struct tm_seen *seen, struct use *use) {
  *use = (struct use){.writes = receives(seen), .seen = *seen};
  return seen->peer != MPI_PROC_NULL && (use->writes || sends(seen) || contributes(seen)) &&
         range_of(&seen->data, use);
}

static bool overlap(const struct use *a, const struct use *b) {
  return a->low < b->low + b->size && b->low < a->low + a->size;
}

static bool conflict(const struct use *a, const struct use *b) {
  return (a->writes || b->writes) && overlap(a, b);
}

/* @return whether both buffers of the call count in this rank. */
static bool uses_both(const struct tm_seen *seen) {
  static const char *const all[] = {"sendrecv",  "allreduce", "scan", "exscan",
                                    "allgather", "alltoall",  NULL};
  static const char *const of_root[] = {"gather", "scatter", "reduce", NULL};
  if (is_one_of(seen, all)) return seen->peer != MPI_PROC_NULL;
  const struct tm_comm *comm = is_one_of(seen, of_root) ? tm_comm_of(seen->comm) : NULL;
  return comm != NULL && !comm->inter && seen->root == comm->rank;
}

void tm_buffers_compare(const struct tm_seen *seen) {
  struct use from, to;
  if (!uses_both(seen) || !range_of(&seen->data, &from) || !range_of(&seen->other, &to) ||
      !overlap(&from, &to))
    return;
  char text[TM_CALL_TEXT];
  tm_describe(text, seen);
  tm_finding_print("rank %d: %s sends from a buffer where it receives%s", seen->rank, text,
                   seen->peer == TM_NONE ? " (MPI_IN_PLACE)" : " (MPI_Sendrecv_replace)");
}

void tm_buffers_begin(const struct tm_seen *seen) {
  struct use use, other;
  struct user *user = &users[seen->rank];
  if (!use_of(seen, &use)) return;
  int looked = 0;
  mti_lock(&user->ilock);
  const struct use *u = user->newest;
  while (u != NULL && looked < LOOK_BACK && !conflict(u, &use)) {
    u = u->older;
    looked++;
  }
  bool found = u != NULL && looked < LOOK_BACK;
  if (found) other = *u;
  mti_unlock(&user->ilock);
  if (!found) return;
  char here[TM_CALL_TEXT], there[TM_CALL_TEXT];
  tm_describe(here, seen);
  tm_describe(there, &other.seen);
  tm_finding_print("rank %d: %s uses memory that belongs to %s until that is complete", seen->rank,
                   here, there);
}

/* Until the request is complete. */
static void keep(const struct use *use, const void *request) {
  struct use *kept = malloc(sizeof *kept);
  if (kept == NULL) return;
  *kept = *use;
  kept->request = request;
  if (!kept->writes) kept->hash = hash_of(kept);
  struct user *user = &users[use->seen.rank];
  mti_lock(&user->ilock);
  kept->newer = NULL;
  kept->older = user->newest;
  if (kept->older != NULL) kept->older->newer = kept;
  user->newest = kept;
  tm_hash_add(&user->by_request, &kept->node, hash_of_request(request));
  mti_unlock(&user->ilock);
}

void tm_buffers_end(const struct tm_seen *seen, const void *request) {
  struct use use;
  if (use_of(seen, &use)) keep(&use, request);
}

/* @return the use of a request, which has left the user; NULL: none. The lock is held. */
static struct use *take_out(struct user *user, const void *request) {
  struct tm_hash_node *node = tm_hash_first(&user->by_request, hash_of_request(request));
  while (node != NULL && ((struct use *)node)->request != request) node = tm_hash_next(node);
  struct use *use = (struct use *)node;
  if (use == NULL) return NULL;
  tm_hash_remove(&user->by_request, node);
  *(use->newer != NULL ? &use->newer->older : &user->newest) = use->older;
  if (use->older != NULL) use->older->newer = use->newer;
  return use;
}

void tm_buffers_start_send(const struct tm_seen *seen, const struct tm_request *request) {
  const struct tm_data data = {request->buffer, (int64_t)request->count,
                               (MPI_Datatype)request->type};
  struct use use = {.writes = false, .seen = *seen};
  if (request->peer != MPI_PROC_NULL && range_of(&data, &use)) keep(&use, request);
}

void tm_buffers_drop(int rank, const void *request) {
  struct user *user = &users[rank];
  mti_lock(&user->ilock);
  struct use *use = take_out(user, request);
  mti_unlock(&user->ilock);
  if (use != NULL && !use->writes && use->hash != hash_of(use)) {
    char text[TM_CALL_TEXT];
    tm_describe(text, &use->seen);
    tm_finding_print("rank %d: what %s sends was changed before that was complete", rank, text);
  }
  free(use);
}

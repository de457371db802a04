/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs: members arrive, and the pump hands complete gangs to the workers; gang.h says how. */
#include "tmpi/coll/gang.h"

#include <stdlib.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/hash.h"

enum { HANDED_OUT_MAX = 1024 /* members at a time, unless one gang alone has more */ };

struct tm_gang {
  struct tm_hash_node node; /* [lock:table] */
  struct tm_gang *next;     /* [lock:pump] among ready ones */
  uint64_t context;         /* [const] of the shadows */
  int first;                /* [const] the lowest first member of the groups */
  int size;                 /* [const] members */
  int missing;              /* [lock:table] */
  int left;                 /* [lock:pump] tasks that are not performed yet */
  struct tm_task *tasks;    /* [lock:table] until it is complete */
};

static struct {
  uint32_t ilock;
  struct tm_hash gangs; /* [ilock] that are not complete */
} table;

static struct {
  uint32_t ilock;
  bool busy;                     /* [ilock] a thread hands gangs out */
  int handed_out;                /* [ilock] members of gangs that are not performed yet */
  struct tm_gang *first, **last; /* [ilock] ready gangs; last is NULL before the first one */
} pump;

/* ---- arrival */

/* Groups that share a context have no member in common, so the first one tells them apart. Both
 * sides of an intercommunicator take the same. */
static int first_of(const struct tm_comm *comm) {
  int own = comm->group->ranks[0], other = comm->remote->ranks[0];
  return own < other ? own : other;
}

static struct tm_gang *find(uint64_t hash, uint64_t context, int first) {
  struct tm_hash_node *node = tm_hash_first(&table.gangs, hash);
  for (; node != NULL; node = tm_hash_next(node)) {
    struct tm_gang *gang = (struct tm_gang *)node; /* its first member */
    if (gang->context == context && gang->first == first) return gang;
  }
  return NULL;
}

static struct tm_gang *make(const struct tm_task *task, uint64_t hash, int first) {
  const struct tm_comm *comm = task->request->comm;
  struct tm_gang *gang = calloc(1, sizeof *gang);
  if (gang == NULL) return NULL;
  gang->context = task->context;
  gang->first = first;
  gang->size = comm->size + (comm->inter ? comm->remote->size : 0);
  gang->missing = gang->left = gang->size;
  tm_hash_add(&table.gangs, &gang->node, hash);
  return gang;
}

/* ---- the pump */

/* @return the next ready gang that may be handed out. The pump's lock is held. */
static struct tm_gang *take_ready(void) {
  struct tm_gang *gang = pump.first;
  if (gang == NULL) return NULL;
  if (pump.handed_out > 0 && pump.handed_out + gang->size > HANDED_OUT_MAX) return NULL;
  pump.first = gang->next;
  if (pump.first == NULL) pump.last = NULL;
  pump.handed_out += gang->size;
  return gang;
}

/* Makes the shadows. Members that share the first one's data cannot do without the others: memory
 * that ends in between ends the job. @return false: no memory for any. */
static bool prepare(struct tm_gang *gang) {
  for (struct tm_task *task = gang->tasks; task != NULL; task = task->next) {
    if (tm_task_prepare(task)) continue;
    if (task == gang->tasks && task->shadow == NULL) return false;
    tm_panic("no memory for the %d members of a nonblocking collective (fewer ranks)", gang->size);
  }
  return true;
}

/* Without memory, all members get the error. */
static void hand_out(struct tm_gang *gang) {
  bool prepared = prepare(gang);
  for (struct tm_task *task = gang->tasks, *next; task != NULL; task = next) {
    next =
        task->next; /* a task that was handed over may be gone, and the gang after its last one */
    if (prepared)
      tm_worker_push(task);
    else
      tm_task_fail(task, MPI_ERR_NO_MEM);
  }
}

/* One thread at a time hands out, so that all workers get their gangs in one order. It looks again
 * before it stops, so that a thread that found it busy need not wait. */
static void run_pump(void) {
  mti_lock(&pump.ilock);
  if (pump.busy) {
    mti_unlock(&pump.ilock);
    return;
  }
  pump.busy = true;
  for (struct tm_gang *gang; (gang = take_ready()) != NULL;) {
    mti_unlock(&pump.ilock);
    hand_out(gang);
    mti_lock(&pump.ilock);
  }
  pump.busy = false;
  mti_unlock(&pump.ilock);
}

static void make_ready(struct tm_gang *gang) {
  mti_lock(&pump.ilock);
  *(pump.last != NULL ? pump.last : &pump.first) = gang;
  pump.last = &gang->next;
  mti_unlock(&pump.ilock);
  run_pump();
}

bool tm_gang_arrive(struct tm_task *task) {
  int first = first_of(task->request->comm);
  uint64_t hash = tm_hash_words(task->context, (uint64_t)first);
  mti_lock(&table.ilock);
  struct tm_gang *gang = find(hash, task->context, first);
  if (gang == NULL && (gang = make(task, hash, first)) == NULL) {
    mti_unlock(&table.ilock);
    return false;
  }
  task->gang = gang;
  task->next = gang->tasks;
  gang->tasks = task;
  bool complete = --gang->missing == 0;
  if (complete) tm_hash_remove(&table.gangs, &gang->node);
  mti_unlock(&table.ilock);
  if (complete) make_ready(gang);
  return true;
}

void tm_gang_leave(struct tm_gang *gang) {
  mti_lock(&pump.ilock);
  bool last = --gang->left == 0;
  if (last) pump.handed_out -= gang->size;
  mti_unlock(&pump.ilock);
  if (!last) return;
  free(gang);
  run_pump();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers: the thread of each rank that performs its nonblocking collectives; gang.h says how.
 *
 * Relaxed: the stage of the worker's rank. MPI_Finalize() resumes the worker after it has set it,
 * under the worker's lock.
 */
#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/thread.h"
#include "tmpi/coll/gang.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rank/worker.h"

static const char name[] = "nonblocking collectives";

/* @return whether the worker is to end. Its lock is held. */
static bool is_over(const struct tm_rank *rank) {
  return rank->worker.outstanding == 0 && mt_load_relaxed(&rank->stage) != TM_INITIALIZED;
}

/* @return the next task; NULL: the worker ends. */
static struct tm_task *next_task(struct tm_rank *rank) {
  struct tm_worker *worker = &rank->worker;
  mti_lock(&worker->ilock);
  while (worker->first == NULL) {
    if (is_over(rank)) {
      worker->exists = false;
      mti_unlock(&worker->ilock);
      return NULL;
    }
    worker->parked = mltp_self();
    mti_park_unlock(&worker->ilock, name);
    mti_lock(&worker->ilock);
  }
  struct tm_task *task = worker->first;
  worker->first = task->next;
  if (worker->first == NULL) worker->last = NULL;
  mti_unlock(&worker->ilock);
  return task;
}

static void *run(void *argument) {
  struct tm_rank *rank = argument;
  if (tm_rank_enter(rank->number) != 0)
    tm_panic("rank %d: a thread for nonblocking collectives has no number", rank->number);
  for (struct tm_task *task; (task = next_task(rank)) != NULL;) tm_task_perform(task);
  return NULL;
}

/* A parked worker continues at home. The worker's lock is held, and released. */
static void wake_unlock(struct tm_rank *rank) {
  struct mltp_thread *thread = rank->worker.parked;
  rank->worker.parked = NULL;
  mti_unlock(&rank->worker.ilock);
  if (thread != NULL) tm_resume(&rank->box, thread);
}

static bool create(struct tm_rank *rank) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.detached = 1;
  return mltp_create(NULL, &attr, run, rank) == 0;
}

/* Tasks of other threads of the rank may rely on a worker whose creation fails. They get it later:
 * other threads end meanwhile. */
bool tm_worker_claim(struct tm_rank *rank) {
  struct tm_worker *worker = &rank->worker;
  mti_lock(&worker->ilock);
  worker->outstanding++;
  bool exists = worker->exists;
  worker->exists = true;
  mti_unlock(&worker->ilock);
  if (exists || create(rank)) return true;
  mti_lock(&worker->ilock);
  bool alone = --worker->outstanding == 0;
  if (alone) worker->exists = false;
  mti_unlock(&worker->ilock);
  while (!alone && !create(rank)) mltp_yield();
  return false;
}

void tm_worker_push(struct tm_task *task) {
  struct tm_worker *worker = &task->rank->worker;
  task->next = NULL;
  mti_lock(&worker->ilock);
  *(worker->last != NULL ? &worker->last->next : &worker->first) = task;
  worker->last = task;
  wake_unlock(task->rank);
}

void tm_worker_done(struct tm_rank *rank) {
  mti_lock(&rank->worker.ilock);
  rank->worker.outstanding--;
  mti_unlock(&rank->worker.ilock);
}

void tm_worker_end(struct tm_rank *rank) {
  mti_lock(&rank->worker.ilock);
  wake_unlock(rank);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel threads that make calls on files; pool.h says why.
 *
 * Relaxed: written under the pool's lock; counts for a report.
 */
#include "io/pool.h"

#include "core/det/det.h"
#include "core/sched/sched.h"
#include "core/wait/park.h"
#include "io/poller.h"

enum { MOST = 4 /* more of them would queue at the same disk */ };

static struct {
  mt_ilock ilock;
  struct mt_io_job *first; /* [ilock] */
  struct mt_io_job *last;  /* [ilock] */
  uint32_t news;           /* [atomic] futex: changes with each job and at the end */
  int queued;              /* [ilock] jobs that nobody has taken */
  int resting;             /* [ilock] kernel threads that wait for one */
  int count;               /* [ilock] of them */
  bool ends;               /* [ilock] */
  pthread_t threads[MOST]; /* [ilock] */
} pool;

/* @return the next job; NULL: the end. */
static struct mt_io_job *next_job(void) {
  mt_ilock_lock(&pool.ilock);
  while (pool.first == NULL && !pool.ends) {
    uint32_t news = mt_load_relaxed(&pool.news);
    pool.resting++;
    mt_ilock_unlock(&pool.ilock);
    os_futex_wait(&pool.news, news, MLTP_NEVER);
    mt_ilock_lock(&pool.ilock);
    pool.resting--;
  }
  struct mt_io_job *job = pool.first;
  if (job != NULL) {
    pool.first = job->next;
    pool.queued--;
  }
  mt_ilock_unlock(&pool.ilock);
  return job;
}

static void *work(void *unused) {
  os_signals_off();
  for (struct mt_io_job *job; (job = next_job()) != NULL;) {
    struct mltp_thread *t = job->thread;
    job->run(job);
    mt_ilock_lock(&job->ilock); /* until the thread's registers are saved */
    mt_ilock_unlock(&job->ilock);
    mt_resume(t);
  }
  return unused;
}

/* Starts a kernel thread if all are busy. @return whether there is one that will come to a job. */
static bool grow(void) {
  struct os_affinity affinity = {0};
  mt_ilock_lock(&pool.ilock);
  bool is_new = pool.count < MOST && pool.queued >= pool.resting &&
                os_thread_start(&pool.threads[pool.count], &affinity, false, work, NULL) == 0;
  pool.count += is_new;
  bool any = pool.count != 0;
  mt_ilock_unlock(&pool.ilock);
  mt_add_relaxed(&mt_rt.poll.tasks, is_new);
  return any;
}

static void append(struct mt_io_job *job) {
  mt_ilock_lock(&pool.ilock);
  if (pool.first == NULL)
    pool.first = job;
  else
    pool.last->next = job;
  pool.last = job;
  pool.queued++;
  mt_store_relaxed(&pool.news, pool.news + 1);
  mt_ilock_unlock(&pool.ilock);
  os_futex_wake(&pool.news, 1);
}

static bool is_cancelled(struct mltp_thread *self) {
  return (mt_load_relaxed(&self->cancel) & MT_CANCELLED) != 0;
}

int mt_pool_run(struct mltp_thread *self, struct mt_io_job *job, const char *text) {
  if (is_cancelled(self)) return ECANCELED;
  bool direct = self->vp == NULL || mt_det_on || mt_io_start() != 0;
  if (direct || !grow()) {
    job->run(job);
    return 0;
  }
  *job = (struct mt_io_job){.run = job->run, .thread = self};
  mt_ilock_lock(&job->ilock);
  append(job);
  self->waiting_for = text;
  mt_park(self, &job->ilock, MT_WHY_IO);
  return 0;
}

void mt_pool_stop(void) {
  mt_ilock_lock(&pool.ilock);
  pool.ends = true;
  mt_store_relaxed(&pool.news, pool.news + 1);
  mt_ilock_unlock(&pool.ilock);
  os_futex_wake(&pool.news, MOST);
  for (int i = 0; i < pool.count; i++) os_thread_join(pool.threads[i]);
  mt_pool_forget();
}

void mt_pool_forget(void) {
  pool.ilock = 0;
  pool.first = NULL;
  pool.queued = pool.resting = pool.count = 0;
  pool.ends = false;
}

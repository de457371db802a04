/* SPDX-License-Identifier: Apache-2.0 */
/** @file par_pthreads.c The parallel machine on plain pthreads. */
#include <errno.h>

#include "par.h"

/** Not on the stack: threads may outlive a run() that fails half-way. */
static struct par_job job[PAR_THREADS_MAX];

static int start(int vps) {
  (void)vps;
  return 0;
}

static int stop(void) { return 0; }

static int run(int threads, par_body *body, void *arg) {
  pthread_t id[PAR_THREADS_MAX];
  if (threads > PAR_THREADS_MAX) return EINVAL;

  for (int i = 0; i < threads; i++) {
    job[i] = (struct par_job){body, arg, i};
    int err = pthread_create(&id[i], NULL, par_job_main, &job[i]);
    if (err != 0) return err;
  }
  for (int i = 0; i < threads; i++) pthread_join(id[i], NULL);
  return 0;
}

static void barrier_init(union par_barrier *barrier, int threads) {
  pthread_barrier_init(&barrier->pthread, NULL, (unsigned)threads);
}

static void barrier_wait(union par_barrier *barrier) { pthread_barrier_wait(&barrier->pthread); }

static void barrier_destroy(union par_barrier *barrier) {
  pthread_barrier_destroy(&barrier->pthread);
}

static void lock_init(union par_lock *lock) { pthread_mutex_init(&lock->pthread, NULL); }

static void lock(union par_lock *lock) { pthread_mutex_lock(&lock->pthread); }

static void unlock(union par_lock *lock) { pthread_mutex_unlock(&lock->pthread); }

static void lock_destroy(union par_lock *lock) { pthread_mutex_destroy(&lock->pthread); }

const struct par par_pthreads = {
    .name = "pthreads",
    .about = "kernel threads, pthread_barrier_t and pthread_mutex_t",
    .start = start,
    .run = run,
    .stop = stop,
    .barrier_init = barrier_init,
    .barrier_wait = barrier_wait,
    .barrier_destroy = barrier_destroy,
    .lock_init = lock_init,
    .lock = lock,
    .unlock = unlock,
    .lock_destroy = lock_destroy,
};

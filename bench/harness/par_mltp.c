/* SPDX-License-Identifier: Apache-2.0 */
/** @file par_mltp.c The parallel machine on this library, on each backend. */
#include <errno.h>
#include <stdlib.h>

#include "par.h"

/** Not on the stack: threads may outlive a run() that fails half-way. */
static struct par_job job[PAR_THREADS_MAX];

static int start_on(const char *backend, int vps) {
  if (setenv("MLTP_BACKEND", backend, 1) != 0) return errno;
  return mltp_init(vps);
}

static int start_native(int vps) { return start_on("native", vps); }

static int start_ucontext(int vps) { return start_on("ucontext", vps); }

static int start_kernel(int vps) { return start_on("kernel", vps); }

static int run(int threads, par_body *body, void *arg) {
  mltp_t *id[PAR_THREADS_MAX];
  if (threads > PAR_THREADS_MAX) return EINVAL;

  for (int i = 0; i < threads; i++) {
    job[i] = (struct par_job){body, arg, i};
    int err = mltp_create(&id[i], NULL, par_job_main, &job[i]);
    if (err != 0) return err;
  }
  for (int i = 0; i < threads; i++) mltp_join(id[i], NULL);
  return 0;
}

static void barrier_init(union par_barrier *barrier, int threads) {
  mltp_barrier_init(&barrier->mltp, (unsigned)threads, "bench barrier");
}

static void barrier_wait(union par_barrier *barrier) { mltp_barrier_wait(&barrier->mltp); }

static void barrier_destroy(union par_barrier *barrier) { mltp_barrier_destroy(&barrier->mltp); }

/* Thesis 3.3.4: a barrier of a standard lock (MLTP_LOCK chooses its class) and yields. Our own
 * barrier parks its threads and takes no such lock. */
static void episodes_init(union par_barrier *barrier, int threads) {
  barrier->episodes = (struct par_episodes){.count = (unsigned)threads};
  mltp_lock_init(&barrier->episodes.lock, MLTP_LOCK_STANDARD, "bench barrier");
}

static void episodes_wait(union par_barrier *barrier) {
  struct par_episodes *b = &barrier->episodes;
  mltp_lock(&b->lock);
  const unsigned episode =
      __atomic_load_n(&b->episode, __ATOMIC_RELAXED); /* stable under the lock */
  const bool last = ++b->waiters == b->count;
  if (last) {
    b->waiters = 0;
    __atomic_store_n(&b->episode, episode + 1, __ATOMIC_RELEASE);
  }
  mltp_unlock(&b->lock);
  while (!last && __atomic_load_n(&b->episode, __ATOMIC_ACQUIRE) == episode) mltp_yield();
}

static void episodes_destroy(union par_barrier *barrier) {
  mltp_lock_destroy(&barrier->episodes.lock);
}

static void lock_init(union par_lock *lock) {
  mltp_lock_init(&lock->mltp, MLTP_LOCK_STANDARD, "bench lock");
}

static void lock(union par_lock *lock) { mltp_lock(&lock->mltp); }

static void unlock(union par_lock *lock) { mltp_unlock(&lock->mltp); }

static void lock_destroy(union par_lock *lock) { mltp_lock_destroy(&lock->mltp); }

#define MLTP_CALLS(barrier)                                                                        \
  .run = run, .stop = mltp_finalize, .barrier_init = barrier##_init,                               \
  .barrier_wait = barrier##_wait, .barrier_destroy = barrier##_destroy, .lock_init = lock_init,    \
  .lock = lock, .unlock = unlock, .lock_destroy = lock_destroy

const struct par par_mltp = {
    .name = "mltp",
    .about = "two-level threads: unbound threads on VPs",
    .has_vps = true,
    .start = start_native,
    MLTP_CALLS(barrier),
};

const struct par par_mltp_thesis = {
    .name = "mltp-thesis",
    .about = "the same, with the thesis's barrier: a lock of class MLTP_LOCK, and yields",
    .has_vps = true,
    .start = start_native,
    MLTP_CALLS(episodes),
};

const struct par par_mltp_ucontext = {
    .name = "mltp-ucontext",
    .about = "two-level threads, switched by libc (MLTP_BACKEND=ucontext)",
    .has_vps = true,
    .start = start_ucontext,
    MLTP_CALLS(barrier),
};

const struct par par_mltp_kernel = {
    .name = "mltp-kernel",
    .about = "the same calls, one kernel thread per thread (MLTP_BACKEND=kernel)",
    .start = start_kernel,
    MLTP_CALLS(barrier),
};

/* SPDX-License-Identifier: Apache-2.0 */
/* C11 threads. glibc's mtx_t and cnd_t are its mutexes and conditions, and thrd_t is pthread_t, but
 * its functions call each other inside, where nothing stands before them. */
#include <stdint.h>
#include <threads.h>

#include "gate/next.h"
#include "gate/sync.h"

static int as_c11(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

GT_EXPORT int mtx_lock(mtx_t *m) { return as_c11(pthread_mutex_lock((pthread_mutex_t *)m)); }

GT_EXPORT int mtx_trylock(mtx_t *m) { return as_c11(pthread_mutex_trylock((pthread_mutex_t *)m)); }

GT_EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until) {
  return as_c11(pthread_mutex_timedlock((pthread_mutex_t *)m, until));
}

GT_EXPORT int mtx_unlock(mtx_t *m) { return as_c11(pthread_mutex_unlock((pthread_mutex_t *)m)); }

GT_EXPORT int cnd_wait(cnd_t *c, mtx_t *m) {
  return as_c11(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

GT_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
                            const struct timespec *restrict until) {
  return as_c11(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, until));
}

GT_EXPORT int cnd_signal(cnd_t *c) { return as_c11(pthread_cond_signal((pthread_cond_t *)c)); }

GT_EXPORT int cnd_broadcast(cnd_t *c) {
  return as_c11(pthread_cond_broadcast((pthread_cond_t *)c));
}

GT_EXPORT void call_once(once_flag *flag, void (*func)(void)) {
  pthread_once((pthread_once_t *)flag, func);
}

GT_EXPORT void thrd_yield(void) { sched_yield(); }

GT_EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left) {
  if (nanosleep(time, left) == 0) return 0;
  return errno == EINTR ? -1 : -2;
}

/* ---- threads: libc keeps the result of an int function in the same place */

GT_EXPORT int thrd_create(thrd_t *thread, thrd_start_t func, void *arg) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return gt_next.create_c11(thread, func, arg);
  return as_c11(gt_create(me, thread, NULL, &(struct gt_start){.c11 = func, .arg = arg}));
}

GT_EXPORT void thrd_exit(int result) { pthread_exit((void *)(intptr_t)result); }

GT_EXPORT int thrd_join(thrd_t thread, int *result) {
  void *value = NULL;
  if (pthread_join(thread, &value) != 0) return thrd_error;
  if (result != NULL) *result = (int)(intptr_t)value;
  return thrd_success;
}

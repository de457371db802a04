/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores. sem_post() may come from a signal handler, also from one that interrupted the gate:
 * then its waiters wake when the gate unlocks. */
#include <semaphore.h>

#include "gate/layout.h"
#include "gate/next.h"
#include "gate/sync.h"

static int try_sem(void *sem) { return gt_next.sem_trywait(sem) == 0 ? 0 : EBUSY; }

static int wait_in_libc(sem_t *sem, const struct gt_limit *limit) {
  if (limit->until == NULL) return gt_next.sem_wait(sem);
  return gt_next.sem_clockwait(sem, limit->clock, limit->until);
}

/* The quick way failed, perhaps because others changed the semaphore at the same time. */
static int wait_for_post(struct gt_thread *me, sem_t *sem, const struct gt_limit *limit) {
  int saved = errno;
  if (gt_next.sem_trywait(sem) == 0) return 0;
  errno = saved;
  if (gt_sem_is_shared(sem)) {
    struct gt_thread *left __attribute__((cleanup(gt_returned))) = me;
    gt_leave(left);
    return wait_in_libc(sem, limit);
  }
  int error = gt_try_or_wait(me, sem, try_sem, GT_WHY_SEM, limit);
  errno = error != 0 ? error : saved;
  return error != 0 ? -1 : 0;
}

static int refuse(void) {
  errno = EINVAL;
  return -1;
}

/* A time that is none is an error of a semaphore above 0, too. */
static int wait_sem(sem_t *sem, const struct gt_limit *limit) {
  struct gt_thread *me = gt_enter_again();
  if (mt_unlikely(me == NULL)) return wait_in_libc(sem, limit);
  if (mt_unlikely(gt_bad_time(limit->until))) return refuse();
  pthread_testcancel();
  gt_point(me, "sem_wait");
  return mt_likely(gt_quick_sem_wait(sem)) ? 0 : wait_for_post(me, sem, limit);
}

static const struct gt_limit forever = {.cancellable = true, .interruptible = true};

static __attribute__((noinline)) int wait_slowly(sem_t *sem, const void *at) {
  gt_me.at = at;
  return wait_sem(sem, &forever);
}

GT_EXPORT int sem_wait(sem_t *sem) {
  bool cancels = mt_load_relaxed(&gt_gate.cancels) != 0; /* relaxed: see pthread_cancel() */
  if (mt_likely(!cancels && gt_is_undisturbed() && gt_quick_sem_wait(sem))) return 0;
  return wait_slowly(sem, __builtin_return_address(0));
}

GT_EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  struct gt_limit limit = {until, CLOCK_REALTIME, true, true};
  return wait_sem(sem, &limit);
}

GT_EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock,
                            const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return refuse();
  struct gt_limit limit = {until, clock, true, true};
  return wait_sem(sem, &limit);
}

GT_EXPORT int sem_trywait(sem_t *sem) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) gt_point(me, "sem_trywait");
  if (mt_likely(me != NULL && gt_quick_sem_wait(sem))) return 0;
  return gt_next.sem_trywait(sem);
}

static __attribute__((noinline)) int post_slowly(sem_t *sem) {
  struct gt_thread *me = gt_me.locked ? NULL : gt_enter();
  bool shared = gt_sem_is_shared(sem); /* before: a thread that it wakes may free it */
  int result = mt_likely(gt_quick_sem_post(sem)) ? 0 : gt_next.sem_post(sem);
  if (result != 0 || shared) return result;
  if (gt_me.locked)
    gt_me.reposted = true;
  else
    gt_wake(&gt_me, sem, 1);
  if (me != NULL) gt_point(me, "sem_post");
  return result;
}

/* A semaphore that processes share has its waiters in libc, which counts them. */
GT_EXPORT int sem_post(sem_t *sem) {
  if (mt_unlikely(gt_me.locked || !gt_is_undisturbed() || !gt_quick_sem_post(sem)))
    return post_slowly(sem);
  if (mt_unlikely(gt_has_waiters(sem))) gt_lot_lock_and_wake(&gt_me, sem, 1);
  return 0;
}

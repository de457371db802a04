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

static int wait_sem(sem_t *sem, const struct gt_limit *limit) {
  struct gt_thread *me = gt_enter();
  int saved = errno;
  if (me == NULL) return wait_in_libc(sem, limit);
  pthread_testcancel();
  gt_point(me, "sem_wait");
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

GT_EXPORT int sem_wait(sem_t *sem) {
  gt_me.at = __builtin_return_address(0);
  return wait_sem(sem, &(struct gt_limit){.cancellable = true, .interruptible = true});
}

GT_EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  struct gt_limit limit = {until, CLOCK_REALTIME, true, true};
  return wait_sem(sem, &limit);
}

GT_EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock,
                            const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
    errno = EINVAL;
    return -1;
  }
  struct gt_limit limit = {until, clock, true, true};
  return wait_sem(sem, &limit);
}

GT_EXPORT int sem_trywait(sem_t *sem) {
  struct gt_thread *me = gt_enter();
  if (me != NULL) gt_point(me, "sem_trywait");
  return gt_next.sem_trywait(sem);
}

GT_EXPORT int sem_post(sem_t *sem) {
  struct gt_thread *me = gt_me.locked ? NULL : gt_enter();
  int result = gt_next.sem_post(sem);
  if (result != 0 || gt_sem_is_shared(sem)) return result;
  if (gt_me.locked)
    gt_me.reposted = true;
  else if (gt_has_waiters(sem))
    gt_wake(&gt_me, sem, 1);
  if (me != NULL) gt_point(me, "sem_post");
  return result;
}

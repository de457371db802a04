/* SPDX-License-Identifier: Apache-2.0 */
/* Readers-writer locks: libc's try functions and unlock, and our waiting. */
#include "gate/layout.h"
#include "gate/next.h"
#include "gate/sync.h"

static int try_read(void *l) { return gt_next.tryrdlock(l); }

static int try_write(void *l) { return gt_next.trywrlock(l); }

static int lock_in_libc(pthread_rwlock_t *l, bool write, const struct gt_limit *limit) {
  if (limit->until == NULL) return write ? gt_next.wrlock(l) : gt_next.rdlock(l);
  return write ? gt_next.clockwrlock(l, limit->clock, limit->until)
               : gt_next.clockrdlock(l, limit->clock, limit->until);
}

/* A lock that prefers writers lets no reader past one that waits here, where libc cannot see it. */
static int try_read_behind_writers(void *lock) {
  for (struct gt_thread *t = gt_queue_of(lock)->first; t != NULL; t = t->next)
    if (t->key == lock && t->why == GT_WHY_WRLOCK) return EBUSY;
  return try_read(lock);
}

static int lock_rwlock(pthread_rwlock_t *l, bool write, const struct gt_limit *limit) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return lock_in_libc(l, write, limit);
  if (gt_bad_time(limit->until)) return EINVAL; /* of a free lock, too */
  gt_point(me, write ? "pthread_rwlock_wrlock" : "pthread_rwlock_rdlock");
  bool behind = !write && gt_rwlock_prefers_writers(l) && gt_has_waiters(l);
  int error = behind ? EBUSY : write ? try_write(l) : try_read(l);
  if (error != EBUSY) return error;
  if (write && l->__data.__cur_writer == me->tid) return lock_in_libc(l, write, limit);
  if (!write && l->__data.__cur_writer == me->tid) return lock_in_libc(l, write, limit);
  if (gt_rwlock_is_shared(l)) {
    gt_leave(me);
    error = lock_in_libc(l, write, limit);
    gt_return(me);
    return error;
  }
  return gt_try_or_wait(me, l,
                        write    ? try_write
                        : behind ? try_read_behind_writers
                                 : try_read,
                        write ? GT_WHY_WRLOCK : GT_WHY_RDLOCK, limit);
}

GT_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
  gt_me.at = __builtin_return_address(0);
  return lock_rwlock(l, false, &(struct gt_limit){0});
}

GT_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
  gt_me.at = __builtin_return_address(0);
  return lock_rwlock(l, true, &(struct gt_limit){0});
}

GT_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l,
                                         const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  return lock_rwlock(l, false, &(struct gt_limit){.until = until, .clock = CLOCK_REALTIME});
}

GT_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l,
                                         const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  return lock_rwlock(l, true, &(struct gt_limit){.until = until, .clock = CLOCK_REALTIME});
}

GT_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                         const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  return lock_rwlock(l, false, &(struct gt_limit){.until = until, .clock = clock});
}

GT_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                         const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  return lock_rwlock(l, true, &(struct gt_limit){.until = until, .clock = clock});
}

GT_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) gt_point(me, "pthread_rwlock_tryrdlock");
  return gt_next.tryrdlock(l);
}

GT_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) gt_point(me, "pthread_rwlock_trywrlock");
  return gt_next.trywrlock(l);
}

/* All waiters try: which of them succeed is libc's decision. */
GT_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l) {
  struct gt_thread *me = gt_enter_again();
  int error = gt_next.rwlock_unlock(l);
  if (me == NULL) return error;
  gt_wake(me, l, INT_MAX);
  gt_point(me, "pthread_rwlock_unlock");
  return error;
}

GT_OLD_NAME(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
GT_OLD_NAME(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
GT_OLD_NAME(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
GT_OLD_NAME(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
GT_OLD_NAME(__pthread_rwlock_unlock, pthread_rwlock_unlock);

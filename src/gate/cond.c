/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: a waiter enters the lot before it unlocks the mutex, and libc's object stays as it
 * was initialised. */
#include "gate/layout.h"
#include "gate/next.h"
#include "gate/sync.h"

static int wait_in_libc(pthread_cond_t *c, pthread_mutex_t *m, const struct gt_limit *limit) {
  if (limit->until == NULL) return gt_next.cond_wait(c, m);
  return gt_next.cond_clockwait(c, m, limit->clock, limit->until);
}

/* Another process may signal it. libc unlocks the mutex without us, so its waiters look themselves
 * first. */
static int wait_shared(struct gt_thread *me, pthread_cond_t *c, pthread_mutex_t *m,
                       const struct gt_limit *limit) {
  struct gt_thread *left __attribute__((cleanup(gt_returned))) = me;
  gt_leave(me);
  return wait_in_libc(c, m, limit);
}

/* A waiter stays a user of its mutex, as in libc: else pthread_mutex_destroy() would destroy a
 * mutex that the waiter locks again. Only the owner writes this field. */
static unsigned use(const struct gt_thread *me, pthread_mutex_t *m) {
  unsigned uses = gt_mutex_owner(m) == me->tid;
  m->__data.__nusers += uses;
  return uses;
}

/* What a waiter has unlocked. */
struct unlocked {
  pthread_mutex_t *mutex;
  unsigned uses;
};

static int lock_again(struct gt_thread *me, const struct unlocked *u) {
  int error = gt_mutex_lock(me, u->mutex, &(struct gt_limit){0});
  if (error == 0) u->mutex->__data.__nusers -= u->uses;
  return error;
}

/* A handler leaves the wait by siglongjmp(). libc's own wait locks the mutex then, and the program
 * unlocks it: that would unlock it for another thread. */
static void lock_after_jump(void *unlocked) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) (void)lock_again(me, unlocked);
}

int gt_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const struct gt_limit *limit) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return wait_in_libc(c, m, limit);
  if (gt_bad_time(limit->until)) return EINVAL;
  pthread_testcancel();
  gt_point(me, "pthread_cond_wait");
  if (gt_cond_is_shared(c)) return wait_shared(me, c, m, limit);
  struct unlocked unlocked = {m, use(me, m)};
  struct _pthread_cleanup_buffer at_jump;
  gt_lock(me);
  gt_lot_enter(c);
  int error = gt_mutex_unlock(me, m);
  if (error != 0) {
    gt_lot_leave(c);
    gt_unlock(me);
    m->__data.__nusers -= unlocked.uses;
    return error;
  }
  gt_lot_wake(m, 1);
  gt_next.cleanup_push(&at_jump, lock_after_jump, &unlocked);
  int ended = gt_lot_wait(me, c, GT_WHY_COND, limit, false);
  gt_next.cleanup_pop(&at_jump, 0);
  error = lock_again(me, &unlocked);
  if (ended == ECANCELED || ended == EAGAIN) {
    ended = 0; /* as if woken for no reason, where cancellation is disabled */
    pthread_testcancel();
  }
  return error != 0 ? error : ended;
}

int gt_cond_wake(pthread_cond_t *c, int most) {
  struct gt_thread *me = gt_enter_again();
  const char *call = most == 1 ? "pthread_cond_signal" : "pthread_cond_broadcast";
  if (me == NULL || gt_cond_is_shared(c))
    return most == 1 ? gt_next.cond_signal(c) : gt_next.cond_broadcast(c);
  gt_wake(me, c, most);
  gt_point(me, call);
  return 0;
}

GT_EXPORT int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m) {
  gt_me.at = __builtin_return_address(0);
  return gt_cond_wait(c, m, &(struct gt_limit){.cancellable = true});
}

GT_EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                     const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  struct gt_limit limit = {.until = until, .clock = gt_cond_clock(c), .cancellable = true};
  return gt_cond_wait(c, m, &limit);
}

GT_EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                     clockid_t clock, const struct timespec *restrict until) {
  gt_me.at = __builtin_return_address(0);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  struct gt_limit limit = {.until = until, .clock = clock, .cancellable = true};
  return gt_cond_wait(c, m, &limit);
}

GT_EXPORT int pthread_cond_signal(pthread_cond_t *c) { return gt_cond_wake(c, 1); }

GT_EXPORT int pthread_cond_broadcast(pthread_cond_t *c) { return gt_cond_wake(c, INT_MAX); }

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes and spin locks: libc's trylock and unlock, and our waiting.
 *
 * Relaxed: hints whether to spin; trylock decides.
 */
#include "arch/arch.h"
#include "gate/layout.h"
#include "gate/next.h"
#include "gate/sync.h"

enum {
  SPINS = 100,  /* before a wait; a short critical section ends meanwhile */
  FAILURES = 4, /* spins in a row: then only one wait in PROBE spins, until a spin helps */
  PROBE = 32
};

/* Waits for the mutexes of a slot since a spin helped. [atomic] */
static uint8_t waits_without_help[GT_SLOTS];

int gt_try_or_wait(struct gt_thread *me, void *object, int (*try)(void *object), enum gt_why why,
                   const struct gt_limit *limit) {
  for (bool again = false;; again = true) {
    gt_lock(me);
    gt_lot_enter(object);
    int error = try(object);
    if (error != EBUSY) {
      gt_lot_leave(object);
      gt_unlock(me);
      return error;
    }
    if (gt_bad_time(limit->until)) {
      gt_lot_leave(object);
      gt_unlock(me);
      return EINVAL;
    }
    int ended = gt_lot_wait(me, object, why, limit, again);
    if (ended == EAGAIN && limit->cancellable) pthread_testcancel();
    if (ended == 0 || ended == EAGAIN) continue;
    error = try(object); /* it may have become free when the time was over */
    if (error != EBUSY || ended != ECANCELED) return error == EBUSY ? ended : error;
    pthread_testcancel(); /* returns only where cancellation is disabled */
  }
}

static int try_mutex(void *m) { return gt_next.mutex_trylock(m); }

/* Robust, priority and shared ones wait in libc. */
static int lock_in_libc(struct gt_thread *me, pthread_mutex_t *m, const struct gt_limit *limit) {
  gt_leave(me);
  int error = limit->until == NULL ? gt_next.mutex_lock(m)
                                   : gt_next.mutex_clocklock(m, limit->clock, limit->until);
  gt_return(me);
  return error;
}

/* Spins for a busy mutex if that has helped before. Where threads hold it for long, each wait would
 * cost some microseconds more. @return as trylock */
static int spin(pthread_mutex_t *m) {
  uint8_t *waits = &waits_without_help[gt_slot_of(m)];
  unsigned before = mt_load_relaxed(waits);
  bool spins = before < FAILURES || before % PROBE == 0;
  for (int i = 0; i < SPINS && spins; i++) {
    mt_arch_pause();
    /* Relaxed: a hint, trylock decides. */
    if (mt_load_relaxed(&m->__data.__lock) != 0) continue;
    int error = gt_next.mutex_trylock(m);
    if (error == EBUSY) continue;
    mt_store_relaxed(waits, 0);
    return error;
  }
  mt_store_relaxed(waits, (uint8_t)(before < UINT8_MAX ? before + 1 : PROBE));
  return EBUSY;
}

int gt_mutex_lock_busy(struct gt_thread *me, pthread_mutex_t *m, const struct gt_limit *limit) {
  if (!gt_mutex_is_plain(m)) return lock_in_libc(me, m, limit);
  if (gt_mutex_checks(m) && gt_mutex_owner(m) == me->tid) return gt_next.mutex_lock(m);
  int error = gt_gate.permits > 1 ? spin(m) : EBUSY;
  if (error != EBUSY) return error;
  return gt_try_or_wait(me, m, try_mutex, GT_WHY_MUTEX, limit);
}

static const struct gt_limit forever;

static __attribute__((noinline)) int lock_slowly(pthread_mutex_t *m, const void *at) {
  struct gt_thread *me = gt_enter_again();
  if (mt_unlikely(me == NULL)) return gt_next.mutex_lock(m);
  gt_point(me, "pthread_mutex_lock");
  me->at = at;
  return gt_mutex_lock(me, m, &forever);
}

GT_EXPORT int pthread_mutex_lock(pthread_mutex_t *m) {
  if (mt_likely(gt_is_undisturbed() && gt_quick_lock(gt_me.tid, m))) return 0;
  return lock_slowly(m, __builtin_return_address(0));
}

GT_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m) {
  struct gt_thread *me = gt_enter_again();
  if (mt_unlikely(me == NULL)) return gt_next.mutex_trylock(m);
  gt_point(me, "pthread_mutex_trylock");
  return mt_likely(gt_quick_lock(me->tid, m)) ? 0 : gt_next.mutex_trylock(m);
}

GT_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict m,
                                      const struct timespec *restrict until) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return gt_next.mutex_timedlock(m, until);
  gt_point(me, "pthread_mutex_timedlock");
  me->at = __builtin_return_address(0);
  return gt_mutex_lock(me, m, &(struct gt_limit){.until = until, .clock = CLOCK_REALTIME});
}

GT_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t clock,
                                      const struct timespec *restrict until) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
    return gt_next.mutex_clocklock(m, clock, until);
  gt_point(me, "pthread_mutex_clocklock");
  me->at = __builtin_return_address(0);
  return gt_mutex_lock(me, m, &(struct gt_limit){.until = until, .clock = clock});
}

int gt_mutex_unlock(struct gt_thread *me, pthread_mutex_t *m) {
  enum gt_quick_unlock quick = gt_quick_unlock(me->tid, m);
  if (quick == GT_NOT_UNLOCKED) return gt_next.mutex_unlock(m);
  if (quick == GT_UNLOCKED_FOR_LIBC) os_futex_wake((uint32_t *)&m->__data.__lock, 1);
  return 0;
}

/* The gate is entered first: the mutex may be gone once it is unlocked. */
static __attribute__((noinline)) int unlock_slowly(pthread_mutex_t *m) {
  struct gt_thread *me = gt_enter_again();
  if (mt_unlikely(me == NULL)) return gt_next.mutex_unlock(m);
  int error = gt_mutex_unlock(me, m);
  gt_wake(me, m, 1);
  gt_point(me, "pthread_mutex_unlock");
  return error;
}

/* It is unlocked, and a thread may wait for it. */
static __attribute__((noinline)) int wake_after(pthread_mutex_t *m, enum gt_quick_unlock quick) {
  if (quick == GT_UNLOCKED_FOR_LIBC) os_futex_wake((uint32_t *)&m->__data.__lock, 1);
  gt_wake(&gt_me, m, 1);
  return 0;
}

/* The grant is looked at when it is locked. */
GT_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m) {
  /* relaxed: as gt_point() */
  if (mt_unlikely(mt_load_relaxed(&gt_me.open) == 0 || mt_load_relaxed(&gt_gate.attend) != 0))
    return unlock_slowly(m);
  enum gt_quick_unlock quick = gt_quick_unlock(gt_me.tid, m);
  if (mt_unlikely(quick == GT_NOT_UNLOCKED)) return unlock_slowly(m);
  if (mt_unlikely(quick != GT_UNLOCKED || gt_has_waiters(m))) return wake_after(m, quick);
  return 0;
}

GT_OLD_NAME(__pthread_mutex_lock, pthread_mutex_lock);
GT_OLD_NAME(__pthread_mutex_trylock, pthread_mutex_trylock);
GT_OLD_NAME(__pthread_mutex_unlock, pthread_mutex_unlock);

/* ---- spin locks: a waiter that has spun for long parks, since the holder may need its permit */

static int try_spin(void *lock) { return gt_next.spin_trylock(lock); }

GT_EXPORT int pthread_spin_lock(pthread_spinlock_t *lock) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return gt_next.spin_lock(lock);
  gt_point(me, "pthread_spin_lock");
  me->at = __builtin_return_address(0);
  for (int i = 0; i < SPINS; i++) {
    int error = gt_next.spin_trylock(lock);
    if (error != EBUSY) return error;
    mt_arch_pause();
  }
  return gt_try_or_wait(me, (void *)(uintptr_t)lock, try_spin, GT_WHY_SPIN, &forever);
}

GT_EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) gt_point(me, "pthread_spin_trylock");
  return gt_next.spin_trylock(lock);
}

GT_EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock) {
  struct gt_thread *me = gt_enter_again();
  int error = gt_next.spin_unlock(lock);
  if (me == NULL) return error;
  mt_fence_full(); /* GT-6 full fence: libc's is a plain store, as GT-2; pairs GT-1 */
  gt_wake(me, (const void *)(uintptr_t)lock, 1);
  gt_point(me, "pthread_spin_unlock");
  return error;
}

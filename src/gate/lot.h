/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lot.h
 * The lot: where threads wait, in queues under the addresses of what they wait for. A slot holds
 * the queues of all addresses with one hash, and counts their waiters, so a waker that finds
 * no waiter does without the lock.
 */
#ifndef MT_GATE_LOT_H
#define MT_GATE_LOT_H

#include <errno.h>
#include <limits.h>

#include "base/fence.h"
#include "gate/gate.h"

enum { GT_SLOTS_LOG2 = 10, GT_SLOTS = 1 << GT_SLOTS_LOG2 };

/** Of each slot: its queue [lock], and the number of waiters [atomic] written under gt_lock. A
 * waker reads the number each time, and finds it without a multiplication by the size of a
 * structure. */
extern struct gt_queue gt_slots[GT_SLOTS];
extern uint32_t gt_waiters[GT_SLOTS];

/** How long a wait may last. */
struct gt_limit {
  const struct timespec *until; /**< absolute; NULL: forever */
  clockid_t clock;
  bool cancellable;   /**< ends by pthread_cancel(), with ECANCELED */
  bool interruptible; /**< ends by a signal handler, with EINTR */
};

/** @return the slot of an address: by Fibonacci hashing, which spreads neighbouring addresses. */
static inline uint32_t gt_slot_of(const void *key) {
  return (uint32_t)((uint64_t)(uintptr_t)key * 11400714819323198485u >> (64 - GT_SLOTS_LOG2));
}

/** @return the waiters in the slot of an address. */
static inline struct gt_queue *gt_queue_of(const void *key) { return &gt_slots[gt_slot_of(key)]; }

/** After libc's function made an object free. @return whether a thread may wait in its slot. */
static inline bool gt_has_waiters(const void *key) {
#if defined(__x86_64__)
  __asm__ volatile("" ::: "memory"); /* libc's function was a locked instruction */
#else
  mt_fence_full(); /* GT-2 full fence: after the object is free, before the count; pairs GT-1 */
#endif
  return mt_load_relaxed(&gt_waiters[gt_slot_of(key)]) != 0; /* relaxed: the fence orders it */
}

/** Counts a waiter before its last try; gt_lot_leave() takes it back. Under gt_lock. */
void gt_lot_enter(const void *key);
void gt_lot_leave(const void *key);

/**
 * Waits in the queue of key, where gt_lot_enter() has counted the caller, until woken. Gives up
 * the permit and gt_lock; on return has a permit, and not gt_lock.
 * @param first before the other waiters: the caller waited and was too late
 * @return 0; ETIMEDOUT, ECANCELED, EINTR as *limit allows; EAGAIN: it left the wait in a handler
 * (gt_lot_quit()), and has to wait again
 */
int gt_lot_wait(struct gt_thread *me, const void *key, enum gt_why why,
                const struct gt_limit *limit, bool first);

/** The calling thread has left its wait, or a handler has interrupted it. Takes it out of the lot
 * if it is still there; if it was woken, another waiter is woken in its place. Returns when it has
 * a permit. Without gt_lock. */
void gt_lot_quit(struct gt_thread *me);

/** Moves up to `most` waiters of key to the ready queue, in the order of their arrival. Under
 * gt_lock. @return how many. */
int gt_lot_wake(const void *key, int most);
/** @return how many wait under a key. Under gt_lock. */
int gt_lot_count(const void *key);
/** Ends a thread's wait with a result. Under gt_lock. */
void gt_lot_end(struct gt_thread *t, int result);
/** All semaphores' waiters look again. Under gt_lock. */
void gt_lot_repost(void);

/** gt_lot_wake() by a thread that has not the lock. */
void gt_lot_lock_and_wake(struct gt_thread *me, const void *key, int most);

/** Wakes up to `most` waiters of key, after libc's function made it free. */
static inline void gt_wake(struct gt_thread *me, const void *key, int most) {
  if (mt_unlikely(gt_has_waiters(key))) gt_lot_lock_and_wake(me, key, most);
}

/** @return whether *until is no time. */
static inline bool gt_bad_time(const struct timespec *until) {
  return until != NULL && (until->tv_nsec < 0 || until->tv_nsec >= 1000000000);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ilock.h
 * The internal lock. It is held for tens of nanoseconds, by some holders across a short system
 * call, but never across one that waits. Another thread than the one that acquired it may release
 * it. A waiter whose holder has lost its CPU must not burn the CPU the holder needs, so it yields
 * soon, and naps when yielding does not help.
 *
 * Relaxed: the load before the swap, because the swap acquires.
 */
#ifndef MT_BASE_ILOCK_H
#define MT_BASE_ILOCK_H

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/single_threaded.h"

typedef uint32_t mt_ilock; /* [atomic] 0: free, 1: held */

/* Checked builds count the internal locks a kernel thread holds (one taken by a thread that
 * parks is released by the next on the same VP). The counter is a pointer for the
 * sake of MT_ARCH_TLS_READ. */
#if MLTP_CHECKED
extern __thread char *mt_ilocks __attribute__((tls_model("initial-exec")));
static inline void mt_ilocks_add(int more) {
  MT_ARCH_TLS_WRITE(mt_ilocks, (char *)((intptr_t)MT_ARCH_TLS_READ(mt_ilocks) + more));
}
static inline intptr_t mt_ilocks_held(void) { return (intptr_t)MT_ARCH_TLS_READ(mt_ilocks); }
#else
static inline void mt_ilocks_add(int more) { (void)more; }
static inline intptr_t mt_ilocks_held(void) { return 0; }
#endif

void mt_ilock_lock_slow(mt_ilock *lock);

/** The first attempt of a kernel thread, or the first after it has lost the bias. */
bool mt_ilock_take_first(mt_ilock *lock);

/* One attempt of a kernel thread that knows its share of the bias. */
static inline bool mt_ilock_take_as(mt_ilock *lock, uintptr_t here, enum mt_bias_share share) {
  if (share == MT_BIAS_SHARED) return mt_swap_acquire(lock, 1) == 0; /* SP-1 acquire: pairs SP-3 */
  bool taken = mt_load_acquire(lock) == 0; /* SP-2 acquire: as SP-1; pairs SP-3 */
  if (taken) mt_store_relaxed(lock, 1);    /* relaxed: nobody else comes in between */
  mt_alone_end(here);
  return taken;
}

static inline bool mt_ilock_take(mt_ilock *lock) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin(here);
  if (mt_unlikely(share == MT_BIAS_UNKNOWN)) return mt_ilock_take_first(lock);
  return mt_ilock_take_as(lock, here, share);
}

static inline bool mt_ilock_trylock(mt_ilock *lock) {
  bool entered = mt_load_relaxed(lock) == 0 && mt_ilock_take(lock);
  mt_ilocks_add(entered);
  return entered;
}

static inline void mt_ilock_lock(mt_ilock *lock) {
  uintptr_t here = mt_bias_here();
  enum mt_bias_share share = mt_alone_begin(here);
  if (mt_unlikely(share == MT_BIAS_UNKNOWN || !mt_ilock_take_as(lock, here, share)))
    mt_ilock_lock_slow(lock); /* takes a first attempt, too: with one call less here */
  else
    mt_ilocks_add(1);
}

static inline void mt_ilock_unlock(mt_ilock *lock) {
  MT_ASSERT(mt_load_relaxed(lock) != 0); /* relaxed: the holder is this one, or handed it on */
  mt_ilocks_add(-1);
  mt_store_release(lock, 0); /* SP-3 release: leaves; pairs SP-1 SP-2 */
}

/** One step of waiting for something another processor does soon: pauses, then
 * yields the CPU, then naps. *round starts at 0. @return true: the CPU was given up. */
bool mt_relax(unsigned *round);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vp.h
 * Virtual processors: making them, asking about all of them.
 *
 * Relaxed: awake and target are hints here.
 */
#ifndef MT_CORE_VP_VP_H
#define MT_CORE_VP_VP_H

#include "core/thread/thread.h"

/** Makes VP 0 of the calling kernel thread. @return 0 or ENOMEM. */
int mt_vp_first(void);

/** Makes one more VP, asleep. @return 0 or EAGAIN. */
int mt_vp_spawn(void);

/** Makes VPs until there are count. @return 0 or EAGAIN. */
int mt_vp_spawn_to(int count);

/** Joins the kernel threads of all VPs but the first and frees all VPs. */
void mt_vps_free(void);

/** Reads what this kernel thread's libc and C++ runtime keep per thread. */
void mt_vp_adopt_kernel_thread(struct mt_vp *vp);

/** @return how many VPs there are; all entries below are valid. */
static inline uint32_t mt_vp_count(void) {
  return mt_load_acquire(&mt_rt.vp_count); /* VP-2 acquire: the entries; pairs VP-1 */
}

/** @return true when the predicate holds for any VP other than self. */
static inline bool mt_vps_any(bool (*predicate)(const struct mt_vp *), const struct mt_vp *self) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    if (mt_rt.vps[i] != self && predicate(mt_rt.vps[i])) return true;
  return false;
}

/** @return true when more VPs are awake than may be. */
static inline bool mt_over_target(void) {
  return mt_load_relaxed(&mt_rt.awake) > mt_load_relaxed(&mt_rt.target);
}

/** @return true when one VP more may be woken, or get up, to run what is ready. Beyond
 * the CPUs only the watchdog gets up: a VP whose kernel thread waits for a CPU seems to
 * leave its threads waiting, and who came to help would take the CPU from it. */
static inline bool mt_may_wake_one(void) {
  int awake = mt_load_relaxed(&mt_rt.awake);
  bool cpu_left = awake < mt_rt.cpus || mt_load_relaxed(&mt_rt.stopping); /* VP 0 must get up */
  return cpu_left && awake < mt_load_relaxed(&mt_rt.target);
}

/** Reads the clock, and notes the time for threads that park here. @return os_now(). */
static inline uint64_t mt_vp_now(struct mt_vp *vp) {
  uint64_t now = os_now();
  mt_store_relaxed(&vp->clock, mt_clock(now)); /* relaxed: for dumps */
  return now;
}

/** A small fast generator (xorshift32) for places where any number will do. */
static inline uint32_t mt_random(struct mt_vp *vp) {
  uint32_t x = vp->seed;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return vp->seed = x;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vp.h
 * Questions about all virtual processors.
 *
 * Relaxed: awake and target are hints here.
 */
#ifndef MT_CORE_VP_VP_H
#define MT_CORE_VP_VP_H

#include "core/vp/runtime_state.h"
#include "policy/idle.h"

/** @return how many VPs there are; all entries below are valid. */
static inline uint32_t mt_vp_count(void) {
  return mt_load_acquire(&mt_rt.vp_count); /* VP-2 acquire: the entries; pairs VP-1 */
}

/** @return true while the VP counts as blocked in the kernel. A hint. */
static inline bool mt_is_blocked(const struct mt_vp *vp) {
  uint32_t status = mt_load_relaxed(&vp->sleep.status);
  return status == MT_VP_BLOCKED || status == MT_VP_CAUGHT;
}

/** @return true when the predicate holds for any VP other than self. */
static inline bool mt_vps_any(bool (*predicate)(const struct mt_vp *), const struct mt_vp *self) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    if (mt_rt.vps[i] != self && predicate(mt_rt.vps[i])) return true;
  return false;
}

/** @return how many VPs may be awake: vps of them, or as many as compute beyond their slice and are
 * not counted as awake (sched/monitor.h). */
static inline int mt_beside_company(int vps) {
  int company = mt_load_relaxed(&mt_rt.idle.company);
  return vps >= company ? vps : company;
}

/** @return how many VPs there are in each state. */
static inline struct mt_vps_seen mt_vps_seen(void) {
  return (struct mt_vps_seen){.awake = mt_load_relaxed(&mt_rt.idle.awake),
                              .target = mt_beside_company(mt_load_relaxed(&mt_rt.idle.target)),
                              .cpus = mt_beside_company(mt_rt.woken_most),
                              .ending = mt_load_relaxed(&mt_rt.stopping)};
}

/** @return true when more VPs are awake than may be. */
static inline bool mt_over_target(void) {
  return mt_vps_over_target(
      (struct mt_vps_seen){.awake = mt_load_relaxed(&mt_rt.idle.awake),
                           .target = mt_beside_company(mt_load_relaxed(&mt_rt.idle.target))});
}

/** @return true when one VP more may be awake, to run what is ready. */
static inline bool mt_may_wake_one(void) { return mt_vps_may_wake_one(mt_vps_seen()); }

/** Reads the clock, and notes the time for threads that park here. @return os_now(). */
static inline uint64_t mt_vp_now(struct mt_vp *vp) {
  uint64_t now = os_now();
  mt_store_relaxed(&vp->points.clock, mt_clock(now)); /* relaxed: for dumps */
  return now;
}

/** A small fast generator (xorshift32) for places where any number will do. */
static inline uint32_t mt_random(struct mt_vp *vp) {
  uint32_t x = vp->search.seed;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return vp->search.seed = x;
}

/** @return whether there are threads outside VPs, which may make others ready. A hint. */
static inline bool mt_outside_may_post(void) {
  return mt_load_relaxed(&mt_rt.outside.foreign_live) != 0 ||
         mt_load_relaxed(&mt_rt.outside.bound_live) != 0;
}

#endif

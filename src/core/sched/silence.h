/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file silence.h
 * VPs that reach no scheduling point: how other VPs notice them, and when. monitor.h says what
 * follows.
 *
 * A VP that reads the clock looks at the ticks of the others, every 5 ms, and moves the
 * monitor's alarm into the future. So the monitor wakes only if a look has found a silent VP, or if
 * no VP has come to a look for MT_SILENT_NS: all of them are silent, or their scheduling points lie
 * far apart. While all VPs sleep the alarm is not set. A VP that waits for a CPU because other
 * programs run is silent, too, and to tell it from a blocked one takes a look: once for
 * MT_SILENT_NS that it has lost.
 *
 * Rejected: to read the clock or store a time at each scheduling point, which costs more than the
 * switch; a monitor that looks at fixed intervals, which wakes a sleeping machine.
 */
#ifndef MT_CORE_SCHED_SILENCE_H
#define MT_CORE_SCHED_SILENCE_H

#include "core/vp/vp.h"

enum {
  MT_SILENT_NS = 10000000,    /* without a scheduling point for this long a VP is looked at; */
  MT_SILENT_SOON_NS = 1000000 /* where a VP was caught a moment ago the next one is near */
};

/** @return how long a VP may be silent now. Live VPs look twice in that time. */
static inline uint64_t mt_silent_ns(void) {
  return mt_load_relaxed(&mt_rt.handover.silent_ns); /* relaxed: a hint */
}

/** The slow part of mt_look_for_silence(). */
void mt_look_now(uint64_t now);

/** To be called where a VP has read the clock. */
static inline void mt_look_for_silence(uint64_t now) {
  /* relaxed: any VP may look, and one is elected by a swap */
  if (mt_unlikely(now >= mt_load_relaxed(&mt_rt.handover.look_at))) mt_look_now(now);
}

/** A VP has become awake; NULL: a new one. Under sleep.ilock. */
void mt_silence_ends(struct mt_vp *vp);

/** @return true if the VP is awake and has passed no scheduling point for mt_silent_ns(). */
bool mt_is_silent(struct mt_vp *vp, uint64_t now);

/** @return true if the monitor has to look at a silent VP's kernel thread now. */
static inline bool mt_is_due(const struct mt_vp *vp, uint64_t now) {
  return now - mt_load_relaxed(&vp->handover.judged_at) >= mt_silent_ns(); /* relaxed: a hint */
}

#endif

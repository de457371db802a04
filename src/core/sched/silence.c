/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: ticks and times are hints, which the monitor checks.
 */
#include "core/sched/silence.h"

#include "base/fence.h"

bool mt_is_silent(struct mt_vp *vp, uint64_t now) {
  struct mt_vp_handover *seen = &vp->handover;
  if (mt_load_relaxed(&vp->sleep.status) != MT_VP_AWAKE) return false;
  uint32_t tick = mt_load_relaxed(&vp->points.tick);
  uint64_t at = mt_load_relaxed(&seen->seen_at);
  if (at != 0 && mt_load_relaxed(&seen->seen_tick) == tick)
    return now > at && now - at >= mt_silent_ns();
  mt_store_relaxed(&seen->seen_at, now);
  mt_store_relaxed(&seen->seen_tick, tick);
  return false;
}

void mt_look_now(uint64_t now) {
  uint64_t at = mt_load_relaxed(&mt_rt.handover.look_at);
  if (now < at || !mt_cas_relaxed(&mt_rt.handover.look_at, &at, now + mt_silent_ns() / 2)) return;
  bool due = false;
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    due |= mt_is_silent(mt_rt.vps[i], now) && mt_is_due(mt_rt.vps[i], now);
  os_alarm_set(&mt_rt.handover.alarm, due ? 1 : mt_silent_ns());
}

void mt_silence_ends(struct mt_vp *vp) {
  if (vp != NULL) mt_store_relaxed(&vp->handover.seen_at, 0);
  mt_fence_light(); /* HO-2 light fence: awake before rests; pairs HO-1 */
  if (!mt_load_relaxed(&mt_rt.handover.rests)) return;
  mt_store_relaxed(&mt_rt.handover.rests, false);
  os_alarm_set(&mt_rt.handover.alarm, mt_silent_ns());
}

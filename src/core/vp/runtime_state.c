/* SPDX-License-Identifier: Apache-2.0 */
/* The one runtime of the process. */
#include "core/vp/runtime_state.h"

#include "base/ilock.h"

struct mt_runtime mt_rt;

const char *mt_not_running(void) {
  return mt_rt.forked
             ? "the runtime is not running in this child of fork() (call mltp_init() first)"
             : "the runtime is not running (call mltp_init() first)";
}

/* The monitor wakes a VP for what it carries before it says that it carries nothing.
 *
 * Relaxed: what changes under sleep.ilock is read under it. The ilock is held. */
static bool rest_since(uint32_t wake_count) {
  /* HO-5 seq_cst: after the look at the queues, before wake_count; pairs HO-4 HO-6 */
  if (mt_load_seq_cst(&mt_rt.handover.carries)) return false;
  return mt_rt.idle.awake == 0 && mt_rt.sleep.wake_count == wake_count &&
         mt_rt.sleep.blocked <= mt_load_relaxed(&mt_rt.sleep.blocked_in_locks);
}

bool mt_vps_still_rest(void) {
  if (mt_load_relaxed(&mt_rt.vp_count) == 0) return true;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool still = rest_since(mt_rt.sleep.checked_at);
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  return still;
}

bool mt_vps_note_rest(void) {
  if (mt_load_relaxed(&mt_rt.vp_count) == 0) return true;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool still = rest_since(mt_rt.sleep.checked_at);
  if (still) mt_rt.sleep.noted_at = mt_rt.sleep.wake_count;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  return still;
}

bool mt_vps_rest_as_noted(void) {
  if (mt_load_relaxed(&mt_rt.vp_count) == 0) return false;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool still = rest_since(mt_rt.sleep.noted_at);
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  return still;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/blocking.h"

#include "core/det/det.h"
#include "core/sched/monitor.h"
#include "core/sched/sched.h"
#include "core/sched/vps.h"
#include "core/sched/wake.h"
#include "core/vp/vp.h"
#include "mltp/sched.h"

bool mt_blocking_begin(void) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL || mt_det_on) return true; /* alone, it is not blocked */
  bool spare = mt_block(vp);
  int error = spare ? 0 : mt_vp_spawn();
  if (error != 0) mt_monitor_no_vp(error);
  spare = error == 0;
  /* Thieves come when they have nothing to run. Threads that spin and yield always have,
   * and may wait for one of these. */
  mt_vp_hand_off(vp);
  mt_fence_heavy(); /* ID-16 heavy fence: as ID-2; pairs ID-1 ID-5 ID-17 ID-18 ID-19 */
  if (mt_any_waiting(NULL)) mt_wake_one();
  return spare;
}

/* No VP to be had: this one's threads wait until it is back. */
void mltp_blocking_begin(void) { mt_blocking_begin(); }

void mltp_blocking_end(void) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL || mt_det_on) return;
  mt_unblock(vp);
  if (!mt_over_target()) return;
  mt_probe_here(vp);
  mltp_yield();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: a snapshot.
 */
#include "core/vp/blocked.h"

#include <stdio.h>

#include "core/vp/vp.h"

bool mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t) {
  uint32_t index = (uint32_t)mt_load_relaxed(&t->where) >> MT_STATE_BITS;
  if (t->kind != MT_UNBOUND || !mt_is_running(t) || index >= mt_vp_count()) return false;
  const struct mt_vp *vp = mt_rt.vps[index];
  if (!mt_is_blocked(vp) || os_task_state(&vp->handover.task) == OS_TASK_RUNS) return false;
  long call = os_task_call(&vp->handover.task);
  const char *name = os_call_name(call);
  uint64_t now = os_now(), since = mt_load_relaxed(&vp->handover.caught_at);
  bool caught = mt_load_relaxed(&vp->sleep.status) == MT_VP_CAUGHT;
  *ns = caught && now > since ? now - since : 0;
  if (name != NULL)
    snprintf(text, size, "%s(2)", name);
  else if (call >= 0)
    snprintf(text, size, "system call %ld", call);
  else
    snprintf(text, size, "the kernel");
  return true;
}

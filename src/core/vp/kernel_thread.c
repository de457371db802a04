/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel thread runs a thread, and in which call of the kernel it is.
 *
 * Relaxed: a snapshot, which is old when the caller reads it.
 */
#include "core/vp/kernel_thread.h"

#include <stdio.h>

#include "base/peek.h"
#include "core/vp/vp.h"

/* Copies what a dump may read, since a runtime that ends frees its VPs meanwhile. */
static bool copy_vp(uint32_t index, uint32_t *status, struct mt_vp_handover *handover) {
  const struct mt_vp *vp = mt_load_relaxed(&mt_rt.vps[index]);
  return vp != NULL && mt_peek(status, &vp->sleep.status, sizeof *status) &&
         mt_peek(handover, &vp->handover, sizeof *handover);
}

/* The same for the VP on which an unbound thread runs. */
static bool copy_vp_of(const struct mltp_thread *t, uint32_t *status,
                       struct mt_vp_handover *handover) {
  uint32_t index = (uint32_t)mt_load_relaxed(&t->where) >> MT_STATE_BITS;
  return t->kind == MT_UNBOUND && mt_is_running(t) && index < mt_vp_count() &&
         copy_vp(index, status, handover);
}

int mt_task_of(const struct mltp_thread *t) {
  uint32_t status;
  struct mt_vp_handover handover;
  return copy_vp_of(t, &status, &handover) ? handover.task.tid : 0;
}

bool mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t) {
  uint32_t status;
  struct mt_vp_handover handover;
  if (!copy_vp_of(t, &status, &handover)) return false;
  if (status != MT_VP_BLOCKED && status != MT_VP_CAUGHT) return false;
  if (os_task_state(&handover.task) == OS_TASK_RUNS) return false;
  long call = os_task_call(&handover.task);
  const char *name = os_call_name(call);
  uint64_t now = os_now(), since = handover.caught_at;
  *ns = status == MT_VP_CAUGHT && now > since ? now - since : 0;
  if (name != NULL)
    snprintf(text, size, "%s(2)", name);
  else if (call >= 0)
    snprintf(text, size, "system call %ld", call);
  else
    snprintf(text, size, "the kernel");
  return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mltp_exit(): ends the calling thread, of whatever kind.
 *
 * Relaxed: whether there is a runtime, for a message.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/life/end.h"
#include "core/life/outside.h"
#include "core/life/runtime.h"
#include "core/thread/key.h"
#include "core/vp/vp.h"

static void undo_frames(struct mltp_thread *self) {
  while (self->undo != NULL) {
    struct mt_undo *undo = self->undo;
    mt_undo_pop(self, undo);
    undo->run(undo);
  }
}

void mltp_exit(void *result) {
  struct mltp_thread *self = mt_current();
  if (self != NULL) undo_frames(self);
  if (self == mt_rt.main && self != NULL) {
    mt_values_end(self);
    mt_wait_until_alone();
    exit(0);
  }
  if (self != NULL && self->kind == MT_UNBOUND) mt_finish(self, result);
  if (self != NULL && self->kind == MT_BOUND) mt_bound_finish(self, result);
  mt_misuse(EPERM, "mltp_exit", 0, "", "%s",
            mt_load_relaxed(&mt_rt.running)
                ? "the caller is no thread of this library (use pthread_exit there)"
                : mt_not_running());
  abort(); /* it cannot return, whatever MLTP_MISUSE says */
}

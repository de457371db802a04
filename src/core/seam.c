/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the library, for those built on it. */
#include "core/seam.h"

#include "base/peek.h"
#include "core/det.h"
#include "core/park.h"
#include "debug/report.h"

void mt_seam_lock(uint32_t *guard) { mt_spin_lock(guard); }

void mt_seam_unlock(uint32_t *guard) { mt_spin_unlock(guard); }

struct mltp_thread *mt_seam_self(const char *call) { return mt_self(call); }

void mt_seam_park(uint32_t *guard, const char *what) {
  struct mltp_thread *self = mt_current();
  self->waiting_for = what;
  mt_park(self, guard, MT_WHY_MESSAGE);
  self->waiting_for = NULL; /* a timer that fires later looks for a queue there */
}

void mt_seam_resume(struct mltp_thread *t) { mt_resume(t); }

void mt_seam_preempt(const char *call) { mt_preempt(call); }

void mt_seam_on_deadlock(bool (*report)(void)) { mt_deadlock_hook = report; }

void mt_seam_bystanders(uint32_t count) { mt_deadlock_bystanders = count; }

bool mt_seam_peek(void *to, const void *from, size_t size) { return mt_peek(to, from, size); }

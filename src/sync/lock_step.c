/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a holder that one knows; lock_step.h. */
#include "sync/lock_step.h"

#include "mltp/sched.h"

enum { SPINS = 1000, SPINS_NO_HOLDER = 16, YIELDS_PER_NAP = 64, NAP_NS = 50000 };

bool mt_lock_wait_step(const struct mltp_thread *holder, unsigned *round, unsigned steps) {
  unsigned now = *round += steps;
  unsigned spins = holder == NULL ? SPINS_NO_HOLDER : SPINS;
  if (now % spins >= steps && (holder == NULL || mt_is_running(holder))) {
    mt_arch_pause();
    return false;
  }
  mltp_yield();
  /* alone on its VP, while the holder's has no CPU */
  if (now / spins % YIELDS_PER_NAP == YIELDS_PER_NAP - 1) os_nap(NAP_NS);
  return true;
}

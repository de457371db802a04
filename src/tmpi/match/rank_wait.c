/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of a rank spins before it parks.
 *
 * Relaxed: the partner's thread, as a hint.
 */
#include "tmpi/match/rank_wait.h"

#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/park.h"

enum { OWN_VP_NS = 20000 }; /* a VP without work spins about as long */

bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  uint64_t blindly = tm_job.wait == TM_WAIT_SPIN                       ? tm_job.spin_ns
                     : tm_job.wait == TM_WAIT_CONSCIOUS && tm_has_vp() ? OWN_VP_NS
                                                                       : 0;
  return mti_spin_until(ended, what, waker != NULL ? mt_load_relaxed(&waker->thread) : NULL,
                        blindly);
}

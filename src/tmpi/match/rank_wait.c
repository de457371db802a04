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

bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  if (tm_job.wait == TM_WAIT_CONSCIOUS && tm_has_vp()) return mti_spin_alone(ended, what);
  return mti_spin_until(ended, what, waker != NULL ? mt_load_relaxed(&waker->thread) : NULL,
                        tm_job.wait == TM_WAIT_SPIN ? tm_job.spin_ns : 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Members wait at a barrier that is not released at once; phase.h has the protocol. */
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "tmpi/coll/phase.h"

/* When a member came to a barrier. */
struct coming {
  const struct tm_team_barrier *barrier;
  uint32_t epoch;
};

static bool is_open(const void *what) {
  const struct coming *coming = what;
  /* MG-2 acquire: what others have published; pairs MG-1 */
  return mt_load_acquire(&coming->barrier->epoch) != coming->epoch;
}

void tm_team_barrier_spin(struct tm_team_barrier *barrier, const struct tm_coll *coll) {
  const struct coming coming = {barrier, barrier->epoch};
  if (!tm_may_spin(NULL)) {
    tm_team_barrier_park(barrier, coll);
    return;
  }
  mti_unlock(&barrier->queue.ilock_);
  if (tm_spin(is_open, &coming, NULL)) return;
  mti_lock(&barrier->queue.ilock_);
  if (is_open(&coming))
    mti_unlock(&barrier->queue.ilock_);
  else
    tm_team_barrier_park(barrier, coll);
}

/* By a thread's number: rank.c. */
static int home_of(uint32_t number) { return number != 0 ? tm_rank_home((int)number - 1) : -1; }

void tm_team_barrier_release(struct tm_team_barrier *barrier, bool at_home) {
  if (barrier->spins) {
    mti_lock(&barrier->queue.ilock_);
    /* MG-1 release: what was published before the last one came; pairs MG-2 */
    mt_store_release(&barrier->epoch, barrier->epoch + 1);
  }
  if (at_home)
    mti_resume_all_on(&barrier->queue, home_of);
  else
    mti_resume_all(&barrier->queue);
  if (barrier->spins) mti_unlock(&barrier->queue.ilock_);
}

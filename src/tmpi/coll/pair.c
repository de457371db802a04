/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of two members that spin (phase.h). Each has a *side* that it alone writes: it says
 * there that it has come, beside what it brings. So a phase transfers one line each way, and both
 * members write and read at the same time.
 *
 * A side's word is twice the phase that its member has come to. Its partner spins until it has
 * come. When that takes too long, the partner sets the lowest bit of the word (PR-3) and parks in
 * the queue of their barrier, whose lock it holds until its registers are saved. A member comes by
 * a swap (PR-1). If that returns the bit, it takes the lock and resumes its partner.
 *
 * No lost wake-up: both operations on the word are atomic. Either the compare-and-swap fails,
 * because the member has come, or the swap returns the bit.
 *
 * Two sets of sides alternate. A member that comes to a phase has read what its partner brought to
 * the phase before, so the partner may write that set again in the next phase.
 *
 * Rejected: the barrier (its lock, its epoch, the slots and the result are lines that both write:
 * four and more transfers, one after the other); a store and a fence in place of the swap (both
 * wait for the same transfer).
 */
#include "tmpi/coll/phase.h"

enum {
  PARKED = 1,   /* bit of a side's word: the partner of its member is parked */
  BRIEFLY = 256 /* looks without a pause, which takes as long as a transfer on some processors */
};

/* What a member waits for. */
struct coming {
  uint32_t *word;
  uint32_t phase;
};

static bool has_come(const void *what) {
  const struct coming *partner = what;
  /* PR-2 acquire: what the partner brings; pairs PR-1 */
  return mt_load_acquire(partner->word) / 2 == partner->phase;
}

static bool comes_soon(const struct coming *partner) {
  if (!tm_may_spin(NULL)) return false;
  for (int looks = 0; looks < BRIEFLY; looks++)
    if (has_come(partner)) return true;
  return tm_spin(has_come, partner, NULL);
}

/* Under the lock of the queue. @return false: the partner has come. */
static bool ask_to_be_resumed(const struct coming *partner) {
  uint32_t seen = mt_load_relaxed(partner->word); /* relaxed: the swap checks it */
  if (seen / 2 == partner->phase) return false;
  /* PR-3 acq_rel: what the caller brings, for a partner that finds the bit; pairs PR-1 */
  return mt_cas_acq_rel(partner->word, &seen, seen | PARKED);
}

__attribute__((noinline)) static void wait_for(const struct tm_coll *coll,
                                               const struct coming *partner) {
  struct tm_team_barrier *barrier = &coll->comm->vp_group->barrier;
  if (comes_soon(partner)) return;
  mti_lock(&barrier->queue.ilock_);
  if (ask_to_be_resumed(partner))
    tm_team_barrier_park(barrier, coll);
  else
    mti_unlock(&barrier->queue.ilock_);
}

void tm_pair_meet(const struct tm_coll *coll) {
  struct tm_comm *comm = coll->comm;
  mti_preempt(coll->call);
  comm->phases++;
  struct tm_pair_side *sides = tm_pair_of(coll)->sides[comm->phases % 2];
  const struct coming partner = {&sides[1 - comm->rank].word, comm->phases};
  /* PR-1 acq_rel: what the caller brings, and what a parked partner has brought; pairs PR-2 PR-3 */
  uint32_t before = mt_swap_acq_rel(&sides[comm->rank].word, 2u * comm->phases);
  if (mt_unlikely(before % 2 == PARKED)) tm_release_vp_group(coll);
  while (!has_come(&partner)) wait_for(coll, &partner);
}

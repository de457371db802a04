/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file phase.h
 * Collectives of an intracommunicator proceed in phases. Between two phases all members wait for
 * each other. In a phase a member may read what the others published in the one before, and copy
 * straight from and to their buffers. A broadcast of many bytes has no phase (offer.h).
 *
 * The last arrival of a VP group (object/team.h) enters the root barrier. When the last
 * arrivals of all VP groups are there, each releases the barrier of its own group. So a phase of N
 * members on P VPs takes N switches, and a line that two VPs touch is transferred once for each VP.
 * Members move to their home VP at first, and then every 0.1 ms or so. In between a stolen member
 * stays where it is, because its home may have lost its CPU.
 *
 * A member publishes by writing its slot before it arrives, and others read the slot after the
 * release. Two sets of slots alternate. A set is written again only after another phase, at which
 * all readers of the set have arrived.
 *
 * Locks: the internal lock of a barrier's queue, held for moments, and before that of a mailbox.
 * The last arrival needs no lock to reset the barrier: all others wait, and none can arrive again
 * before the release. Where members spin first (tmpirun --wait=spin, or a VP for each rank) some
 * enter the queue later or never. The releaser then counts the release under the lock, and a waiter
 * checks the count under the lock before it parks. Otherwise nobody spins here: the releaser of a
 * VP group belongs to it, and cannot run before the others have left the VP. Two members that spin
 * do without the barrier's count (pair.c).
 *
 * Relaxed: values that only reports read.
 *
 * Rejected: trees of messages (a match, a wait and a switch for each edge); one counter for all
 * (two VPs compete for its line at each arrival).
 */
#ifndef TM_COLL_PHASE_H
#define TM_COLL_PHASE_H

#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "policy/home.h"
#include "tmpi/coll/coll.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/object/team.h"

/* ---- phases of a pair: pair.c */

/** @return where the members meet if they are two and spin; NULL: at barriers. */
static inline struct tm_pair *tm_pair_of(const struct tm_coll *coll) {
  return coll->comm->team->pair;
}

/** @return the caller's room for TM_SMALL_MAX bytes of the next phase. */
static inline char *tm_pair_data_next(const struct tm_coll *coll) {
  const struct tm_comm *comm = coll->comm;
  return tm_pair_of(coll)->sides[(comm->phases + 1) % 2][comm->rank].data;
}

/** Returns when both have come. */
void tm_pair_meet(const struct tm_coll *coll);

/* ---- phases. Always inline: after a switch the processor predicts each return from a function
 * wrongly, which costs as much as a switch. */

/** The internal lock of the barrier, which the caller holds, is released. */
__attribute__((always_inline)) static inline void tm_team_barrier_park(
    struct tm_team_barrier *barrier, const struct tm_coll *coll) {
  struct tm_rank *rank = coll->comm->owner;
  bool noted = tm_begin_wait(rank, coll->comm, coll->call);
  if (noted) rank->parks++;
  bool lent = tm_user_code_lend(rank);
  mti_wait_unlock(&barrier->queue, coll->call);
  if (lent) tm_user_code_take(rank);
  if (noted) mt_store_relaxed(&rank->call, NULL);
}

/** The same where they spin. */
void tm_team_barrier_spin(struct tm_team_barrier *barrier, const struct tm_coll *coll);
/** Releases all, to continue where they are or at home. */
void tm_team_barrier_release(struct tm_team_barrier *barrier, bool at_home);

/** Comes to a barrier. @return true: the caller is the last, and is to open it; else it was opened.
 */
__attribute__((always_inline)) static inline bool tm_arrive(struct tm_team_barrier *barrier,
                                                            const struct tm_coll *coll) {
  if (barrier->members == 1) return true;
  mti_lock(&barrier->queue.ilock_);
  if (--barrier->missing == 0) {
    barrier->missing = barrier->members;
    mti_unlock(&barrier->queue.ilock_);
    return true;
  }
  if (mt_likely(!barrier->spins))
    tm_team_barrier_park(barrier, coll);
  else
    tm_team_barrier_spin(barrier, coll);
  return false;
}

/** A phase of more than a pair in parts, with something to do between them: if
 * (tm_arrive_in_vp_group()) { of the VP group; if (tm_arrive_at_root()) { of all; tm_release_root()
 * } tm_release_vp_group() }. The caller is then the last. */
__attribute__((always_inline)) static inline bool tm_arrive_in_vp_group(
    const struct tm_coll *coll) {
  mti_preempt(coll->call);
  coll->comm->phases++;
  return tm_arrive(&coll->comm->vp_group->barrier, coll);
}

__attribute__((always_inline)) static inline bool tm_arrive_at_root(const struct tm_coll *coll) {
  return tm_arrive(&coll->comm->team->root_barrier, coll);
}

static inline void tm_release(struct tm_team_barrier *barrier) {
  if (mt_likely(!barrier->spins))
    mti_resume_all(&barrier->queue);
  else
    tm_team_barrier_release(barrier, false);
}

static inline void tm_release_root(const struct tm_coll *coll) {
  tm_release(&coll->comm->team->root_barrier);
}

/* A move takes some phases in a row; policy/home.h. */
static inline bool tm_must_go_home(struct tm_vp_group *vp_group) {
  uint32_t points = mti_vp_ticks(vp_group->home);
  vp_group->releases--;
  const struct mt_group_seen seen = {vp_group->releases, points - vp_group->points};
  if (mt_likely(!mt_group_goes_home(seen))) return false;
  if (vp_group->releases > 0) vp_group->releases = 0;
  if (vp_group->releases == 1 - MT_HOME_PHASES) {
    vp_group->releases = MT_HOME_RELEASES;
    vp_group->points = points;
  }
  return true;
}

static inline void tm_release_vp_group(const struct tm_coll *coll) {
  struct tm_vp_group *vp_group = coll->comm->vp_group;
  if (mt_unlikely(tm_must_go_home(vp_group)))
    tm_team_barrier_release(&vp_group->barrier, true);
  else
    tm_release(&vp_group->barrier);
}

/** Returns when all members have come. They are not a pair. */
__attribute__((always_inline)) static inline void tm_next_phase_of_many(
    const struct tm_coll *coll) {
  if (!tm_arrive_in_vp_group(coll)) return;
  if (tm_arrive_at_root(coll)) tm_release_root(coll);
  tm_release_vp_group(coll);
}

/** Returns when all have come. */
__attribute__((always_inline)) static inline void tm_next_phase(const struct tm_coll *coll) {
  if (mt_unlikely(tm_pair_of(coll) != NULL))
    tm_pair_meet(coll);
  else
    tm_next_phase_of_many(coll);
}

/* ---- what is published for the next phase, and read after it */

static inline void tm_publish(const struct tm_coll *coll, int exchange, const void *at,
                              size_t bytes, const void *more) {
  const struct tm_comm *comm = coll->comm;
  *tm_team_slot(comm->team, (comm->phases + 1) % 2, comm->rank) =
      (struct tm_publication){at, bytes, more, coll->tag, exchange};
}

/** What a rank has published for the last phase. A wrong program's ranks call different
 * collectives, or name different roots. Their slots hold what was published earlier, addresses that
 * may point anywhere by now, so the job ends. */
static inline const struct tm_publication *tm_published(const struct tm_coll *coll, int exchange,
                                                        int rank) {
  const struct tm_comm *comm = coll->comm;
  const struct tm_publication *slot = tm_team_slot(comm->team, comm->phases % 2, rank);
  bool same = slot->number == coll->tag && slot->exchange == exchange;
  if (mt_unlikely(!same)) tm_not_published(coll, exchange, rank);
  return slot;
}

/** The team's data: of the last phase; of the next one, where one member writes. */
static inline struct tm_team_data *tm_team_data(const struct tm_coll *coll) {
  return coll->comm->team->data[coll->comm->phases % 2];
}

static inline char *tm_team_data_next(const struct tm_coll *coll) {
  return coll->comm->team->data[(coll->comm->phases + 1) % 2]->bytes;
}

#endif

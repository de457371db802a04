/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file team.h
 * What the members of an intracommunicator share, for collectives: they meet, and between two
 * phases each may read what the others have published, and copy straight from and to their
 * buffers.
 *
 * Members are in blocks of neighbours in rank, as many blocks as there are members in one, or
 * fewer. Blocks depend on the number of members alone; so does the order in which elements are
 * combined.
 *
 * Blocks that are at home on the same VP (rank.h) are a VP group, whose members share a VP more
 * often than not: the last of a VP group to come goes on to meet the last of the other VP groups,
 * and when these have met wakes its own VP group. So a phase of N members on P VPs is N switches,
 * and what two VPs both touch is touched once for each VP. Its members go home (rank.h) at first,
 * and then every 0.1 ms or so: who is stolen in between stays where it is, since perhaps the home
 * has lost its CPU.
 *
 * Published is what a member writes into its slot before it comes to a phase, and others read
 * after it. There are two sets of slots, used in turn: who publishes for the next phase but
 * one has come from the next, to which all came who had read.
 *
 * Guards: that of a barrier, held for moments. The last to come has held it since all others waited
 * and none can come again before it opens: then it alone touches the barrier. But where members
 * spin first (tmpirun --wait=spin, or a VP for each rank), some of them enter the queue later, or
 * never: who opens counts that under the internal lock, and who parks has looked at the count under
 * it. Otherwise nobody spins at a barrier: who opens that of a VP group is of the VP group, and
 * cannot run before the others have left the VP.
 *
 * Relaxed: what reports read.
 *
 * Rejected: trees of messages (a match, a wait and a switch for each edge); one counter for
 * all (two VPs fight for its line at each arrival, 130 ns instead of 20); blocks by the VP members
 * happen to be on (they move, and results would depend on it).
 */
#ifndef TM_COLL_TEAM_H
#define TM_COLL_TEAM_H

#include <mltp/mltp.h>
#include <stdalign.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "tmpi/coll/coll.h"
#include "tmpi/match/rank_wait.h"

enum {
  TM_SMALL_MAX = 256,    /* bytes of data that a block has room for, and the team at least */
  TM_SMALL_EACH = 16,    /* bytes the team has room for of each member */
  TM_POINTS_AWAY = 2048, /* a VP group goes home after so many scheduling points of its home, */
  TM_RELEASES_AWAY = 64  /* or when it has been let go so often */
};

/** Where members wait for each other. */
struct tm_team_barrier {
  alignas(TM_LINE) mltp_waitq_t queue; /* [ilock: its own] */
  int missing;                         /* [ilock] so many have not come yet */
  int members;                         /* [const] */
  bool spins;                          /* [const] who has to wait here spins first */
  uint32_t epoch;                      /* [atomic] so often, where they spin: MG-1, MG-2 */
};

struct tm_vp_group {
  struct tm_team_barrier barrier;
  int home;        /* [const] VP of its blocks' first members; -1: ranks have kernel threads */
  int releases;    /* [last to come] until it goes home; 0 to -2: it does */
  uint32_t points; /* [last to come] of its home's scheduling, when it was last there */
};

struct tm_team_block {
  alignas(
      TM_LINE) char data[TM_SMALL_MAX]; /* of its VP group's last to come, until the top opens */
};

/** What a member has published; what it means depends on the collective. */
struct tm_publication {
  const void *at;
  size_t bytes;
  const void *more;
};

struct tm_team {
  struct tm_team *next; /* [ilock: table] */
  uint64_t context;     /* [const] of the communicator */
  int first;            /* [const] the job's number of its first member */
  int size;             /* [const] members */
  int blocks_count;     /* [const] */
  int vp_group_count;   /* [const] */
  int members;          /* [ilock: table] whose communicator is not freed yet, or not made */
  size_t room;          /* [const] bytes there are of data */
  char *data[2];        /* for all, in turn as slots are */
  struct tm_team_barrier root_barrier; /* of the last of each VP group */
  struct tm_publication *slots[2];     /* by rank */
  struct tm_team_block *blocks;
  int *vp_group_of; /* [const] by block */
  struct tm_vp_group vp_groups[];
};

/** The team of a new communicator of this context and group; each member joins, and leaves.
 * @return NULL: no memory. */
struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group);
/** @return the VP group of a member, by its rank. */
struct tm_vp_group *tm_team_vp_group(struct tm_team *team, int rank);
void tm_team_leave(struct tm_team *team);

/** @return the first member of a block, or the end of the one before. */
static inline int tm_block_first(const struct tm_team *team, int block) {
  return (int)((long)block * team->size / team->blocks_count);
}

/* ---- phases. Inline: after a switch each return from a function is one that the processor has
 * not foreseen, 5 ns or more. */

/** The internal lock of the barrier, which the caller holds, is released. */
static inline void tm_team_barrier_park(struct tm_team_barrier *barrier,
                                        const struct tm_coll *coll) {
  struct tm_rank *rank = coll->comm->owner;
  bool tells = tm_note_wait(rank, coll->comm, coll->call);
  mti_wait_unlock(&barrier->queue, coll->call);
  if (tells) mt_store_relaxed(&rank->call, NULL);
}

/** The same where they spin. */
void tm_team_barrier_spin(struct tm_team_barrier *barrier, const struct tm_coll *coll);
/** All go on, where they are or at home. */
void tm_team_barrier_release(struct tm_team_barrier *barrier, bool at_home);

/** Comes to a barrier. @return true: the caller is the last, and is to open it; else it was opened.
 */
static inline bool tm_arrive(struct tm_team_barrier *barrier, const struct tm_coll *coll) {
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

/** A phase in parts, with something to do between them: if (tm_arrive_in_vp_group()) { of the VP
 * group; if (tm_arrive_at_root()) { of all; tm_release_root() } tm_release_vp_group() }. The caller
 * is then the last. */
static inline bool tm_arrive_in_vp_group(const struct tm_coll *coll) {
  mti_preempt(coll->call);
  coll->comm->phases++;
  return tm_arrive(&coll->comm->vp_group->barrier, coll);
}

static inline bool tm_arrive_at_root(const struct tm_coll *coll) {
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

/* At three openings in turn: who opens has not waited, and stays. */
static inline bool tm_must_go_home(struct tm_vp_group *vp_group) {
  uint32_t points = mti_vp_ticks(vp_group->home);
  if (--vp_group->releases > 0) {
    if (mt_likely(points - vp_group->points < TM_POINTS_AWAY)) return false;
    vp_group->releases = 0;
  }
  if (vp_group->releases == -2) {
    vp_group->releases = TM_RELEASES_AWAY;
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

/** Returns when all have come. */
static inline void tm_next_phase(const struct tm_coll *coll) {
  if (!tm_arrive_in_vp_group(coll)) return;
  if (tm_arrive_at_root(coll)) tm_release_root(coll);
  tm_release_vp_group(coll);
}

/* ---- what is published for the next phase, and read after it */

static inline void tm_publish(const struct tm_coll *coll, const void *at, size_t bytes,
                              const void *more) {
  const struct tm_comm *comm = coll->comm;
  comm->team->slots[(comm->phases + 1) % 2][comm->rank] = (struct tm_publication){at, bytes, more};
}

/** What a rank has published for the last phase. */
static inline const struct tm_publication *tm_published(const struct tm_coll *coll, int rank) {
  return &coll->comm->team->slots[coll->comm->phases % 2][rank];
}

/** The team's data: of the last phase; of the next one, where one member writes. */
static inline char *tm_team_data(const struct tm_coll *coll) {
  return coll->comm->team->data[coll->comm->phases % 2];
}

static inline char *tm_team_data_next(const struct tm_coll *coll) {
  return coll->comm->team->data[(coll->comm->phases + 1) % 2];
}

#endif

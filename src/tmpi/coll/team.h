/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file team.h
 * What the members of an intracommunicator share, for collectives: they meet, and between two
 * meetings each may read what the others have published, and copy straight from and to their
 * buffers.
 *
 * Members are in blocks of neighbours in rank, as many blocks as there are members in one, or
 * fewer. Blocks depend on the number of members alone; so does the order in which elements are
 * combined.
 *
 * Blocks that are at home on the same VP (rank.h) are a crew, whose members share a VP more often
 * than not: the last of a crew to come goes on to meet the last of the other crews, and when these
 * have met wakes its own crew. So a meeting of N members on P VPs is N switches, and what two VPs
 * both touch is touched once for each VP. Its members go home (rank.h) at first, and then every
 * 0.1 ms or so: who is stolen in between stays where it is, since perhaps the home has lost its
 * CPU.
 *
 * Published is what a member writes into its slot before it comes to a meeting, and others read
 * after it. There are two sets of slots, used in turn: who publishes for the next meeting but
 * one has come from the next, to which all came who had read.
 *
 * Guards: that of a gate, held for moments. The last to come has held it since all others waited
 * and none can come again before it opens: then it alone touches the gate. But where members spin
 * first (tmpirun --wait=spin, or a VP for each rank), some of them enter the queue later, or never:
 * who opens counts that under the guard, and who parks has looked at the count under it. Otherwise
 * nobody spins at a gate: who opens that of a crew is of the crew, and cannot run before the others
 * have left the VP.
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
#include "tmpi/match/wait.h"

enum {
  TM_SMALL_MAX = 256,    /* bytes of data that a block has room for, and the team at least */
  TM_SMALL_EACH = 16,    /* bytes the team has room for of each member */
  TM_POINTS_AWAY = 2048, /* a crew goes home after so many scheduling points of its home, */
  TM_OPENINGS_AWAY = 64  /* or when it has been let go so often */
};

/** Where members wait for each other. */
struct tm_gate {
  alignas(TM_LINE) mltp_waitq_t queue; /* [guard: its own] */
  int missing;                         /* [guard] so many have not come yet */
  int members;                         /* [const] */
  bool spins;                          /* [const] who has to wait here spins first */
  uint32_t opened;                     /* [atomic] so often, where they spin: MG-1, MG-2 */
};

struct tm_crew {
  struct tm_gate gate;
  int home;        /* [const] VP of its blocks' first members; -1: ranks have kernel threads */
  int openings;    /* [last to come] until it goes home; 0 to -2: it does */
  uint32_t points; /* [last to come] of its home's scheduling, when it was last there */
};

struct tm_team_block {
  alignas(TM_LINE) char data[TM_SMALL_MAX]; /* of its crew's last to come, until the top opens */
};

/** What a member has published; what it means depends on the collective. */
struct tm_slot {
  const void *at;
  size_t bytes;
  const void *more;
};

struct tm_team {
  struct tm_team *next;     /* [guard: table] */
  uint64_t context;         /* [const] of the communicator */
  int first;                /* [const] the job's number of its first member */
  int size;                 /* [const] members */
  int blocks_count;         /* [const] */
  int crews_count;          /* [const] */
  int members;              /* [guard: table] whose communicator is not freed yet, or not made */
  size_t room;              /* [const] bytes there are of data */
  char *data[2];            /* for all, in turn as slots are */
  struct tm_gate top;       /* of the last of each crew */
  struct tm_slot *slots[2]; /* by rank */
  struct tm_team_block *blocks;
  int *crew_of; /* [const] by block */
  struct tm_crew crews[];
};

/** The team of a new communicator of this context and group; each member joins, and leaves.
 * @return NULL: no memory. */
struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group);
/** @return the crew of a member, by its rank. */
struct tm_crew *tm_team_crew(struct tm_team *team, int rank);
void tm_team_leave(struct tm_team *team);

/** @return the first member of a block, or the end of the one before. */
static inline int tm_block_first(const struct tm_team *team, int block) {
  return (int)((long)block * team->size / team->blocks_count);
}

/* ---- meetings. Inline: after a switch each return from a function is one that the processor has
 * not foreseen, 5 ns or more. */

/** The guard of the gate, which the caller holds, is released. */
static inline void tm_gate_park(struct tm_gate *gate, const struct tm_coll *coll) {
  struct tm_rank *rank = coll->comm->owner;
  bool tells = tm_tell(rank, coll->comm, coll->call);
  mti_wait_unlock(&gate->queue, coll->call);
  if (tells) mt_store_relaxed(&rank->call, NULL);
}

/** The same where they spin. */
void tm_gate_spin(struct tm_gate *gate, const struct tm_coll *coll);
/** All go on, where they are or at home. */
void tm_gate_open(struct tm_gate *gate, bool at_home);

/** Comes to a gate. @return true: the caller is the last, and is to open it; else it was opened. */
static inline bool tm_come(struct tm_gate *gate, const struct tm_coll *coll) {
  mti_lock(&gate->queue.ilock_);
  if (--gate->missing == 0) {
    gate->missing = gate->members;
    mti_unlock(&gate->queue.ilock_);
    return true;
  }
  if (mt_likely(!gate->spins))
    tm_gate_park(gate, coll);
  else
    tm_gate_spin(gate, coll);
  return false;
}

/** A meeting in parts, with something to do between them: if (tm_meet_crew()) { of the crew;
 * if (tm_meet_top()) { of all; tm_open_top() } tm_open_crew() }. The caller is then the last. */
static inline bool tm_meet_crew(const struct tm_coll *coll) {
  mti_preempt(coll->call);
  coll->comm->meetings++;
  return tm_come(&coll->comm->crew->gate, coll);
}

static inline bool tm_meet_top(const struct tm_coll *coll) {
  return tm_come(&coll->comm->team->top, coll);
}

static inline void tm_open(struct tm_gate *gate) {
  if (mt_likely(!gate->spins))
    mti_resume_all(&gate->queue);
  else
    tm_gate_open(gate, false);
}

static inline void tm_open_top(const struct tm_coll *coll) { tm_open(&coll->comm->team->top); }

/* At three openings in turn: who opens has not waited, and stays. */
static inline bool tm_goes_home(struct tm_crew *crew) {
  uint32_t points = mti_vp_ticks(crew->home);
  if (--crew->openings > 0) {
    if (mt_likely(points - crew->points < TM_POINTS_AWAY)) return false;
    crew->openings = 0;
  }
  if (crew->openings == -2) {
    crew->openings = TM_OPENINGS_AWAY;
    crew->points = points;
  }
  return true;
}

static inline void tm_open_crew(const struct tm_coll *coll) {
  struct tm_crew *crew = coll->comm->crew;
  if (mt_unlikely(tm_goes_home(crew)))
    tm_gate_open(&crew->gate, true);
  else
    tm_open(&crew->gate);
}

/** Returns when all have come. */
static inline void tm_meet(const struct tm_coll *coll) {
  if (!tm_meet_crew(coll)) return;
  if (tm_meet_top(coll)) tm_open_top(coll);
  tm_open_crew(coll);
}

/* ---- what is published for the next meeting, and read after it */

static inline void tm_publish(const struct tm_coll *coll, const void *at, size_t bytes,
                              const void *more) {
  const struct tm_comm *comm = coll->comm;
  comm->team->slots[(comm->meetings + 1) % 2][comm->rank] = (struct tm_slot){at, bytes, more};
}

/** What a rank has published for the last meeting. */
static inline const struct tm_slot *tm_published(const struct tm_coll *coll, int rank) {
  return &coll->comm->team->slots[coll->comm->meetings % 2][rank];
}

/** The team's data: of the last meeting; of the next one, where one member writes. */
static inline char *tm_team_data(const struct tm_coll *coll) {
  return coll->comm->team->data[coll->comm->meetings % 2];
}

static inline char *tm_team_data_next(const struct tm_coll *coll) {
  return coll->comm->team->data[(coll->comm->meetings + 1) % 2];
}

#endif

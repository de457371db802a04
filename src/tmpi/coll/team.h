/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file team.h
 * What the members of an intracommunicator share, for collectives: they meet, and between two
 * meetings each may read what the others have published, and copy straight from and to their
 * buffers.
 *
 * Members are in blocks, as many blocks as there are members in one, of neighbours in rank, who
 * share a VP more often than not: the last of a block to come goes on to meet the last of the other
 * blocks, and when these have met wakes its own block. So a meeting of N members on P VPs is N
 * switches, and what two VPs both touch is touched once for each block. Blocks depend on the number
 * of members alone; so does the order in which their elements are combined.
 *
 * Published is what a member writes into its slot before it comes to a meeting, and others read
 * after it. There are two sets of slots, used in turn: who publishes for the next meeting but
 * one has come from the next, to which all came who had read.
 *
 * Guards: that of a gate, held for moments. The last to come has held it since all others waited
 * and none can come again before it opens: then it alone touches the gate.
 *
 * Rejected: trees of messages (a match, a wait and a switch for each edge); one counter for
 * all (two VPs fight for its line at each arrival, 130 ns instead of 20); blocks by the VP members
 * happen to be on (they move, and results would depend on it).
 */
#ifndef TM_COLL_TEAM_H
#define TM_COLL_TEAM_H

#include <mltp/sync.h>
#include <stdalign.h>

#include "tmpi/coll/coll.h"

enum {
  TM_LINE = 64,
  TM_SMALL_MAX = 256 /* bytes of data that a block or the team has room for */
};

/** Where members wait for each other. */
struct tm_gate {
  alignas(TM_LINE) mltp_waitq_t queue; /* [guard: its own] */
  int missing;                         /* [guard] so many have not come yet */
  int members;                         /* [const] */
};

struct tm_team_block {
  struct tm_gate gate;
  alignas(TM_LINE) char data[TM_SMALL_MAX]; /* of the last to come, until the top opens */
};

/** What a member has published; what it means depends on the collective. */
struct tm_slot {
  const void *at;
  size_t bytes;
  const void *more;
};

struct tm_team {
  struct tm_team *next; /* [guard: table] */
  uint64_t context;     /* [const] of the communicator */
  int first;            /* [const] the job's number of its first member */
  int size, shift;      /* [const] members; 2^shift of them are a block */
  int blocks_count;     /* [const] */
  int members;          /* [guard: table] whose communicator is not freed yet, or not made */
  struct tm_gate top;   /* of the last of each block */
  alignas(TM_LINE) char data[2][TM_SMALL_MAX]; /* for all, in turn as slots are */
  struct tm_slot *slots[2];                    /* by rank */
  struct tm_team_block blocks[];
};

/** The team of a new communicator of this context and group; each member joins, and leaves.
 * @return NULL: no memory. */
struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group);
void tm_team_leave(struct tm_team *team);

/** Says something to the others, who may read it after the next meeting. */
void tm_publish(const struct tm_coll *coll, const void *at, size_t bytes, const void *more);

/** Returns when all have come. */
void tm_meet(struct tm_coll *coll);

/** What was published for the last meeting, of a rank; its data of all. */
const struct tm_slot *tm_published(const struct tm_coll *coll, int rank);
char *tm_team_data(const struct tm_coll *coll);
char *tm_team_data_next(const struct tm_coll *coll); /* of the next one: one member writes it */

/** A meeting in parts, with something to do between them: if (tm_meet_block()) { of the block;
 * if (tm_meet_top()) { of all; tm_open_top() } tm_open_block() }. The caller is then the last. */
bool tm_meet_block(struct tm_coll *coll);
bool tm_meet_top(struct tm_coll *coll);
void tm_open_top(struct tm_coll *coll);
void tm_open_block(struct tm_coll *coll);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file team.h
 * What the members of an intracommunicator share for collectives: where they wait for each other,
 * and what they publish. coll/phase.h has the protocol.
 *
 * Members are divided into blocks of neighbours in rank, about as many blocks as a block has
 * members. Blocks depend on the number of members alone, and so does the order in which elements
 * are combined.
 *
 * The blocks that are at home on one VP (rank.h) form a VP group. Its members usually run on that
 * VP.
 *
 * Rejected: blocks by the VP that members happen to run on. Members move, and results would depend
 * on it.
 */
#ifndef TM_OBJECT_TEAM_H
#define TM_OBJECT_TEAM_H

#include <mltp/mltp.h>
#include <stdalign.h>

#include "tmpi/object/group.h"
#include "tmpi/object/hash.h"
#include "tmpi/rank/rank.h"

enum {
  TM_SMALL_MAX = 256, /* bytes of data that a block has room for, and the team at least */
  TM_SMALL_EACH = 16, /* bytes the team has room for of each member */
};

/** Where members wait for each other; coll/phase.h has the protocol. */
struct tm_team_barrier {
  alignas(TM_LINE) mltp_waitq_t queue; /* [ilock: its own] */
  int missing;                         /* [ilock] members that have not arrived yet */
  int members;                         /* [const] */
  bool spins;                          /* [const] waiters spin first */
  /* [atomic] times it was released; counted if `spins`: MG-1, MG-2. In a line of its own: spinners
   * read it, and would take the queue's line from the members that arrive. */
  alignas(TM_LINE) uint32_t epoch;
};

struct tm_vp_group {
  struct tm_team_barrier barrier;
  int home;        /* [const] VP of its blocks' first members; -1: ranks have kernel threads */
  int releases;    /* [last arrival] until the members move home; 0 to -2: they do */
  uint32_t points; /* [last arrival] scheduling points of its home when they moved last */
};

struct tm_team_block {
  /* [last arrival of its VP group] until the root barrier opens */
  alignas(TM_LINE) char data[TM_SMALL_MAX];
};

/** How members use each other's slots in a collective. */
enum tm_exchange {
  TM_EXCHANGE_NONE,
  TM_EXCHANGE_BCAST,
  TM_EXCHANGE_GATHER,
  TM_EXCHANGE_SCATTER,
  TM_EXCHANGE_ALLGATHER,
  TM_EXCHANGE_ALLTOALL,
  TM_EXCHANGE_REDUCE_FEW,
  TM_EXCHANGE_REDUCE_MANY,
  TM_EXCHANGE_REDUCE_PART,
};

/** What a member has published; what it means depends on the exchange. */
struct tm_publication {
  const void *at;
  size_t bytes;
  const void *more;
  int number;   /* of the collective: its tag */
  int exchange; /* of tm_exchange_rooted() */
};

/** What a member of a pair brings to a phase; coll/pair.c has the protocol. The first line holds
 * all of it if the data are few. */
struct tm_pair_side {
  alignas(TM_LINE) uint32_t word;      /* [atomic] the phase its member has come to: PR-1 to PR-3 */
  struct tm_publication slot;          /* [owner] until its member comes; then others read it */
  alignas(16) char data[TM_SMALL_MAX]; /* [owner] likewise */
};

struct tm_pair {
  struct tm_pair_side sides[2][2]; /* two sets, which alternate; by rank */
};

/** An exchange with its root, so that members with different roots differ. root < 0: none, or one
 * of an intercommunicator's. */
static inline int tm_exchange_rooted(enum tm_exchange exchange, int root) {
  return (int)((unsigned)exchange | (unsigned)(root + 1) << 4);
}

/** Number and exchange of what all have brought (a reduction's result, an allgather's parts of one
 * size), written by the last arrival of all. */
struct tm_team_data {
  int number, exchange;
  alignas(16) char bytes[]; /* as aligned as the elements of any predefined type */
};

struct tm_team {
  struct tm_hash_node node; /* [ilock: table] */
  uint64_t context;         /* [const] of the communicator */
  int first;                /* [const] the job's number of its first member */
  int size;                 /* [const] members */
  int blocks_count;         /* [const] */
  int vp_group_count;       /* [const] */
  int members;              /* [ilock: table] whose communicator is not freed yet, or not made */
  size_t room;              /* [const] bytes of each data */
  struct tm_pair *pair; /* [const] where members meet if they are two and spin; NULL: at barriers */
  struct tm_team_data *data[2];        /* for all members; the two alternate, as slots do */
  struct tm_team_barrier root_barrier; /* of the last arrivals of all VP groups */
  struct tm_publication *slots[2];     /* by rank */
  size_t slot_stride;                  /* [const] bytes from a rank's slot to the next one's */
  struct tm_team_block *blocks;
  int *vp_group_of; /* [const] by block */
  struct tm_vp_group vp_groups[];
};

/** @return the slot of a rank in one of the two sets. */
static inline struct tm_publication *tm_team_slot(const struct tm_team *team, int set, int rank) {
  char *slots = (char *)team->slots[set];
  return (struct tm_publication *)(slots + (size_t)rank * team->slot_stride);
}

/** The team of a new communicator of this context and group; each member joins and leaves, or
 * forgoes it. @return NULL: no memory. */
struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group);
/** Instead of joining: the caller has no memory for the communicator, and so will not leave it. The
 * other members' team would otherwise stay. */
void tm_team_forgo(uint64_t context, const struct tm_group *group);
/** @return the VP group of a member, by its rank. */
struct tm_vp_group *tm_team_vp_group(struct tm_team *team, int rank);
void tm_team_leave(struct tm_team *team);

/** @return the first member of a block, or the end of the one before. */
static inline int tm_block_first(const struct tm_team *team, int block) {
  return (int)((long)block * team->size / team->blocks_count);
}

#endif

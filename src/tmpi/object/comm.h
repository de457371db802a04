/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm.h
 * Communicators and groups. A group lists ranks of the job, never changes, and is shared by all of
 * its holders, in all ranks. A communicator is one rank's view: its attributes, error handler and
 * name are its own. All members share the groups and the context: two numbers that no other
 * communicator of the job has, one for messages and the next one for collectives.
 */
#ifndef TM_OBJECT_COMM_H
#define TM_OBJECT_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tmpi/object/group.h"
#include "tmpi/rank/handle.h"
#include "tmpi/rank/rank.h"

enum {
  TM_RECENT = 8,
  TM_CONTEXTS_OF_NODE = 40 /* bits: each node gives out as many contexts of its own */
};

/** Contexts that are given out have neither of these bits. */
#define TM_CONTEXT_SHADOW ((uint64_t)1 << 63) /**< of a nonblocking collective */
#define TM_CONTEXT_LOCAL ((uint64_t)1 << 62)  /**< of a communicator's local one */

/** Which collective it was, and its root. */
struct tm_rooted {
  int number, root;
};

struct tm_vp_group;
struct tm_span;
struct tm_team;
struct tm_topology;
struct tm_errhandler;
struct tm_info;
struct tm_session;

/** The first line is what a collective touches, but for `recent`, which is a line of its own. */
struct tm_comm {
  alignas(TM_LINE) uint32_t magic;
  uint32_t refs;         /* [rank] the handle, requests, and what is made of it */
  uint64_t context;      /* [const] of messages; of collectives: the next number */
  int rank, size;        /* [const] in the local group */
  struct tm_rank *owner; /* [const] whose view it is */
  struct tm_team *team;  /* [const] its members; NULL: one alone, inter, or several nodes */
  union {
    struct tm_vp_group *vp_group; /* [const] the caller's in the team */
    struct tm_span *span;         /* [const] of members on several nodes */
  };
  struct tm_group
      *remote;     /* [const] the group that ranks refer to: the local group but for inter */
  int collectives; /* [rank] started so far: their tags */
  uint8_t phases;  /* [rank] of the team so far, modulo 256 */
  bool inter;      /* [const] an intercommunicator */
  bool freed;      /* [rank] no handle any more */
  bool lasting;    /* [const] MPI_COMM_WORLD or _SELF, which stays: nothing counts in refs */

  alignas(TM_LINE) const char *recent[TM_RECENT]; /* [rank] names of the last collectives, by
                                                     number; for reports */
  struct tm_rooted rooted[TM_RECENT];             /* [rank] those of them that have one */
  struct tm_group *group;                         /* [const] local */
  struct tm_comm *local_comm;    /* [const] of an intercommunicator its own side, of several nodes
                                    the members of this node; NULL: of others */
  struct tm_errhandler *handler; /* [ilock: the owner's mailbox's] */
  struct tm_attributes *attributes; /* [rank] */
  struct tm_topology *topology;     /* [rank] NULL: none */
  struct tm_info *info;             /* [rank] hints; NULL: none */
  struct tm_session *session;       /* [const] that it comes from; NULL: none */
  struct tm_buffer *buffer;       /* [lock:buffers_ilock] of MPI_Comm_attach_buffer(); NULL: none */
  int nonblocking;                /* [rank] collectives started so far: their contexts */
  unsigned checked;               /* [rank] likewise, of both kinds: counted by --check */
  struct tm_comm *next, *prev;    /* [lock:comms_ilock] its owner's others */
  char name[MPI_MAX_OBJECT_NAME]; /* [rank] */
};

enum { TM_COMM_MAGIC = 0xc033 };

/** Makes MPI_COMM_SELF of the calling rank. @return it; NULL: no memory, or MPI has not begun. */
struct tm_comm *tm_comm_make_self(void);

/** @return MPI_COMM_SELF of the calling rank, which its first use makes; NULL: as above. */
static inline struct tm_comm *tm_comm_self(const struct tm_rank *rank) {
  struct tm_comm *self = mt_load_acquire(&rank->self); /* SE-1 acquire: its fields; pairs SE-2 */
  return mt_likely(self != NULL) ? self : tm_comm_make_self();
}

/** @return the communicator of a handle, NULL: no valid one. */
static inline struct tm_comm *tm_comm_in(const struct tm_rank *rank, MPI_Comm handle) {
  if (mt_likely(handle == MPI_COMM_WORLD)) return rank->world;
  if (handle == MPI_COMM_SELF) return tm_comm_self(rank);
  if (!tm_handle_is_address(handle) || (uintptr_t)handle % _Alignof(struct tm_comm) != 0)
    return NULL;
  struct tm_comm *comm = (struct tm_comm *)handle;
  return comm->magic == TM_COMM_MAGIC ? comm : NULL;
}

/** @return whether an intracommunicator's members are on several nodes. */
static inline bool tm_comm_spans(const struct tm_comm *comm) {
  return MLTP_NODES && comm->team == NULL && comm->size > 1 && !comm->inter;
}

/** @return whether a communicator, of one group or of two, has ranks of several nodes. */
bool tm_comm_is_far(const struct tm_comm *comm);

TM_EXPORT struct tm_comm *tm_comm_of(MPI_Comm handle);
MPI_Comm tm_comm_handle(const struct tm_comm *comm);

/** The groups handed over are the communicator's from then on, and are released if there is no
 * memory; NULL remote: the same group. @return NULL: no memory. */
struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *group, struct tm_group *remote);
/** The same in memory of zeroes that stays. @return false: no memory. Then the groups are still the
 * caller's if there is no magic, and otherwise the communicator's, which is to be released. */
bool tm_comm_begin(struct tm_comm *comm, struct tm_rank *owner, uint64_t context,
                   struct tm_group *group, struct tm_group *remote);
/** The same for another rank than the caller's. */
struct tm_comm *tm_comm_new_for(struct tm_rank *owner, uint64_t context, struct tm_group *group,
                                struct tm_group *remote);
/** What every communicator made from another has of it: the error handler, the session. */
void tm_comm_inherit(struct tm_comm *comm, const struct tm_comm *parent);
/** Makes an intercommunicator's own side, with a context that follows from its own; of others it
 * makes nothing. Both sides may have the same: no rank is in both. comm: what tm_comm_new()
 * returned. @return it; NULL: it was NULL, or there is no memory, and it is released. */
struct tm_comm *tm_comm_add_local(struct tm_comm *comm);
void tm_comm_hold(struct tm_comm *comm);
void tm_comm_release(struct tm_comm *comm);

/** @return whether the calling rank has as many communicators as the job allows. */
bool tm_comms_are_full(void);
/** Numbers for a new communicator; one member asks and tells the others. */
uint64_t tm_context_new(void);
/** The same. @return 0: the caller has as many communicators as the job allows. Members that are
 * told 0 make none: all of them fail alike. */
uint64_t tm_context_new_limited(void);

/** A communicator's handler. Threads of the rank may set it while others fail, so the caller gets a
 * reference. */
struct tm_errhandler *tm_comm_handler(const struct tm_comm *comm);
void tm_comm_set_handler(struct tm_comm *comm, struct tm_errhandler *handler);

#endif

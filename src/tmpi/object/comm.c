/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: handles, references, error handlers.
 *
 * Relaxed: only the holder of a reference adds one; contexts need only differ.
 */
#include "tmpi/object/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/span.h"
#include "tmpi/object/team.h"
#include "tmpi/object/topology.h"

struct tm_comm *tm_comm_of(MPI_Comm handle) { return tm_comm_in(tm_rank_self(), handle); }

MPI_Comm tm_comm_handle(const struct tm_comm *comm) {
  const struct tm_rank *rank = tm_rank_self();
  if (comm == rank->world) return MPI_COMM_WORLD;
  if (comm == mt_load_relaxed(&rank->self)) return MPI_COMM_SELF; /* relaxed: compared only */
  return (MPI_Comm)(uintptr_t)comm;
}

uint64_t tm_context_new(void) { return mt_add_relaxed(&tm_job.next_context, 2); }

/* MPI_COMM_SELF counts although it may not have been made. */
bool tm_comms_are_full(void) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->comms_ilock);
  bool made = mt_load_relaxed(&rank->self) != NULL; /* relaxed: only whether it is there */
  bool full = rank->comm_count + !made >= tm_job.comms_max;
  mti_unlock(&rank->comms_ilock);
  return full;
}

uint64_t tm_context_new_limited(void) { return tm_comms_are_full() ? 0 : tm_context_new(); }

/* Among those of its rank, whose threads may all make some. */
static void enlist(struct tm_comm *comm) {
  struct tm_rank *rank = comm->owner;
  mti_lock(&rank->comms_ilock);
  comm->next = rank->comms;
  if (comm->next != NULL) comm->next->prev = comm;
  rank->comms = comm;
  rank->comm_count++;
  mti_unlock(&rank->comms_ilock);
}

static void delist(struct tm_comm *comm) {
  struct tm_rank *rank = comm->owner;
  mti_lock(&rank->comms_ilock);
  *(comm->prev != NULL ? &comm->prev->next : &rank->comms) = comm->next;
  if (comm->next != NULL) comm->next->prev = comm->prev;
  rank->comm_count--;
  mti_unlock(&rank->comms_ilock);
}

/* The ordinary contexts stay below the bit. Nodes share no memory, so their local communicators may
 * have the same context. */
static bool add_span(struct tm_comm *comm) {
  comm->span = tm_span_new(comm->group, comm->rank);
  struct tm_group *local = comm->span != NULL ? tm_group_local(comm->group) : NULL;
  if (local == NULL) return false;
  comm->local_comm = tm_comm_new_for(comm->owner, comm->context | TM_CONTEXT_LOCAL, local, NULL);
  return comm->local_comm != NULL;
}

/* @return whether a communicator of these groups has a team. */
static bool has_team(const struct tm_group *group, const struct tm_group *remote) {
  return remote == NULL && group->size > 1 && !tm_group_spans(group);
}

bool tm_comm_begin(struct tm_comm *comm, struct tm_rank *owner, uint64_t context,
                   struct tm_group *group, struct tm_group *remote) {
  bool meets = has_team(group, remote), spans = remote == NULL && group->size > 1 && !meets;
  if (meets && (comm->team = tm_team_join(context, group)) == NULL) return false;
  comm->magic = TM_COMM_MAGIC;
  comm->refs = 1;
  comm->context = context;
  comm->group = group;
  comm->remote = remote != NULL ? remote : group;
  comm->inter = remote != NULL;
  comm->size = group->size;
  comm->owner = owner;
  comm->rank = tm_group_find(group, comm->owner->number);
  if (comm->team != NULL) comm->vp_group = tm_team_vp_group(comm->team, comm->rank);
  comm->handler = tm_errhandler_fatal();
  enlist(comm);
  return !spans || add_span(comm);
}

struct tm_comm *tm_comm_new_for(struct tm_rank *owner, uint64_t context, struct tm_group *group,
                                struct tm_group *remote) {
  struct tm_comm *comm = aligned_alloc(TM_LINE, sizeof *comm);
  if (comm != NULL) {
    memset(comm, 0, sizeof *comm);
    if (tm_comm_begin(comm, owner, context, group, remote)) return comm;
    if (comm->magic == TM_COMM_MAGIC) {
      tm_comm_release(comm);
      return NULL;
    }
    free(comm);
  }
  if (has_team(group, remote)) tm_team_forgo(context, group);
  if (remote != NULL) tm_group_release(remote);
  tm_group_release(group);
  return NULL;
}

struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *group, struct tm_group *remote) {
  return tm_comm_new_for(tm_rank_self(), context, group, remote);
}

void tm_comm_inherit(struct tm_comm *comm, const struct tm_comm *parent) {
  comm->handler = tm_comm_handler(parent);
  comm->session = parent->session;
  tm_session_hold(comm->session);
}

struct tm_comm *tm_comm_add_local(struct tm_comm *comm) {
  if (comm == NULL || !comm->inter) return comm;
  tm_group_hold(comm->group);
  comm->local_comm =
      tm_comm_new_for(comm->owner, comm->context | TM_CONTEXT_LOCAL, comm->group, NULL);
  if (comm->local_comm != NULL) return comm;
  tm_comm_release(comm);
  return NULL;
}

bool tm_comm_is_far(const struct tm_comm *comm) {
  if (!MLTP_NODES || tm_job.local == tm_job.first_size) return false;
  if (!comm->inter) return tm_comm_spans(comm);
  return tm_group_spans(comm->group) || tm_group_spans(comm->remote) ||
         tm_rank_node(comm->group->ranks[0]) != tm_rank_node(comm->remote->ranks[0]);
}

void tm_comm_hold(struct tm_comm *comm) {
  if (!comm->lasting) mt_add_relaxed(&comm->refs, 1);
}

void tm_comm_release(struct tm_comm *comm) {
  if (comm->lasting) return;
  /* CM-1 acq_rel: all uses are over; pairs CM-1 */
  if (mt_add_acq_rel(&comm->refs, (uint32_t)-1) != 1) return;
  delist(comm);
  if (comm->team != NULL)
    tm_team_leave(comm->team);
  else
    free(comm->span);
  if (comm->inter) tm_group_release(comm->remote);
  tm_group_release(comm->group);
  if (comm->local_comm != NULL) tm_comm_release(comm->local_comm);
  tm_errhandler_release(comm->handler);
  tm_topology_free(comm->topology);
  tm_info_free(comm->info);
  tm_session_release(comm->session);
  comm->magic = 0;
  free(comm);
}

struct tm_errhandler *tm_comm_handler(const struct tm_comm *comm) {
  return tm_errhandler_get(&comm->owner->box.ilock, &comm->handler);
}

void tm_comm_set_handler(struct tm_comm *comm, struct tm_errhandler *handler) {
  tm_errhandler_set(&comm->owner->box.ilock, &comm->handler, handler);
}

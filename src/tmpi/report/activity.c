/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of what ranks change. Pointers are followed by mti_peek(), and what they lead to
 * counts if its magic number is there.
 *
 * Relaxed: a snapshot.
 */
#include "tmpi/report/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "tmpi/layout/type.h"
#include "tmpi/report/location.h"

enum { COMMS_MAX = 100000 /* a list that is changed while it is read may have no end */ };

static bool peek_comm(struct tm_comm *copy, const struct tm_comm *comm) {
  return comm != NULL && mti_peek(copy, comm, sizeof *copy) && copy->magic == TM_COMM_MAGIC;
}

/* The job's number of a rank of a group. */
static int number_in(const struct tm_group *group, int rank) {
  int number = -1;
  return rank >= 0 && mti_peek(&number, &group->ranks[rank], sizeof number) ? number : -1;
}

static void read_comm(struct tm_wanted *what, const struct tm_comm *comm, uint64_t context) {
  struct tm_comm copy;
  if (!peek_comm(&copy, comm)) return;
  what->has_comm = true;
  what->context = copy.context;
  what->inner = context != copy.context;
  what->number = number_in(copy.remote, what->peer);
  memcpy(what->comm, copy.name, sizeof what->comm);
  what->comm[sizeof what->comm - 1] = '\0';
}

static void read_request(struct tm_wanted *what, const struct tm_request *request) {
  struct tm_request copy;
  size_t size = 0;
  if (request == NULL || !mti_peek(&copy, request, sizeof copy) || copy.magic != TM_REQUEST_MAGIC)
    return;
  what->known = true;
  what->kind = copy.kind;
  what->peer = copy.peer;
  what->number = -1;
  what->tag = copy.envelope.tag;
  what->has_bytes = copy.type != NULL && mti_peek(&size, &copy.type->size, sizeof size);
  what->bytes = copy.count * size;
  read_comm(what, copy.comm, copy.envelope.context);
}

/* A collective whose members meet: there is no request. */
static void read_meeting(struct tm_wanted *what, const struct tm_comm *comm) {
  struct tm_comm copy;
  if (!peek_comm(&copy, comm)) return;
  what->known = true;
  what->number = what->peer = -1;
  read_comm(what, comm, 0);
  what->inner = true;
}

void tm_activity_read(struct tm_activity *activity, int number) {
  const struct tm_rank *rank = &tm_job.ranks[number];
  memset(activity, 0, sizeof *activity);
  activity->call = mt_load_relaxed(&rank->call);
  activity->state = mt_load_relaxed(&rank->ended) ? TM_ENDED
                    : activity->call == NULL      ? TM_OUTSIDE
                                                  : TM_WAITS;
  if (activity->state == TM_OUTSIDE)
    mti_blocks_in(activity->blocks_in, sizeof activity->blocks_in, mt_load_relaxed(&rank->thread));
  if (activity->state == TM_WAITS) {
    const void *waits_for = mt_load_relaxed(&rank->waits_for);
    activity->frame = mt_load_relaxed(&rank->frame);
    activity->site = tm_location_call_site(activity->frame);
    read_request(&activity->what, waits_for);
    read_meeting(&activity->what, waits_for);
    tm_activity_read_window(&activity->what, waits_for);
  }
  mti_peek(&activity->unstarted, &rank->unstarted, sizeof activity->unstarted);
}

/* @return a copy of a rank's communicator of that context. */
static bool find(struct tm_comm *copy, int number, uint64_t context) {
  const struct tm_comm *comm = NULL;
  /* a pointer is what is read: NOLINTNEXTLINE(bugprone-sizeof-expression) */
  mti_peek(&comm, &tm_job.ranks[number].comms, sizeof comm);
  for (int i = 0; i < COMMS_MAX && peek_comm(copy, comm); i++) {
    if (copy->context == context) return true;
    comm = copy->next;
  }
  return false;
}

struct tm_member tm_activity_member(int number, uint64_t context) {
  struct tm_comm comm;
  struct tm_member member = {.found = find(&comm, number, context)};
  if (!member.found) return member;
  member.collectives = comm.collectives;
  memcpy(member.recent, comm.recent, sizeof member.recent);
  if (!comm.inter) memcpy(member.rooted, comm.rooted, sizeof member.rooted);
  return member;
}

/* Appends the group's numbers. */
static int append(int *ranks, int count, const struct tm_group *group, int size) {
  return mti_peek(ranks + count, group->ranks, (size_t)size * sizeof *ranks) ? count + size : count;
}

int tm_activity_members(int number, uint64_t context, int **ranks) {
  struct tm_comm comm;
  int remote = 0;
  *ranks = NULL;
  if (!find(&comm, number, context)) return 0;
  if (comm.inter && !mti_peek(&remote, &comm.remote->size, sizeof remote)) return 0;
  if (remote < 0 || remote > tm_job.size || comm.size < 0 || comm.size > tm_job.size) return 0;
  *ranks = calloc((size_t)(comm.size + remote) + 1, sizeof **ranks);
  if (*ranks == NULL) return 0;
  int count = append(*ranks, 0, comm.group, comm.size);
  return comm.inter ? append(*ranks, count, comm.remote, remote) : count;
}

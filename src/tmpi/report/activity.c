/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of what ranks change. Pointers are followed by mti_peek(), and what they lead to
 * counts if its magic number is there.
 *
 * Relaxed: a snapshot.
 */
#include "tmpi/report/activity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "tmpi/layout/type.h"
#include "tmpi/report/location.h"

enum {
  COMMS_MAX = 100000,     /* a list that is changed while it is read may have no end */
  REQUESTS_MAX = 1000000, /* likewise */
  MEMBERS_SHOWN = 4,
  LOCATED_MAX = 8 /* ranks outside of MPI whose location is looked for, without --full */
};

static bool peek_comm(struct tm_comm *copy, const struct tm_comm *comm) {
  return comm != NULL && mti_peek(copy, comm, sizeof *copy) && copy->magic == TM_COMM_MAGIC;
}

/* The job's number of a rank of a group. */
static int number_in(const struct tm_group *group, int rank) {
  int number = -1;
  return rank >= 0 && mti_peek(&number, &group->ranks[rank], sizeof number) ? number : -1;
}

/* Writes the name of a communicator. One without is reported by its size and first members. */
static void name_comm(char name[MPI_MAX_OBJECT_NAME], const struct tm_comm *comm) {
  memcpy(name, comm->name, MPI_MAX_OBJECT_NAME);
  name[MPI_MAX_OBJECT_NAME - 1] = '\0';
  if (name[0] != '\0' || comm->inter) return;
  size_t used = (size_t)snprintf(name, MPI_MAX_OBJECT_NAME, "a communicator of %d rank%s (",
                                 comm->size, comm->size == 1 ? "" : "s");
  for (int i = 0; i < comm->size && i < MEMBERS_SHOWN; i++)
    used += (size_t)snprintf(name + used, MPI_MAX_OBJECT_NAME - used, "%s%d", i > 0 ? ", " : "",
                             number_in(comm->group, i));
  snprintf(name + used, MPI_MAX_OBJECT_NAME - used, comm->size > MEMBERS_SHOWN ? ", ...)" : ")");
}

static void read_comm(struct tm_wanted *what, const struct tm_comm *comm, uint64_t context) {
  struct tm_comm copy;
  if (!peek_comm(&copy, comm)) return;
  what->has_comm = true;
  what->context = copy.context;
  what->inner = context != copy.context;
  what->number = number_in(copy.remote, what->peer);
  name_comm(what->comm, &copy);
}

static bool peek_request(struct tm_request *copy, const struct tm_request *request) {
  return request != NULL && mti_peek(copy, request, sizeof *copy) &&
         copy->magic == TM_REQUEST_MAGIC;
}

/* Of the requests that a thread waits for: the first one that is missing now, in the place of the
 * one that was when the wait began. */
static void choose_missing(struct tm_wanted *what, struct tm_request *request) {
  struct tm_waiter waiter;
  if (request->parks || request->waiter == NULL ||
      !mti_peek(&waiter, request->waiter, sizeof waiter))
    return;
  what->requests += waiter.before;
  for (int i = 0; i < waiter.count && i < REQUESTS_MAX; i++) {
    const struct tm_request *one = NULL;
    struct tm_request copy;
    /* a pointer is what is read: NOLINTNEXTLINE(bugprone-sizeof-expression) */
    if (!mti_peek(&one, &waiter.of[i], sizeof one) || !peek_request(&copy, one)) continue;
    what->requests++;
    if (copy.done) continue;
    if (what->missing++ == 0) *request = copy;
  }
}

static void read_request(struct tm_wanted *what, const struct tm_request *request) {
  struct tm_request copy;
  size_t size = 0;
  if (!peek_request(&copy, request)) return;
  choose_missing(what, &copy);
  what->known = true;
  what->kind = copy.kind;
  what->peer = copy.peer;
  what->number = -1;
  what->tag = copy.entry.envelope.tag;
  what->has_bytes = copy.type != NULL && mti_peek(&size, &copy.type->size, sizeof size);
  what->bytes = copy.count * size;
  read_comm(what, copy.comm, copy.entry.envelope.context);
}

/* A collective whose members meet: there is no request. */
static void read_phase(struct tm_wanted *what, const struct tm_comm *comm) {
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
  activity->state = TM_ELSEWHERE;
  if (!tm_rank_is_here(number)) {
    tm_gathered_read(activity, number);
    return;
  }
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
    read_phase(&activity->what, waits_for);
    tm_activity_read_window(&activity->what, waits_for);
  }
  activity->unstarted = tm_unstarted_of(mt_load_relaxed(&rank->unstarted));
}

void tm_activity_locate(struct tm_activity *activity, int number) {
  if (activity->state != TM_OUTSIDE || !tm_rank_is_here(number)) return;
  activity->site = tm_location_find(mt_load_relaxed(&tm_job.ranks[number].thread), activity->callee,
                                    sizeof activity->callee);
}

/* Ranks outside of MPI are mostly few: the others wait for them. */
void tm_activity_read_all(struct tm_activity *activity) {
  int most = tm_job.full_reports ? INT_MAX : LOCATED_MAX;
  for (int i = 0; i < tm_job.size; i++) tm_activity_read(&activity[i], i);
  for (int i = 0, located = 0; i < tm_job.size && located < most; i++)
    if (activity[i].state == TM_OUTSIDE) {
      tm_activity_locate(&activity[i], i);
      located++;
    }
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

int tm_activity_source(char name[MPI_MAX_OBJECT_NAME], int number, uint64_t context, int source) {
  struct tm_comm comm;
  if (!find(&comm, number, context)) return -1;
  name_comm(name, &comm);
  return number_in(comm.remote, source);
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

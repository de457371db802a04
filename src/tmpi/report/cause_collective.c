/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be wrong with a collective that ranks wait in: some have not called it, or called
 * another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/report/cause.h"
#include "tmpi/report/text.h"

static bool in_collective(const struct tm_activity *activity, uint64_t context) {
  return activity->state == TM_WAITS && activity->what.inner && activity->what.context == context;
}

/* The call with a number, if it is not too long ago. */
static const char *call_of(const struct tm_member *member, int number) {
  bool kept =
      member->found && member->collectives >= number && member->collectives - number < TM_RECENT;
  return kept ? member->recent[number % TM_RECENT] : NULL;
}

/* A communicator where ranks wait in collectives: the earliest one. */
struct phase {
  const struct tm_activity *activity; /* of all ranks */
  int *ranks, count;                  /* members */
  struct tm_member *members;
  int number;       /* of the collective */
  const char *call; /* what the waiters have called */
  const char *comm;
};

/* @return false: nobody is missing. */
static bool report_missing(const struct phase *m, bool *set) {
  char who[TM_RANKS_TEXT], text[400];
  int missing = 0, waiting = 0, ended = 0;
  for (int i = 0; i < m->count; i++) {
    set[m->ranks[i]] = !m->members[i].found || m->members[i].collectives < m->number;
    if (!set[m->ranks[i]]) continue;
    missing++;
    waiting += m->activity[m->ranks[i]].state == TM_WAITS;
    ended += m->activity[m->ranks[i]].state == TM_ENDED;
  }
  /* a waiter has not come to the end, for a reason of its own */
  if (missing == 0) return false;
  if (waiting == missing && strcmp(m->call, "MPI_Finalize") == 0) return true;
  bool many = tm_text_ranks(who, set, tm_job.size) > 1;
  const char *end = ended == 0         ? ""
                    : ended == missing ? (many ? ", and have ended" : ", and has ended")
                                       : ", and some have ended";
  snprintf(text, sizeof text, "%s %s not called %s on %s%s", who, many ? "have" : "has", m->call,
           tm_text_comm(m->comm), end);
  tm_cause_print(text);
  return true;
}

/* The root it had named there; -1: it has none. */
static int root_of(const struct tm_member *member, int number) {
  const struct tm_rooted *rooted = &member->rooted[number % TM_RECENT];
  return rooted->number == number ? rooted->root : -1;
}

static bool same_call(const struct tm_member *one, const struct tm_member *other, int number) {
  const char *call = call_of(one, number), *others = call_of(other, number);
  return call != NULL && others != NULL && strcmp(call, others) == 0 &&
         root_of(one, number) == root_of(other, number);
}

/* The members that have called the same as one. */
static void who_called(const struct phase *m, int number, const struct tm_member *one, bool *set,
                       char who[TM_RANKS_TEXT]) {
  memset(set, 0, (unsigned)tm_job.size * sizeof *set);
  for (int i = 0; i < m->count; i++) set[m->ranks[i]] = same_call(&m->members[i], one, number);
  tm_text_ranks(who, set, tm_job.size);
}

/* Two members whose collectives of a number are not the same. @return false: all are. */
static bool differ(const struct phase *m, int number, const struct tm_member **one,
                   const struct tm_member **other) {
  *one = NULL;
  for (int i = 0; i < m->count; i++) {
    *other = &m->members[i];
    if (call_of(*other, number) == NULL) continue;
    if (*one == NULL) *one = *other;
    if (!same_call(*one, *other, number)) return true;
  }
  return false;
}

/* Finds the first remembered call that differed. @return false: none did. */
static bool report_other_call(const struct phase *m, bool *set) {
  char who[TM_RANKS_TEXT], others[TM_RANKS_TEXT], text[600];
  const struct tm_member *one, *other;
  int number = m->number < TM_RECENT ? 1 : m->number - TM_RECENT + 1;
  while (number <= m->number && !differ(m, number, &one, &other)) number++;
  if (number > m->number) return false;
  who_called(m, number, one, set, who);
  who_called(m, number, other, set, others);
  const char *call = call_of(one, number), *others_call = call_of(other, number);
  const char *comm = tm_text_comm(m->comm);
  if (strcmp(call, others_call) != 0)
    snprintf(text, sizeof text,
             "%s called %s on %s where %s called %s (all ranks must call the same collectives in "
             "the same order)",
             who, call, comm, others, others_call);
  else
    snprintf(text, sizeof text,
             "%s called %s on %s with root %d where %s called it with root %d (all ranks must name "
             "the same root)",
             who, call, comm, root_of(one, number), others, root_of(other, number));
  tm_cause_print(text);
  return true;
}

/* Nobody is missing: so the arguments do not fit. */
static void report_no_cause(const struct phase *m) {
  char text[400];
  snprintf(text, sizeof text,
           "all ranks have called %s on %s: roots, counts or types may differ (tmpirun --check "
           "compares them)",
           m->call, tm_text_comm(m->comm));
  tm_cause_print(text);
}

/* rank: one that waits in a collective. */
static void look_at_collective(const struct tm_activity *activity, int rank, bool still) {
  struct phase m = {.activity = activity, .comm = activity[rank].what.comm};
  uint64_t context = activity[rank].what.context;
  m.count = tm_activity_members(rank, context, &m.ranks);
  m.members = calloc((size_t)m.count + 1, sizeof *m.members);
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  if (m.members != NULL && set != NULL) {
    for (int i = 0; i < m.count; i++) {
      m.members[i] = tm_activity_member(m.ranks[i], context);
      if (!in_collective(&activity[m.ranks[i]], context)) continue;
      if (m.call != NULL && m.members[i].collectives >= m.number) continue;
      m.number = m.members[i].collectives;
      m.call = activity[m.ranks[i]].call;
    }
    if (m.call != NULL) {
      bool missing = report_missing(&m, set);
      if (!report_other_call(&m, set) && !missing && still) report_no_cause(&m);
    }
  }
  free(set);
  free(m.members);
  free(m.ranks);
}

void tm_cause_collectives(const struct tm_activity *activity, bool still) {
  uint64_t seen[TM_CAUSES_MAX];
  int count = 0;
  for (int i = 0; i < tm_job.size && count < TM_CAUSES_MAX; i++) {
    if (activity[i].state != TM_WAITS || !activity[i].what.inner) continue;
    bool known = false;
    for (int s = 0; s < count && !known; s++) known = seen[s] == activity[i].what.context;
    if (known) continue;
    seen[count++] = activity[i].what.context;
    look_at_collective(activity, i, still);
  }
}

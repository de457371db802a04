/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be wrong, from who waits for whom: a collective that some have not called, or where some
 * have called another; messages whose tags or communicators differ; ranks that wait in a circle.
 * A rank that waits for what cannot come is told of, not those that wait for it in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/rank/doing.h"
#include "tmpi/rank/report.h"
#include "tmpi/rank/words.h"

enum { CAUSES_MAX = 8 };

static void say(const char *text) { fprintf(stderr, "tmpi: why: %s\n", text); }

/* ---- collectives */

static bool in_collective(const struct tm_doing *doing, uint64_t context) {
  return doing->state == TM_WAITS && doing->what.inner && doing->what.context == context;
}

/* The call with a number, if it is not too long ago. */
static const char *call_of(const struct tm_member *member, int number) {
  bool kept =
      member->found && member->collectives >= number && member->collectives - number < TM_RECENT;
  return kept ? member->recent[number % TM_RECENT] : NULL;
}

/* A communicator where ranks wait in collectives: the earliest one. */
struct meeting {
  const struct tm_doing *doing; /* of all ranks */
  int *ranks, count;            /* members */
  struct tm_member *members;
  int number;       /* of the collective */
  const char *call; /* what those who wait have called */
  const char *comm;
};

/* @return false: nobody is missing. */
static bool tell_missing(const struct meeting *m, bool *set) {
  char who[TM_RANKS_TEXT], text[400];
  int missing = 0, waiting = 0, ended = 0;
  for (int i = 0; i < m->count; i++) {
    set[m->ranks[i]] = !m->members[i].found || m->members[i].collectives < m->number;
    if (!set[m->ranks[i]]) continue;
    missing++;
    waiting += m->doing[m->ranks[i]].state == TM_WAITS;
    ended += m->doing[m->ranks[i]].state == TM_ENDED;
  }
  /* who waits has not come to the end, for a reason of its own */
  if (missing == 0) return false;
  if (waiting == missing && strcmp(m->call, "MPI_Finalize") == 0) return true;
  bool many = tm_words_ranks(who, set, tm_job.size) > 1;
  const char *end = ended == 0         ? ""
                    : ended == missing ? (many ? ", and have ended" : ", and has ended")
                                       : ", and some have ended";
  snprintf(text, sizeof text, "%s %s not called %s on %s%s", who, many ? "have" : "has", m->call,
           tm_words_comm(m->comm), end);
  say(text);
  return true;
}

/* The members whose collective of that number was this one. */
static void who_called(const struct meeting *m, int number, const char *what, bool *set,
                       char who[TM_RANKS_TEXT]) {
  memset(set, 0, (unsigned)tm_job.size * sizeof *set);
  for (int i = 0; i < m->count; i++) {
    const char *call = call_of(&m->members[i], number);
    set[m->ranks[i]] = call != NULL && strcmp(call, what) == 0;
  }
  tm_words_ranks(who, set, tm_job.size);
}

/* Two different ones of a number. @return false: all are the same. */
static bool differ(const struct meeting *m, int number, const char **one, const char **other) {
  *one = NULL;
  for (int i = 0; i < m->count; i++) {
    *other = call_of(&m->members[i], number);
    if (*other == NULL) continue;
    if (*one == NULL) *one = *other;
    if (strcmp(*one, *other) != 0) return true;
  }
  return false;
}

/* The first time that they differed, of those that are remembered. @return false: never. */
static bool tell_other_call(const struct meeting *m, bool *set) {
  char who[TM_RANKS_TEXT], others[TM_RANKS_TEXT], text[600];
  const char *one, *other;
  int number = m->number < TM_RECENT ? 1 : m->number - TM_RECENT + 1;
  while (number <= m->number && !differ(m, number, &one, &other)) number++;
  if (number > m->number) return false;
  who_called(m, number, one, set, who);
  who_called(m, number, other, set, others);
  snprintf(text, sizeof text,
           "%s called %s on %s where %s called %s (all ranks must call the same collectives in the "
           "same order)",
           who, one, tm_words_comm(m->comm), others, other);
  say(text);
  return true;
}

/* Nobody is missing: so the arguments do not fit. */
static void tell_nothing_else(const struct meeting *m) {
  char text[400];
  snprintf(text, sizeof text,
           "all ranks have called %s on %s: roots, counts or types may differ (tmpirun --check "
           "compares them)",
           m->call, tm_words_comm(m->comm));
  say(text);
}

/* rank: one that waits in a collective. */
static void look_at_collective(const struct tm_doing *doing, int rank, bool still) {
  struct meeting m = {.doing = doing, .comm = doing[rank].what.comm};
  uint64_t context = doing[rank].what.context;
  m.count = tm_doing_members(rank, context, &m.ranks);
  m.members = calloc((size_t)m.count + 1, sizeof *m.members);
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  if (m.members != NULL && set != NULL) {
    for (int i = 0; i < m.count; i++) {
      m.members[i] = tm_doing_member(m.ranks[i], context);
      if (!in_collective(&doing[m.ranks[i]], context)) continue;
      if (m.call != NULL && m.members[i].collectives >= m.number) continue;
      m.number = m.members[i].collectives;
      m.call = doing[m.ranks[i]].call;
    }
    if (m.call != NULL) {
      bool missing = tell_missing(&m, set);
      if (!tell_other_call(&m, set) && !missing && still) tell_nothing_else(&m);
    }
  }
  free(set);
  free(m.members);
  free(m.ranks);
}

/* Each communicator once. */
static void look_at_collectives(const struct tm_doing *doing, bool still) {
  uint64_t seen[CAUSES_MAX];
  int count = 0;
  for (int i = 0; i < tm_job.size && count < CAUSES_MAX; i++) {
    if (doing[i].state != TM_WAITS || !doing[i].what.inner) continue;
    bool known = false;
    for (int s = 0; s < count && !known; s++) known = seen[s] == doing[i].what.context;
    if (known) continue;
    seen[count++] = doing[i].what.context;
    look_at_collective(doing, i, still);
  }
}

/* ---- messages */

/* The rank whose message one waits for; -1: none, or any. */
static int waits_for(const struct tm_doing *doing) {
  const struct tm_wanted *what = &doing->what;
  bool message = doing->state == TM_WAITS && what->known && !what->inner &&
                 (what->kind == TM_SEND || what->kind == TM_RECV);
  return message && what->number < tm_job.size ? what->number : -1;
}

/* A send and a receive that do not fit. @return false: nothing to be said. */
static bool tell_mismatch(const struct tm_doing *doing, int sender, int receiver) {
  const struct tm_wanted *send = &doing[sender].what, *recv = &doing[receiver].what;
  char text[500];
  if (send->kind != TM_SEND || recv->kind != TM_RECV) return false;
  if (send->context != recv->context)
    snprintf(text, sizeof text, "rank %d sends to rank %d on %s, which receives from it on %s",
             sender, receiver, tm_words_comm(send->comm), tm_words_comm(recv->comm));
  else
    snprintf(text, sizeof text,
             "rank %d sends to rank %d with tag %d, which receives from it with tag %d", sender,
             receiver, send->tag, recv->tag);
  say(text);
  return true;
}

static void tell_circle(const struct tm_doing *doing, int first) {
  char text[500];
  size_t used = (size_t)snprintf(text, sizeof text, "ranks %d", first);
  int sends = 0, length = 0, at = first;
  do {
    sends += doing[at].what.kind == TM_SEND;
    length++;
    at = waits_for(&doing[at]);
    if (length <= CAUSES_MAX) used += (size_t)sprintf(text + used, " -> %d", at);
  } while (at != first);
  if (length > CAUSES_MAX) used += (size_t)sprintf(text + used, " -> ... (%d ranks)", length);
  snprintf(text + used, sizeof text - used, " wait for each other in a circle: %s",
           sends == length ? "all send first, and none receives (MPI_Sendrecv, or MPI_Irecv before)"
           : sends == 0    ? "all receive first, and none sends"
                           : "each for a message that comes later");
  say(text);
}

/* Follows who waits for whom; mark: the walk that came by first. */
static void look_at_messages(const struct tm_doing *doing) {
  int *mark = calloc((unsigned)tm_job.size, sizeof *mark);
  int told = 0, left_out = 0;
  for (int i = 0; mark != NULL && i < tm_job.size; i++) {
    int at = i;
    while (at >= 0 && mark[at] == 0) {
      mark[at] = i + 1;
      at = waits_for(&doing[at]);
    }
    if (at < 0 || mark[at] != i + 1) continue; /* no circle, or one that is known */
    int next = waits_for(&doing[at]);
    if (told == CAUSES_MAX)
      left_out++;
    else if (waits_for(&doing[next]) != at ||
             !(tell_mismatch(doing, at, next) || tell_mismatch(doing, next, at)))
      tell_circle(doing, at);
    if (told < CAUSES_MAX) told++;
  }
  if (left_out > 0) fprintf(stderr, "tmpi: why: and %d circles more\n", left_out);
  free(mark);
}

/* Has nothing to send or receive any more. */
static bool is_over(const struct tm_doing *doing) {
  return doing->state == TM_ENDED ||
         (doing->state == TM_WAITS && strcmp(doing->call, "MPI_Finalize") == 0);
}

/* Ranks that wait for one that will not come. */
static void look_at_ended(const struct tm_doing *doing) {
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  int told = 0;
  for (int i = 0; set != NULL && i < tm_job.size && told < CAUSES_MAX; i++) {
    int peer = waits_for(&doing[i]);
    if (peer < 0 || !is_over(&doing[peer])) continue;
    bool known = false;
    for (int k = 0; k < i && !known; k++) known = waits_for(&doing[k]) == peer;
    if (known) continue;
    char who[TM_RANKS_TEXT], text[300];
    for (int k = 0; k < tm_job.size; k++) set[k] = waits_for(&doing[k]) == peer;
    bool many = tm_words_ranks(who, set, tm_job.size) > 1;
    snprintf(text, sizeof text, "%s %s for rank %d, which %s", who, many ? "wait" : "waits", peer,
             doing[peer].state == TM_ENDED ? "has ended" : "is in MPI_Finalize");
    say(text);
    told++;
  }
  free(set);
}

/* ---- requests */

static bool is_waited_for(const struct tm_doing *doing, int rank) {
  for (int i = 0; i < tm_job.size; i++)
    if (waits_for(&doing[i]) == rank) return true;
  return false;
}

static void look_at_unstarted(const struct tm_doing *doing) {
  int told = 0;
  for (int i = 0; i < tm_job.size && told < CAUSES_MAX; i++) {
    const struct tm_unstarted *what = &doing[i].unstarted;
    if (!what->is || !is_waited_for(doing, i)) continue;
    char text[300];
    snprintf(text, sizeof text,
             "rank %d has waited for a persistent %s rank %d, tag %d, that it has not started "
             "(MPI_Start())",
             i, what->kind == TM_SEND ? "send to" : "receive from", what->peer, what->tag);
    say(text);
    told++;
  }
}

void tm_report_causes(const struct tm_doing *doing, bool still) {
  look_at_unstarted(doing);
  look_at_messages(doing);
  look_at_ended(doing);
  look_at_collectives(doing, still);
}

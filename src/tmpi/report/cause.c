/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be wrong, from the graph of waiters: messages whose tags or communicators differ; ranks
 * that wait in a circle, or for a rank that will not come. A rank that waits for an event that
 * cannot happen is reported; the ranks that wait for this rank are not.
 */
#include "tmpi/report/cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/report/text.h"

void tm_cause_print(const char *text) { fprintf(stderr, "tmpi: why: %s\n", text); }

/* The rank whose message, or act at a window, one waits for; -1: none, or any. */
static int waits_for(const struct tm_activity *activity) {
  const struct tm_wanted *what = &activity->what;
  bool message = activity->state == TM_WAITS && what->known && !what->inner &&
                 (what->has_window || what->kind == TM_SEND || what->kind == TM_RECV);
  return message && what->number < tm_job.size ? what->number : -1;
}

/* A send and a receive that do not fit. @return false: nothing to be said. */
static bool report_mismatch(const struct tm_activity *activity, int sender, int receiver) {
  const struct tm_wanted *send = &activity[sender].what, *recv = &activity[receiver].what;
  char text[500];
  if (send->has_window || recv->has_window) return false;
  if (send->kind != TM_SEND || recv->kind != TM_RECV) return false;
  if (send->context != recv->context)
    snprintf(text, sizeof text, "rank %d sends to rank %d on %s, which receives from it on %s",
             sender, receiver, tm_text_comm(send->comm), tm_text_comm(recv->comm));
  else
    snprintf(text, sizeof text,
             "rank %d sends to rank %d with tag %d, which receives from it with tag %d", sender,
             receiver, send->tag, recv->tag);
  tm_cause_print(text);
  return true;
}

static void report_circle(const struct tm_activity *activity, int first) {
  char text[500];
  size_t used = (size_t)snprintf(text, sizeof text, "ranks %d", first);
  int sends = 0, windows = 0, length = 0, at = first;
  do {
    windows += activity[at].what.has_window;
    sends += !activity[at].what.has_window && activity[at].what.kind == TM_SEND;
    length++;
    at = waits_for(&activity[at]);
    if (length <= TM_CAUSES_MAX) used += (size_t)sprintf(text + used, " -> %d", at);
  } while (at != first);
  if (length > TM_CAUSES_MAX) used += (size_t)sprintf(text + used, " -> ... (%d ranks)", length);
  snprintf(text + used, sizeof text - used, " wait for each other in a circle: %s",
           windows > 0 ? "for locks or epochs of windows (all ranks must lock in one order)"
           : sends == length
               ? "all send first, and none receives (MPI_Sendrecv, or MPI_Irecv before)"
           : sends == 0 ? "all receive first, and none sends"
                        : "each for a message that comes later");
  tm_cause_print(text);
}

static bool is_waiting_for_itself(const struct tm_activity *activity, int rank) {
  return waits_for(&activity[rank]) == rank && !activity[rank].what.has_window;
}

/* Ranks whose messages go to themselves, in one line for all that do the same. */
static void look_at_own_messages(const struct tm_activity *activity, bool sends) {
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  bool any = false;
  for (int i = 0; set != NULL && i < tm_job.size; i++) {
    set[i] = is_waiting_for_itself(activity, i) && (activity[i].what.kind == TM_SEND) == sends;
    any |= set[i];
  }
  if (any) {
    char who[TM_RANKS_TEXT], text[500];
    bool many = tm_text_ranks(who, set, tm_job.size) > 1;
    snprintf(text, sizeof text, "%s %s for a %s of %s own, which %s cannot %s", who,
             many ? "wait each" : "waits", sends ? "receive" : "message", many ? "their" : "its",
             many ? "they" : "it",
             sends ? "post while waiting (MPI_Sendrecv, or MPI_Irecv before)"
                   : "send while waiting (MPI_Sendrecv, or MPI_Isend before)");
    tm_cause_print(text);
  }
  free(set);
}

/* Follows waiters to the ranks they wait for; mark: the walk that came by first. */
static void look_at_messages(const struct tm_activity *activity) {
  int *mark = calloc((unsigned)tm_job.size, sizeof *mark);
  int reported = 0, left_out = 0;
  for (int i = 0; mark != NULL && i < tm_job.size; i++) {
    int at = i;
    while (at >= 0 && mark[at] == 0) {
      mark[at] = i + 1;
      at = waits_for(&activity[at]);
    }
    if (at < 0 || mark[at] != i + 1) continue; /* no circle, or one that is known */
    if (is_waiting_for_itself(activity, at)) continue;
    int next = waits_for(&activity[at]);
    if (reported == TM_CAUSES_MAX)
      left_out++;
    else if (waits_for(&activity[next]) != at ||
             !(report_mismatch(activity, at, next) || report_mismatch(activity, next, at)))
      report_circle(activity, at);
    if (reported < TM_CAUSES_MAX) reported++;
  }
  if (left_out > 0) fprintf(stderr, "tmpi: why: and %d circles more\n", left_out);
  free(mark);
}

bool tm_cause_is_over(const struct tm_activity *activity) {
  return activity->state == TM_ENDED ||
         (activity->state == TM_WAITS && strcmp(activity->call, "MPI_Finalize") == 0);
}

/* Ranks that wait for one that will not come. */
static void look_at_ended(const struct tm_activity *activity) {
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  int reported = 0;
  for (int i = 0; set != NULL && i < tm_job.size && reported < TM_CAUSES_MAX; i++) {
    int peer = waits_for(&activity[i]);
    if (peer < 0 || !tm_cause_is_over(&activity[peer])) continue;
    bool known = false;
    for (int k = 0; k < i && !known; k++) known = waits_for(&activity[k]) == peer;
    if (known) continue;
    char who[TM_RANKS_TEXT], text[300];
    for (int k = 0; k < tm_job.size; k++) set[k] = waits_for(&activity[k]) == peer;
    bool many = tm_text_ranks(who, set, tm_job.size) > 1;
    snprintf(text, sizeof text, "%s %s for rank %d, which %s", who, many ? "wait" : "waits", peer,
             activity[peer].state == TM_ENDED ? "has ended" : "is in MPI_Finalize");
    tm_cause_print(text);
    reported++;
  }
  free(set);
}

/* ---- requests */

static bool is_waited_for(const struct tm_activity *activity, int rank) {
  for (int i = 0; i < tm_job.size; i++)
    if (waits_for(&activity[i]) == rank) return true;
  return false;
}

static void look_at_unstarted(const struct tm_activity *activity) {
  int reported = 0;
  for (int i = 0; i < tm_job.size && reported < TM_CAUSES_MAX; i++) {
    const struct tm_unstarted *what = &activity[i].unstarted;
    if (!what->is || !is_waited_for(activity, i)) continue;
    char text[300];
    snprintf(text, sizeof text,
             "rank %d has waited for a persistent %s rank %d, tag %d, that it has not started "
             "(MPI_Start())",
             i, what->sends ? "send to" : "receive from", what->peer, what->tag);
    tm_cause_print(text);
    reported++;
  }
}

void tm_report_causes(const struct tm_activity *activity, bool still) {
  look_at_unstarted(activity);
  look_at_own_messages(activity, true);
  look_at_own_messages(activity, false);
  look_at_messages(activity);
  bool one_node = tm_job.far == NULL; /* otherwise what some read is not here */
  if (one_node) tm_cause_arrived(activity);
  look_at_ended(activity);
  if (!one_node) return;
  tm_cause_any_source(activity);
  tm_cause_collectives(activity, still);
}

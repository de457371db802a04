/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks do, in words. */
#include "tmpi/report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tmpi/report/activity.h"
#include "tmpi/report/location.h"

int tm_text_ranks(char text[TM_RANKS_TEXT], const bool *set, int size) {
  char list[TM_RANKS_TEXT - 8];
  size_t used = 0, room = sizeof list - 24;
  int count = 0;
  list[0] = '\0';
  for (int i = 0; i < size; i++) {
    if (!set[i]) continue;
    int last = i;
    while (last + 1 < size && set[last + 1]) last++;
    count += last - i + 1;
    const char *before = used == 0 ? "" : ", ";
    if (used < room)
      used += (size_t)(last > i ? sprintf(list + used, "%s%d-%d", before, i, last)
                                : sprintf(list + used, "%s%d", before, i));
    else if (used < sizeof list) {
      strcpy(list + used, ", ...");
      used = sizeof list;
    }
    i = last;
  }
  snprintf(text, TM_RANKS_TEXT, "rank%s %s", count > 1 ? "s" : "", list);
  return count;
}

const char *tm_text_comm(const char *name) { return name[0] != '\0' ? name : "a communicator"; }

static const char *comm_of(const struct tm_wanted *what, int fold) {
  if (fold & TM_FOLD_COMM) return "another communicator each";
  return what->has_comm ? tm_text_comm(what->comm) : "no communicator";
}

static void write_message(char *text, size_t size, const struct tm_activity *activity, int fold) {
  const struct tm_wanted *what = &activity->what;
  char peer[48] = "another rank each", tag[32], bytes[32] = "";
  if (what->peer == MPI_ANY_SOURCE)
    strcpy(peer, "any rank");
  else if (!(fold & TM_FOLD_PEER) && what->number >= 0 && what->number != what->peer)
    snprintf(peer, sizeof peer, "rank %d (%d of all)", what->peer, what->number);
  else if (!(fold & TM_FOLD_PEER))
    snprintf(peer, sizeof peer, "rank %d", what->peer);
  if (what->tag == MPI_ANY_TAG)
    strcpy(tag, "any tag");
  else if (fold & TM_FOLD_TAG)
    strcpy(tag, "another tag each");
  else
    snprintf(tag, sizeof tag, "tag %d", what->tag);
  if (what->has_bytes && fold & TM_FOLD_BYTES)
    strcpy(bytes, " other sizes,");
  else if (what->has_bytes)
    snprintf(bytes, sizeof bytes, " %zu bytes,", what->bytes);
  snprintf(text, size, "in %s: %s %s, %s,%s on %s", activity->call,
           what->kind == TM_SEND ? "no receive was posted by" : "no message has come from", peer,
           tag, bytes, comm_of(what, fold));
  size_t used = strlen(text);
  if (what->requests > 1)
    snprintf(text + used, size - used, " (%d of %d requests missing)", what->missing,
             what->requests);
}

static void write_wait(char *text, size_t size, const struct tm_activity *activity, int fold) {
  const struct tm_wanted *what = &activity->what;
  if (!what->known)
    snprintf(text, size, "in %s", activity->call);
  else if (what->has_window)
    snprintf(text, size, "in %s: %s", activity->call, what->window);
  else if (what->kind == TM_GENERALIZED)
    snprintf(text, size, "in %s: nobody has called MPI_Grequest_complete()", activity->call);
  else if (what->kind == TM_COLLECTIVE)
    snprintf(text, size, "in %s: a nonblocking collective has not ended on %s", activity->call,
             comm_of(what, fold));
  else if (what->kind == TM_PARTITIONED)
    snprintf(text, size, "in %s: a partitioned message has not ended on %s", activity->call,
             comm_of(what, fold));
  else if (what->inner) /* the peers of a collective's messages mean nothing to the program */
    snprintf(text, size, "in %s on %s", activity->call, comm_of(what, fold));
  else
    write_message(text, size, activity, fold);
}

/* A rank that tests again and again is in MPI now and then. */
static void write_outside(char *text, size_t size, const struct tm_activity *activity) {
  if (activity->blocks_in[0] != '\0')
    snprintf(text, size, "outside of MPI, blocked in %s", activity->blocks_in);
  else if (strncmp(activity->callee, "MPI_", 4) == 0)
    snprintf(text, size, "in %s, which does not wait", activity->callee);
  else if (activity->callee[0] != '\0')
    snprintf(text, size, "outside of MPI, in %s", activity->callee);
  else
    snprintf(text, size, "outside of MPI");
}

void tm_text_activity(char text[TM_ACTIVITY_TEXT], const struct tm_activity *activity, int fold) {
  if (activity->state == TM_ENDED)
    strcpy(text, "ended");
  else if (activity->state == TM_ELSEWHERE)
    strcpy(text, "on other nodes");
  else if (activity->state == TM_OUTSIDE)
    write_outside(text, TM_ACTIVITY_TEXT, activity);
  else
    write_wait(text, TM_ACTIVITY_TEXT, activity, fold);
  size_t used = strlen(text);
  if (activity->where != NULL)
    snprintf(text + used, TM_ACTIVITY_TEXT - used, ", at %s", activity->where);
  if (activity->site == NULL) return;
  snprintf(text + used, TM_ACTIVITY_TEXT - used, ", at ");
  used = strlen(text);
  tm_location_name(text + used, TM_ACTIVITY_TEXT - used, activity->site);
}

/* Appends a word to a list. */
static void list(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void list(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list values;
  if (used > 0 && used + 2 < TM_ACTIVITY_TEXT) used += (size_t)sprintf(text + used, ", ");
  va_start(values, format);
  vsnprintf(text + used, TM_ACTIVITY_TEXT - used, format, values);
  va_end(values);
}

void tm_text_folded(char text[TM_ACTIVITY_TEXT], const struct tm_activity *activity, int fold) {
  const struct tm_wanted *what = &activity->what;
  bool message = what->known && !what->inner && !what->has_window &&
                 (what->kind == TM_SEND || what->kind == TM_RECV);
  text[0] = '\0';
  if (activity->state != TM_WAITS) return;
  if (fold & TM_FOLD_PEER && message && what->number >= 0) list(text, "rank %d", what->number);
  if (fold & TM_FOLD_TAG && message && what->tag != MPI_ANY_TAG) list(text, "tag %d", what->tag);
  if (fold & TM_FOLD_BYTES && message && what->has_bytes) list(text, "%zu bytes", what->bytes);
  if (fold & TM_FOLD_COMM && what->has_comm) list(text, "%s", tm_text_comm(what->comm));
}

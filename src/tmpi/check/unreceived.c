/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that no receive has taken when all ranks have ended. */
#include <stdio.h>
#include <string.h>

#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/report/text.h"

enum { LISTED_MAX = 20 /* lines for a job */ };

/* @return whether a context is one that programs send messages on, not collectives. */
static bool is_for_messages(uint64_t context) { return context % 2 == 0 && context >> 32 == 0; }

/* @return the receiver's communicator of a context, NULL: it has freed it. */
static const struct tm_comm *comm_of(const struct tm_rank *rank, uint64_t context) {
  const struct tm_comm *comm = rank->comms;
  while (comm != NULL && comm->context != context) comm = comm->next;
  return comm;
}

static bool is_same(const struct tm_message *a, const struct tm_message *b) {
  const struct tm_envelope *one = tm_message_envelope(a), *other = tm_message_envelope(b);
  return one->context == other->context && one->source == other->source && one->tag == other->tag &&
         a->type == b->type && a->count == b->count;
}

static const struct tm_message *message_of(const struct tm_message_entry *entry) {
  return (const struct tm_message *)entry; /* its first member */
}

static void print(const struct tm_rank *rank, const struct tm_comm *comm,
                  const struct tm_message *message, unsigned count) {
  char what[100];
  if (message->type != NULL)
    tm_describe_data(what, sizeof what, message->count, tm_type_handle(message->type));
  else
    snprintf(what, sizeof what, "%zu bytes", message->bytes);
  tm_finding_print("rank %d: %u message%s never received: %s from rank %d of %s, tag %d",
                   rank->number, count, count > 1 ? "s were" : " was", what,
                   tm_message_envelope(message)->source,
                   tm_text_comm(comm != NULL ? comm->name : ""), tm_message_envelope(message)->tag);
}

/* Equal messages that follow each other are one line. @return how many lines. */
static int print_box(const struct tm_rank *rank, int room) {
  int lines = 0;
  const struct tm_message_entry *entry = rank->box.arrived.earliest;
  while (entry != NULL && lines < room) {
    const struct tm_message *first = message_of(entry);
    const struct tm_comm *comm = comm_of(rank, tm_message_envelope(first)->context);
    unsigned count = 0;
    for (; entry != NULL && is_same(first, message_of(entry)); entry = entry->later) count++;
    if (!is_for_messages(tm_message_envelope(first)->context)) continue;
    print(rank, comm, first, count);
    lines++;
  }
  return lines;
}

void tm_unreceived_finish(void) {
  int lines = 0;
  for (int i = 0; i < tm_job.size && lines < LISTED_MAX; i++)
    if (tm_rank_is_here(i)) lines += print_box(&tm_job.ranks[i], LISTED_MAX - lines);
  if (lines == LISTED_MAX)
    tm_finding_continue("there may be more messages that were never received");
}

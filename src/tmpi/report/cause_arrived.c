/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that have come and that the waiting receive does not take, since the tag, the
 * communicator or the sender differs; and receives from any rank that no rank will serve.
 *
 * The mailboxes are read by mti_peek() and without their internal locks: while ranks still run, an
 * entry may be gone, and its line is left out.
 */
#include <stdio.h>
#include <string.h>

#include "core/internal/process.h"
#include "tmpi/report/cause.h"
#include "tmpi/report/text.h"

enum { ARRIVED_MAX = 10000 /* messages of a mailbox that are looked at */ };

/* Whether a rank waits for a message of a program's own. */
static bool receives(const struct tm_activity *activity) {
  const struct tm_wanted *what = &activity->what;
  return activity->state == TM_WAITS && what->known && !what->inner && !what->has_window &&
         what->kind == TM_RECV;
}

/* What differs between a message and the receive that waits. */
enum misfit { TAG_OR_COMM, SENDER };

/* Prints the line of a message that only differs so from the awaited one. @return false: it is
 * another one, or one of the library. */
static bool print_misfit(const struct tm_activity *activity, int number,
                         const struct tm_envelope *sent, enum misfit misfit) {
  const struct tm_wanted *what = &activity[number].what;
  char comm[MPI_MAX_OBJECT_NAME], text[600], wanted[32];
  int sender = tm_activity_source(comm, number, sent->context, sent->source);
  if (sender < 0 || (what->number >= 0 && sender != what->number) != (misfit == SENDER))
    return false;
  if (misfit == SENDER) {
    if (sent->context != what->context || (what->tag != MPI_ANY_TAG && sent->tag != what->tag))
      return false;
    snprintf(text, sizeof text,
             "rank %d has sent rank %d a message with tag %d on %s, which waits there: rank %d "
             "receives from rank %d",
             sender, number, sent->tag, tm_text_comm(comm), number, what->number);
    tm_cause_print(text);
    return true;
  }
  snprintf(wanted, sizeof wanted, what->tag == MPI_ANY_TAG ? "any tag" : "tag %d", what->tag);
  snprintf(text, sizeof text,
           "rank %d has sent rank %d a message with tag %d on %s, which nobody receives: rank %d "
           "waits for %s on %s",
           sender, number, sent->tag, tm_text_comm(comm), number, wanted, tm_text_comm(what->comm));
  tm_cause_print(text);
  return true;
}

/* Looks at the messages in a rank's mailbox, from the oldest. @return whether one was reported. */
static bool look_into(const struct tm_activity *activity, int number, enum misfit misfit) {
  struct tm_mailbox box;
  struct tm_message message;
  if (!mti_peek(&box, &tm_job.ranks[number].box, sizeof box)) return false;
  if (box.inline_slot.full != 0 &&
      print_misfit(activity, number, &box.inline_slot.envelope, misfit))
    return true;
  const struct tm_message_entry *entry = box.arrived.earliest;
  for (int i = 0; i < ARRIVED_MAX && entry != NULL; i++) {
    if (!mti_peek(&message, entry, sizeof message)) return false;
    if (print_misfit(activity, number, &message.entry.entry.envelope, misfit)) return true;
    entry = message.entry.later;
  }
  return false;
}

void tm_cause_arrived(const struct tm_activity *activity) {
  int reported = 0;
  for (int i = 0; i < tm_job.size && reported < TM_CAUSES_MAX; i++)
    if (receives(&activity[i]) &&
        (look_into(activity, i, TAG_OR_COMM) || look_into(activity, i, SENDER)))
      reported++;
}

void tm_cause_any_source(const struct tm_activity *activity) {
  int reported = 0;
  for (int i = 0; i < tm_job.size && reported < TM_CAUSES_MAX; i++) {
    if (!receives(&activity[i]) || activity[i].what.peer != MPI_ANY_SOURCE) continue;
    int others = 0;
    while (others < tm_job.size && (others == i || tm_cause_is_over(&activity[others]))) others++;
    if (others < tm_job.size) continue;
    char text[200];
    snprintf(text, sizeof text,
             "rank %d waits for a message from any rank, and every other rank has ended or is in "
             "MPI_Finalize: fewer messages were sent than it receives",
             i);
    tm_cause_print(text);
    reported++;
  }
}

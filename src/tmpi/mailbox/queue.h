/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file queue.h
 * What is found by its envelope: receives that were posted, or messages that have come.
 *
 * Each is in a bin, by communicator, source and tag; receives with a wildcard are in one of their
 * own. A message takes the oldest receive it fits: the oldest of its bin or of the wildcards,
 * whichever was posted first. A receive without wildcards looks in one bin; one with looks at all
 * messages in the order they came in. So what is looked for by all three is found at once, however
 * many there are: bins double when there are more than two for each.
 *
 * No atomics: the mailbox's internal lock protects it.
 *
 * Rejected: one list (a thousand receives posted at once by a program with a thousand partners are
 * looked at a million times); a tree by source and then tag (more to go through where there is
 * one).
 */
#ifndef TM_MAILBOX_QUEUE_H
#define TM_MAILBOX_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/** What a message and a receive must agree on. */
struct tm_envelope {
  uint64_t context; /* of the communicator; tm_comm */
  int source;       /* rank in the communicator; of a receive perhaps MPI_ANY_SOURCE */
  int tag;          /* of a receive perhaps MPI_ANY_TAG */
};

/** @return whether a receive that wants that takes the message. */
bool tm_envelope_fits(const struct tm_envelope *message, const struct tm_envelope *wanted);

struct tm_entry {
  struct tm_entry *next, *prev;       /* in its bin */
  struct tm_entry *later, *earlier;   /* of all */
  const struct tm_envelope *envelope; /* whose entry this is keeps it */
  uint64_t order;                     /* grows from entry to entry */
};

struct tm_bin {
  struct tm_entry *first, *last;
};

/** All zero: empty. */
struct tm_queue {
  struct tm_entry *earliest, *latest;
  struct tm_bin few, wild; /* few: the one bin, while bins is NULL */
  struct tm_bin *bins;
  uint32_t bin_count; /* a power of two; 0: the one */
  uint32_t count;
  uint64_t order;
};

void tm_queue_add(struct tm_queue *queue, struct tm_entry *entry);
void tm_queue_remove(struct tm_queue *queue, struct tm_entry *entry);

/** @return the oldest receive a message fits, NULL: none. */
struct tm_entry *tm_queue_find_receive(struct tm_queue *queue, const struct tm_envelope *message);

/** @return the oldest message that fits a receive, NULL: none. */
struct tm_entry *tm_queue_find_message(struct tm_queue *queue, const struct tm_envelope *wanted);

#endif

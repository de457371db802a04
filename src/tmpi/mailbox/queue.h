/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file queue.h
 * What is found by its envelope: receives that were posted, or messages that have come.
 *
 * An envelope has one of four classes, by its wildcards: none, any source, any tag, or both. Each
 * class has bins, by what an envelope of the class names.
 *
 * A receive is in one bin of its own class. A message looks into one bin of each class that has
 * receives, and takes the oldest receive that it fits.
 *
 * A message is in a bin by communicator, source and tag. A receive without wildcards looks into one
 * bin. A receive with wildcards looks at the first few messages in the order they came in. If none
 * of them fits, the queue gets bins of the receive's class, and has them from then on: each message
 * is in one bin of each class that was wanted. So a search looks at entries that fit, however many
 * there are. Bins double when there are more entries than bins: most bins have one entry then,
 * which touches no other's line when it leaves.
 *
 * No atomics: the mailbox's internal lock protects it.
 *
 * Rejected: one list (a thousand receives posted at once by a program with a thousand partners are
 * looked at a million times); a tree by source and then tag (more steps where there is one); bins
 * of all classes from the start (most programs' messages are never searched by a wildcard).
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

/** Copies an envelope that may just have been stored, field by field: one load of several stores
 * waits until they are in the cache. */
static inline void tm_envelope_copy(struct tm_envelope *to, const struct tm_envelope *from) {
  to->context = from->context;
  to->source = from->source;
  to->tag = from->tag;
}

/** @return whether a receive that wants that takes the message. */
bool tm_envelope_fits(const struct tm_envelope *message, const struct tm_envelope *wanted);

enum tm_wild { TM_EXACT, TM_ANY_SOURCE, TM_ANY_TAG, TM_ANY_BOTH, TM_WILDS };

/** In a bin. */
struct tm_link {
  struct tm_entry *next; /* NULL: it is the last */
  struct tm_entry *prev; /* of the first entry: the last one */
};

/** A posted receive. */
struct tm_entry {
  struct tm_link link; /* of the receive's class; of a message, TM_EXACT */
  struct tm_envelope envelope;
  uint64_t order; /* grows from entry to entry */
};

/** A message. */
struct tm_message_entry {
  struct tm_entry entry;                    /* first */
  struct tm_message_entry *later, *earlier; /* of all */
  struct tm_link wild[TM_WILDS - 1]; /* of the other classes, where the queue has their bins */
};

struct tm_bin {
  struct tm_entry *first;
};

/** All zero: empty. */
struct tm_queue {
  struct tm_message_entry *earliest, *latest; /* NULL if the entries are receives */
  struct tm_bin few;                          /* the one bin, while there are no others */
  struct tm_bin *bins[TM_WILDS]; /* by class; receives have all in the first; NULL: none */
  bool wild;                     /* there are bins beside TM_EXACT's */
  uint32_t bin_count;            /* of each class, a power of two; 0: the one */
  uint32_t count;
  uint32_t counts[TM_WILDS]; /* of receives: by class */
  uint64_t order;
  uint64_t looked;           /* entries compared so far, for tests and benchmarks */
  struct tm_bin *recent_bin; /* the last one looked for among TM_EXACT's; NULL: none was */
  struct tm_envelope recent; /* for which envelope: many entries in a row have the same one */
};

void tm_queue_add_receive(struct tm_queue *queue, struct tm_entry *entry);
void tm_queue_remove_receive(struct tm_queue *queue, struct tm_entry *entry);
void tm_queue_add_message(struct tm_queue *queue, struct tm_message_entry *entry);
void tm_queue_remove_message(struct tm_queue *queue, struct tm_message_entry *entry);

/** @return the oldest receive a message fits, NULL: none. */
struct tm_entry *tm_queue_find_receive(struct tm_queue *queue, const struct tm_envelope *message);

/** The same, and removes it. */
struct tm_entry *tm_queue_take_receive(struct tm_queue *queue, const struct tm_envelope *message);

/** @return the oldest message that fits a receive, NULL: none. */
struct tm_message_entry *tm_queue_find_message(struct tm_queue *queue,
                                               const struct tm_envelope *wanted);

/** Frees the bins of an empty queue. */
void tm_queue_free(struct tm_queue *queue);

#endif

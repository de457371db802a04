/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file backoff.h
 * Decides how eager a VP is to take threads of others: one exponential back-off for each VP.
 *
 * Level 0 is eager: the VP steals wherever two threads are ready, and any ready thread wakes it.
 * A search that saw threads come and go, and got none, raises the level to MT_BACKOFF_LONE at most:
 * lone ready threads then wake nobody. A theft whose threads were shorter than their move raises it
 * to MT_BACKOFF_MOST: then no thread wakes the VP, and it leaves VPs alone that proceed. A theft
 * that paid makes it eager again. The watchdog looks at intervals that double with its level, and
 * tries a theft at each look; so threads that become worth stealing are found.
 *
 * docs/design/034 has what this replaced and what was measured.
 */
#ifndef MT_POLICY_BACKOFF_H
#define MT_POLICY_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
  MT_BACKOFF_LONE = 3,      /* levels that searches without gain can cause */
  MT_BACKOFF_MOST = 4,      /* levels that thefts which did not pay can cause */
  MT_SKIPS_UNTIL_FUTILE = 8 /* sights of a skipped thread that is gone at the next look: every
                             * parallel program starts with one or two */
};

/** How often the watchdog looks at level 0 while a VP is awake, ns: a time slice of the kernel's
 * is some times longer, so a VP that has lost its CPU does not wait much longer for it. */
#define MT_WATCH_NS ((uint64_t)1000000)

/** A search has ended. */
struct mt_search_seen {
  uint64_t level; /**< the VP's back-off before it */
  uint64_t skips; /**< threads it left to their VPs, and that were gone at its next look */
};

/** @return whether a search saw work that it could not get: looking again costs more than the work
 * that it could find. */
static inline bool mt_search_was_futile(struct mt_search_seen seen) {
  return seen.skips >= MT_SKIPS_UNTIL_FUTILE;
}

/** @return the back-off after a search that found nothing. */
static inline uint8_t mt_backoff_after_search(struct mt_search_seen seen) {
  if (!mt_search_was_futile(seen) || seen.level >= MT_BACKOFF_LONE) return (uint8_t)seen.level;
  return (uint8_t)(seen.level + 1);
}

/** A VP has run what it stole. */
struct mt_theft_seen {
  uint64_t level;   /**< the thief's back-off before it */
  uint64_t count;   /**< threads that it took */
  uint64_t busy_ns; /**< how long they, and what they created, kept it busy */
  uint64_t move_ns; /**< what moving one thread costs */
};

/** @return whether the threads ran for longer than they took to move. */
static inline bool mt_theft_paid(struct mt_theft_seen seen) {
  return seen.busy_ns >= seen.count * seen.move_ns;
}

/** @return the thief's back-off afterwards. */
static inline uint8_t mt_backoff_after_theft(struct mt_theft_seen seen) {
  if (mt_theft_paid(seen)) return 0;
  return (uint8_t)(seen.level < MT_BACKOFF_MOST ? seen.level + 1 : MT_BACKOFF_MOST);
}

/** @return whether a VP of that level leaves threads of VPs that proceed alone. */
static inline bool mt_backoff_is_reluctant(uint64_t level) { return level >= MT_BACKOFF_MOST; }

/** @return how many ready threads on one VP wake no sleeper of that level. */
static inline uint32_t mt_backoff_wake_threshold(uint64_t level) {
  return mt_backoff_is_reluctant(level) ? UINT32_MAX : level != 0 ? 1 : 0;
}

/** @return how long a watchdog of that level sleeps between two looks at busy VPs, ns. */
static inline uint64_t mt_backoff_watch_ns(uint64_t level) { return MT_WATCH_NS << level; }

#endif

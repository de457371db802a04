/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file steal.h
 * Decides whether a thief takes threads of a victim, and how many.
 */
#ifndef MT_POLICY_STEAL_H
#define MT_POLICY_STEAL_H

#include "policy/backoff.h"

/** Threads of one theft at most: the walk along cold descriptors takes some microseconds. */
enum { MT_STEAL_MOST = 32 };

/** After this multiple of lone_ns without a scheduling point, a reluctant thief takes threads:
 * their VP computes, so they are worth more than their move. */
enum { MT_RELUCTANT_LONES = 8 };

/** A VP has no scheduling point for this time: it is blocked in the kernel or computes for long.
 * A time slice of the kernel's is shorter. */
#define MT_BLOCKED_NS ((uint64_t)4000000)

/** What a thief sees of a victim that has ready threads. */
struct mt_victim_seen {
  uint64_t awake;      /**< 1: neither asleep nor blocked in the kernel */
  uint64_t ready;      /**< threads in its queue; those in its inbox are not counted */
  uint64_t unmoved_ns; /**< since it was first seen at its last scheduling point */
  uint64_t lone_ns;    /**< MT_LONE_NS or MT_RANK_LONE_NS */
  uint64_t level;      /**< the thief's back-off */
  uint64_t try_again;  /**< 1: the thief is the watchdog, which tries now and then */
};

/** @return whether the victim proceeds too slowly to wait for it. */
static inline bool mt_victim_is_stuck(struct mt_victim_seen seen) {
  return seen.unmoved_ns >= seen.lone_ns;
}

/** @return whether the thief leaves the threads to their VP: a lone thread is about to run there,
 * and a reluctant thief expects that moving threads costs more than running them. It waits longer
 * for a scheduling point: a thread that creates some hundred threads passes none meanwhile. */
static inline bool mt_victim_is_skipped(struct mt_victim_seen seen) {
  if (!seen.awake) return false;
  if (mt_backoff_is_reluctant(seen.level) && !seen.try_again)
    return seen.unmoved_ns < MT_RELUCTANT_LONES * seen.lone_ns;
  return seen.ready < 2 && !mt_victim_is_stuck(seen);
}

/** @return how many of a victim's threads a thief gets: half, rounded up, within a bound. */
static inline uint32_t mt_steal_share(uint32_t ready) {
  uint32_t half = (ready + 1) / 2;
  return half < MT_STEAL_MOST ? half : MT_STEAL_MOST;
}

#endif

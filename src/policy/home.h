/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file home.h
 * Decides when a thread returns to its home VP.
 */
#ifndef MT_POLICY_HOME_H
#define MT_POLICY_HOME_H

#include <stdbool.h>
#include <stdint.h>

enum {
  MT_HOME_POINTS = 2048, /* a group goes home after this many scheduling points of its home, some
                          * 0.1 ms: soon after a disturbance, and seldom beside the phases */
  MT_HOME_RELEASES = 64, /* or after this many phases, where the home passes fewer points */
  MT_HOME_PHASES = 3     /* phases of a move: the opener of one has not waited, and stays */
};

/** What a waker sees of the home VP of a thread that ran elsewhere and that it resumes. */
struct mt_home_seen {
  uint64_t awake;     /**< 1: the home VP is neither asleep nor blocked */
  uint64_t points;    /**< scheduling points of the home VP */
  uint64_t points_at; /**< the same when a thread was last sent there */
};

/** @return whether the thread is sent home. A VP that has passed no scheduling point since the last
 * one was sent may have lost its CPU, and gets one thread at most. */
static inline bool mt_goes_home(struct mt_home_seen seen) {
  return seen.awake && seen.points != seen.points_at;
}

/** What the opener of a phase sees of its group. */
struct mt_group_seen {
  int64_t releases; /**< phases until the next move; 0 and less: the move has begun */
  uint64_t points;  /**< scheduling points of the home VP since the last move */
};

/** @return whether the members of the group continue at home after this phase. */
static inline bool mt_group_goes_home(struct mt_group_seen seen) {
  return seen.releases <= 0 || seen.points >= MT_HOME_POINTS;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file state.h
 * The state of deterministic mode, for det.c and for the choices in sched/det_choose.c. One VP uses
 * it, so nothing is locked.
 */
#ifndef MT_CORE_DET_STATE_H
#define MT_CORE_DET_STATE_H

#include "core/det/schedule.h"

struct mt_det_state {
  uint64_t generator; /* state of mt_det_draw() */
  uint64_t step;      /* scheduling points so far */
  uint64_t clock;     /* nanoseconds */
  int64_t seed;
  int32_t lowest; /* priority of the thread that fell last */
  struct mt_schedule schedule;
  uint64_t falls[MT_PCT_DEPTH_MAX]; /* steps at which the highest falls */
};

extern struct mt_det_state mt_det;

/** @return a random number (splitmix64). */
uint64_t mt_det_draw(void);

/** Counts a scheduling point and moves the clock. Reports a livelock at MLTP_STEPS_MAX. */
void mt_det_advance(void);

#endif

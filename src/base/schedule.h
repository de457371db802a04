/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schedule.h
 * Schedules of deterministic runs: read from MLTP_SCHEDULE, written to the file
 * that MLTP_SCHEDULE_LOG names. libmltp and the gate (src/gate) share them.
 *
 * The log has one line for each scheduling point at which there was a choice or
 * the thread changed, its fields parted by tabs: step, choice, number of
 * candidates, the thread that came there (id, name), the call, the thread that
 * runs next (id, name). The steps with a choice other than 0, as STEP:CHOICE, are
 * the schedule that does the same again.
 */
#ifndef MT_BASE_SCHEDULE_H
#define MT_BASE_SCHEDULE_H

#include <stdint.h>

enum { MT_PCT_DEPTH_MAX = 32 };

enum mt_schedule_kind { MT_SCHEDULE_RANDOM, MT_SCHEDULE_PCT, MT_SCHEDULE_LIST };

struct mt_schedule {
  enum mt_schedule_kind kind;
  int depth;         /**< of PCT */
  uint64_t expected; /**< steps PCT expects of a run */
  const char *rest;  /**< of a list: what has not been read yet */
  uint64_t step;     /**< of a list: the next departure, */
  uint32_t choice;   /**< and the choice there; 0: no more */
};

/** Reads "random", "pct:DEPTH:STEPS", "fifo", or "STEP:CHOICE,STEP:CHOICE,...",
 * which must stay where it is. @return 0, or EINVAL after a message. */
int mt_schedule_read(struct mt_schedule *schedule, const char *text);

/** @return the choice of a list at a step; asked for each step in turn. */
uint32_t mt_schedule_next(struct mt_schedule *schedule, uint64_t step);

/** Opens the log; path "none": there is none. @return 0, or EINVAL after a message. */
int mt_schedule_log_open(const char *path);

/** Writes a line of the log, if there is one. */
void mt_schedule_write(uint64_t step, uint32_t choice, uint32_t count, unsigned long from,
                       const char *from_name, const char *call, unsigned long to,
                       const char *to_name);

/** @return the next random number of a generator (splitmix64); any seed is a good one. */
uint64_t mt_schedule_draw(uint64_t *generator);

#endif

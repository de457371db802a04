/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file spin_budget.h
 * Spinning for as long as it may pay: while the awaited thread runs, awake VPs do not exceed
 * CPUs, and the time limit has not passed.
 *
 * Relaxed: these values are only hints.
 */
#ifndef MT_CORE_WAIT_SPIN_BUDGET_H
#define MT_CORE_WAIT_SPIN_BUDGET_H

#include "core/vp/tuned.h"
#include "core/vp/vp.h"

struct mt_spin_budget {
  uint64_t end;
  unsigned looks, per_clock; /* looks between two readings of the clock */
};

/** @return whether a thread waited for may be about to do something; NULL: not known. */
static inline bool mt_spinning_may_pay(const struct mltp_thread *other) {
  return !mt_vps_crowded(mt_vps_seen()) && (other == NULL || mt_is_running(other));
}

/** @param ns how long at most */
static inline struct mt_spin_budget mt_spin_budget_begin(uint64_t ns) {
  return (struct mt_spin_budget){.end = mt_spinning_may_pay(NULL) ? os_now() + ns : 0,
                                 .per_clock = (unsigned)mt_tuned(MT_LOOKS_PER_CLOCK)};
}

/** One look's pause. @param other the thread waited for; NULL: not known now.
 * @return false: look no more, park. */
static inline bool mt_spin_budget_left(struct mt_spin_budget *budget,
                                       const struct mltp_thread *other) {
  if (budget->end == 0 || (other != NULL && !mt_is_running(other))) return false;
  mt_arch_pause();
  if (++budget->looks < budget->per_clock) return true;
  budget->looks = 0;
  return os_now() < budget->end;
}

static inline void mt_pauses(unsigned count) {
  for (; count > 0; count--) mt_arch_pause();
}

/** The same with that number of pauses, after which reading the clock costs little in comparison.
 */
static inline bool mt_spin_budget_left_after(const struct mt_spin_budget *budget,
                                             const struct mltp_thread *other, unsigned pauses) {
  if (budget->end == 0 || (other != NULL && !mt_is_running(other))) return false;
  mt_pauses(pauses);
  return os_now() < budget->end;
}

#endif

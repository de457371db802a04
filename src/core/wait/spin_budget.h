/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file patience.h
 * Waiting on the processor, as long as that may pay: while the thread waited for
 * runs, awake VPs do not exceed CPUs, and a time has not passed.
 *
 * Relaxed: hints.
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
static inline bool mt_spin_budget_left(struct mt_spin_budget *patience,
                                       const struct mltp_thread *other) {
  if (patience->end == 0 || (other != NULL && !mt_is_running(other))) return false;
  mt_arch_pause();
  if (++patience->looks < patience->per_clock) return true;
  patience->looks = 0;
  return os_now() < patience->end;
}

static inline void mt_pauses(unsigned count) {
  for (; count > 0; count--) mt_arch_pause();
}

/** The same with so many pauses, after which a look at the clock does not matter. */
static inline bool mt_spin_budget_left_after(const struct mt_spin_budget *patience,
                                             const struct mltp_thread *other, unsigned pauses) {
  if (patience->end == 0 || (other != NULL && !mt_is_running(other))) return false;
  mt_pauses(pauses);
  return os_now() < patience->end;
}

#endif

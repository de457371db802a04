/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file det.h
 * Deterministic mode (MLTP_SEED, MLTP_SCHEDULE): one VP, a clock that counts
 * scheduling points, and a chosen thread at each of them. The same seed or
 * schedule gives the same interleaving.
 *
 * A scheduling point is a *forced* one, where the caller yields, parks or ends
 * (mt_tick() comes here instead of looking at timers now and then), or a
 * *preemption*: a call that continues in normal mode, and may be interrupted here
 * (mt_preempt()). At each point the ready threads are counted from 0 in the order of the
 * run queue, after the caller if it may continue. Choice 0 is what happens without a seed or
 * schedule. So its departures from 0 describe a run completely: a schedule is a
 * short list of them, and a shorter list is a simpler schedule. A thread that is
 * preempted is the next to run by default.
 *
 * A switch is forbidden under an internal lock, inside the run queue, and on an idle
 * context. mt_preempt() is called outside of them only, and checked builds assert
 * it. So no thread ever waits for an internal lock in this mode. The spinning of
 * locks ends at its first load, because on one VP no holder but the caller runs.
 *
 * Relaxed: the VP's own tick.
 *
 * docs/design/008-deterministic-mode.md has the reasons and what was rejected.
 */
#ifndef MT_CORE_DET_DET_H
#define MT_CORE_DET_DET_H

#include "core/vp/vp.h"

/** [const after mltp_init()] The mode is on. */
extern bool mt_det_on __attribute__((visibility("hidden")));

/** [const after mltp_init()] What class_ is of locks whose uncontended paths mltp_lock() and
 * mltp_unlock() take at once: the reactive lock's class, and MLTP_LOCK_STANDARD if it stands for
 * that one. No class in this mode, so that both come by mt_preempt(). */
extern uint32_t mt_det_inlined_lock __attribute__((visibility("hidden")));
extern uint32_t mt_det_inlined_standard __attribute__((visibility("hidden")));

/** Reads seed and schedule from the options, and overrides the options that would make
 * another VP. @return 0, or EINVAL after a message. */
int mt_det_init(void);

/** Gives a new thread its place among the others. */
void mt_det_enter(struct mltp_thread *t);

/** The same for one the caller has made ready, which may run now. */
void mt_det_created(const char *call, struct mltp_thread *t);

/** The rest of mt_check() in this mode: chooses and brings the chosen thread to the
 * front of the run queue. Inside. @return false: the idle context has to run next. */
bool mt_det_check(struct mt_vp *vp);

/** The same on the idle context, which has run what was due. Inside. */
void mt_det_choose(struct mt_vp *vp);

/** Nothing is ready: the clock jumps to the first timer, which fires. @return false:
 * there is none. */
bool mt_det_skip_time(void);

uint64_t mt_det_now(void);

/** A time of this mode's clock as one of the kernel's: foreign threads sleep by it. */
uint64_t mt_det_to_os(uint64_t deadline);

/** The calling thread may be interrupted here. call: where, for the log. */
void mt_det_preempt(const char *call);

static inline void mt_preempt(const char *call) {
  if (mt_unlikely(mt_det_on)) mt_det_preempt(call);
}

/** The same between the atomic steps of a primitive; in checked builds only, and not
 * under an internal lock (a condition's, which the lock is released under). */
static inline void mt_step(const char *where) {
#if MLTP_CHECKED
  if (mt_ilocks_held() == 0) mt_preempt(where);
#else
  (void)where;
#endif
}

/** @return now, by the clock that deadlines go by. */
static inline uint64_t mt_now(void) { return mt_unlikely(mt_det_on) ? mt_det_now() : os_now(); }

#endif

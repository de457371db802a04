/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file latch.h
 * Latches and wait groups: waiting until a count is zero. Unbound, bound and foreign threads may
 * use the same object.
 *
 * A latch counts down once. The count of a wait group may also rise: it follows a changing number
 * of tasks, and the group may be used again.
 */
#ifndef MLTP_LATCH_H
#define MLTP_LATCH_H

#include <mltp/sync.h>

MLTP_BEGIN_DECLS

/* -------------------------------------------------------------- latches */

/** A latch: it is closed until its count is zero, and open from then on. Its memory may be reused
 * after the last call of each thread has returned, and after mltp_latch_destroy() if any thread
 * waited with a deadline. */
typedef struct mltp_latch {
  mltp_waitq_t queue_;
  uint64_t left_;
  const char *name_;
  uint64_t room_[2];
} mltp_latch_t;

/** Static initialiser of a latch that opens after count arrivals. */
#define MLTP_LATCH_INIT(count) {{0, 0, NULL, NULL}, (count), NULL, {0, 0}}

/** Initialises a latch. @param count arrivals it waits for; 0: it is open from the start.
 * @param name shown in reports, not copied; NULL: none. @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_latch_init(mltp_latch_t *latch, unsigned count, const char *name);

/** Ends the use of a latch (see sync.h). @return 0; EBUSY (misuse): threads wait for it. Blocks:
 * briefly. Context: any. */
MLTP_API int mltp_latch_destroy(mltp_latch_t *latch);

/** Subtracts n from the count. At zero the latch opens and releases all waiters.
 * @return 0; EINVAL (misuse): the count is below n. Blocks: no. Context: any. */
MLTP_API int mltp_latch_count_down(mltp_latch_t *latch, unsigned n);

/** Returns whether the latch is open. A caller that finds it open sees all that other threads did
 * before they counted down. @return 0: open; EAGAIN: closed. Blocks: no. Context: any. */
MLTP_API int mltp_latch_wait_try(mltp_latch_t *latch);

/** Waits until the latch is open. @return 0. Blocks: thread. Context: any. */
MLTP_API int mltp_latch_wait(mltp_latch_t *latch);

/** Waits until the latch is open, but gives up at a deadline. @return 0: open; ETIMEDOUT;
 * ECANCELED: see mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_latch_wait_timed(mltp_latch_t *latch, uint64_t deadline);

/** Subtracts one from the count and waits until the latch is open, as one step.
 * @return 0; EINVAL (misuse): it was open already. Blocks: thread. Context: any. */
MLTP_API int mltp_latch_arrive_and_wait(mltp_latch_t *latch);

/* ---------------------------------------------------------- wait groups */

/** A wait group: the number of tasks that are not done. Its memory may be reused on the same terms
 * as a latch's. */
typedef struct mltp_waitgroup {
  mltp_latch_t latch_;
} mltp_waitgroup_t;

/** Static initialiser of a wait group without tasks. */
#define MLTP_WAITGROUP_INIT {MLTP_LATCH_INIT(0)}

/** Initialises a wait group without tasks. @param name shown in reports, not copied; NULL: none.
 * @return 0. Blocks: no. Context: any. */
MLTP_API int mltp_waitgroup_init(mltp_waitgroup_t *group, const char *name);

/** Ends the use of a wait group (see sync.h). @return 0; EBUSY (misuse): threads wait for it.
 * Blocks: briefly. Context: any. */
MLTP_API int mltp_waitgroup_destroy(mltp_waitgroup_t *group);

/**
 * Adds n tasks; a negative n removes tasks. Add a task before you start it, or the group may
 * seem done too early. At zero the group releases all waiters, even if tasks are added before
 * they run.
 * @return 0; EINVAL (misuse): the count would be negative. Blocks: no. Context: any.
 */
MLTP_API int mltp_waitgroup_add(mltp_waitgroup_t *group, int n);

/** Notes that one task is done. @return 0; EINVAL (misuse): all are done already. Blocks: no.
 * Context: any. */
MLTP_API int mltp_waitgroup_done(mltp_waitgroup_t *group);

/** Waits until no task is left. @return 0. Blocks: thread. Context: any. */
MLTP_API int mltp_waitgroup_wait(mltp_waitgroup_t *group);

/** Returns whether no task is left. @return 0: none is left; EAGAIN: some are. Blocks: no.
 * Context: any. */
MLTP_API int mltp_waitgroup_wait_try(mltp_waitgroup_t *group);

/** Waits until no task is left, but gives up at a deadline. @return 0; ETIMEDOUT;
 * ECANCELED: see mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_waitgroup_wait_timed(mltp_waitgroup_t *group, uint64_t deadline);

MLTP_END_DECLS

#endif

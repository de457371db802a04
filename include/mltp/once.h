/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file once.h
 * Running an initialiser exactly once, in whichever thread calls first.
 */
#ifndef MLTP_ONCE_H
#define MLTP_ONCE_H

#include <mltp/sync.h>

MLTP_BEGIN_DECLS

/** The state of an initialiser that runs once; usually static. It needs no destruction, but its
 * memory must stay while a call is under way. */
typedef struct mltp_once_object {
  mltp_waitq_t queue_;
  mltp_t *runner_;
  uint32_t state_;
  uint32_t room_[3];
} mltp_once_t;

/** Static initialiser: the initialiser has not run. */
#define MLTP_ONCE_INIT {{0, 0, NULL, NULL}, NULL, 0, {0, 0, 0}}

/** The function that mltp_once() calls. */
typedef void(mltp_once_func_t)(void *arg);

/**
 * Calls func(arg) unless it has run. One caller runs it in its own thread; other callers wait
 * until it has returned. After that a call costs a load and a branch.
 *
 * If func does not return, it counts as not run: a C++ exception leaves it, and continues in the
 * caller of mltp_once(); or it calls mltp_exit(). Then the first waiter or the next caller runs it.
 * @return 0: func has returned, in this call or another; EDEADLK (misuse): func called mltp_once()
 *         for the same object. Blocks: thread. Context: any.
 */
MLTP_API int mltp_once(mltp_once_t *object, mltp_once_func_t *func, void *arg);

MLTP_END_DECLS

#endif

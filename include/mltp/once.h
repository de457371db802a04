/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file once.h
 * Doing something exactly once, whoever comes first.
 */
#ifndef MLTP_ONCE_H
#define MLTP_ONCE_H

#include <mltp/sync.h>

MLTP_BEGIN_DECLS

/** What is to be done once; static as a rule. Needs no end, but must stay while a call is
 * under way. */
typedef struct mltp_once {
  mltp_waitq_t queue_;
  mltp_t *runner_;
  uint32_t state_;
} mltp_once_t;

/** Static initialiser: not done yet. */
#define MLTP_ONCE_INIT {{0, 0, NULL, NULL}, NULL, 0}

/** What mltp_once() calls. */
typedef void(mltp_once_func_t)(void *arg);

/**
 * Calls func(arg) unless it was done. One caller runs it, in its own thread; others block,
 * and return when it is done. When it is done already this costs a load and a branch.
 *
 * func that does not return has not been done: when a C++ exception leaves it, which goes on
 * to mltp_once()'s caller, or when it calls mltp_exit(), the first of those who wait, or
 * the next to come, runs it in its turn.
 * @return 0: func has returned, in this call or another; EDEADLK (misuse): called by func
 *         itself, for the same once. Blocks: thread. Context: any.
 */
MLTP_API int mltp_once(mltp_once_t *once, mltp_once_func_t *func, void *arg);

MLTP_END_DECLS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thesis.h
 * The interface of Dipperstein's thesis (2000, section 3.3) under its own names, for programs
 * written to it.
 *
 * Such a program includes this header in place of mltp.h, and compiles unchanged. The header
 * includes mltp.h, and then gives two names the meaning that they have in the thesis:
 * mltp_create() takes two arguments and returns the thread, and mltp_cond_wait() takes no lock.
 * All other functions are those of mltp.h. New programs include mltp.h only.
 */
#ifndef MLTP_THESIS_H
#define MLTP_THESIS_H

#include <mltp/alternatives.h>
#include <mltp/mltp.h>

MLTP_BEGIN_DECLS

/** The function of a thread made by mltp_vcreate(), called with the arguments given there. */
typedef void *(mltp_vuserf_t)(int arg0, ...);

/** Most bytes of arguments that mltp_vcreate() copies. */
#define MLTP_VARGS_MAX 256

/**
 * Creates an unbound, joinable thread that runs func(p0) (thesis 3.3.1.1). A program that
 * includes thesis.h calls it mltp_create().
 * @return the thread; NULL: any error of mltp_create(3).
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API mltp_t *mltp_thesis_create(mltp_userf_t *func, void *p0);

/**
 * Creates an unbound, joinable thread that calls func with the arguments after nbytes (thesis
 * 3.3.1.1, after QuickThreads).
 * @param nbytes bytes of the arguments, each rounded up to 8; at most MLTP_VARGS_MAX. The
 *               arguments are integers, pointers or doubles (no structures, no long double),
 *               at most 8 of them doubles.
 * @return the thread; NULL: nbytes is out of range, or any error of mltp_create(3).
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API mltp_t *mltp_vcreate(mltp_vuserf_t *func, int nbytes, ...);

/** Ends the calling thread without a result (thesis 3.3.2), as mltp_exit(NULL) does.
 * Context: as mltp_exit(). */
MLTP_API void mltp_abort(void) __attribute__((noreturn));

/** Yields the CPU of the calling kernel thread, by sched_yield() (thesis 3.3.2). The thesis has
 * it for bound threads. Blocks: its kernel thread. Context: any. */
MLTP_API void mltp_yield_bound(void);

/** Stores a new value in a word if it holds the old one, as one atomic step (thesis 3.3.3).
 * @return nonzero: the word held the old value. */
#define mltp_compare_and_swap(old_value, new_value, word)                                          \
  __sync_bool_compare_and_swap((word), (old_value), (new_value))

/** The thesis's names (3.3.3.2) of the locks that yield. */
#define MLTP_LOCK_BLOCK_END MLTP_LOCK_ALT_YIELD_END
#define MLTP_LOCK_BLOCK_FRONT MLTP_LOCK_ALT_YIELD_FRONT

#define mltp_create mltp_thesis_create
#define mltp_cond_wait mltp_cond_wait_unlocked

MLTP_END_DECLS

#endif

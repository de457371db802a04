/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file user_code.h
 * Functions of the program that threads of the library call for a rank: operations of nonblocking
 * reductions. Below MPI_THREAD_SERIALIZED the program is one thread, so they must not run beside
 * it.
 *
 * The rank has a token. Its main thread has the token while it runs the program, and lends it while
 * it waits in a call of MPI. A thread of the library takes the token for each call of such a
 * function. Waiters get it in the order they came in, so that a program that only tests makes
 * progress, too.
 *
 * Rejected: the main thread calls the functions itself while it waits (each wait would look for
 * some when it is resumed, and the collective's thread would need a second state).
 */
#ifndef TM_RANK_USER_CODE_H
#define TM_RANK_USER_CODE_H

#include "base/atomic.h"
#include "tmpi/rank/rank.h"

/** The main thread is going to wait. @return whether it has lent the token: it is to take it again.
 * Relaxed: the main thread starts the tasks itself, and later lends once too often at most. */
bool tm_user_code_lend_slow(struct tm_rank *rank);
static inline bool tm_user_code_lend(struct tm_rank *rank) {
  return mt_unlikely(mt_load_relaxed(&rank->attention) != 0) && tm_user_code_lend_slow(rank);
}

/** @return whether threads of the library call functions of the program. */
bool tm_user_code_is_shared(const struct tm_rank *rank);

/** Takes the token, or waits for it. */
void tm_user_code_take(struct tm_rank *rank);
void tm_user_code_give(struct tm_rank *rank);

/** @return whether the calling thread of the library needs the token to run the program's code. */
bool tm_user_code_needs_token(const struct tm_rank *rank);

/** A thread that will call functions of the program starts, or has ended. */
void tm_user_code_begin(struct tm_rank *rank);
void tm_user_code_end(struct tm_rank *rank);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's token for functions of the program; user_code.h says what for.
 *
 * Relaxed: the number of tasks, which the main thread counts up before it waits.
 */
#include "tmpi/rank/user_code.h"

#include <mltp/mltp.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/thread.h"

/* On the stack of a thread that waits for the token. */
struct tm_token_waiter {
  struct mltp_thread *thread;
  struct tm_token_waiter *next;
};

void tm_user_code_take(struct tm_rank *rank) {
  static const char waits[] = "its turn to run the program's code";
  struct tm_token *token = &rank->token;
  struct tm_token_waiter waiter = {mti_self(waits), NULL}, **end = &token->waiters;
  mti_lock(&token->ilock);
  if (token->lent) {
    token->lent = false;
    mti_unlock(&token->ilock);
    return;
  }
  while (*end != NULL) end = &(*end)->next;
  *end = &waiter;
  mti_park_unlock(&token->ilock, waits);
}

void tm_user_code_give(struct tm_rank *rank) {
  struct tm_token *token = &rank->token;
  mti_lock(&token->ilock);
  struct tm_token_waiter *waiter = token->waiters;
  if (waiter != NULL)
    token->waiters = waiter->next;
  else
    token->lent = true;
  mti_unlock(&token->ilock);
  if (waiter != NULL) mti_resume(waiter->thread);
}

bool tm_user_code_is_shared(const struct tm_rank *rank) {
  return (mt_load_relaxed(&rank->attention) & ~TM_DEFERRED) != 0;
}

bool tm_user_code_lend_slow(struct tm_rank *rank) {
  if (!tm_user_code_is_shared(rank) || mt_load_relaxed(&rank->thread) != mltp_self()) return false;
  tm_user_code_give(rank);
  return true;
}

bool tm_user_code_needs_token(const struct tm_rank *rank) {
  const void *main = mt_load_relaxed(&rank->thread); /* NULL: the last session has ended */
  return main != NULL && main != mltp_self() && rank->thread_level < MPI_THREAD_SERIALIZED;
}

void tm_user_code_begin(struct tm_rank *rank) { mt_add_relaxed(&rank->attention, 1); }

void tm_user_code_end(struct tm_rank *rank) { mt_add_relaxed(&rank->attention, (uint32_t)-1); }

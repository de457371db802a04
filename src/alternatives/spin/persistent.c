/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The persistent variant of backoff (section IV.D, end): a waiter delays whenever it reads
 * that the lock is held, and tries at once when it reads that it is free. So it misses once
 * for each delay that ends, not for each release; but a released lock stays free until some
 * delay ends. As unfair as backoff.c.
 */
#include "alternatives/spin/word.h"

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  unsigned delay = MT_BACKOFF_FIRST;
  while (!mt_spin_word_trylock(lock, node)) {
    mt_spin_delay(wait, delay);
    delay = mt_backoff_next(delay);
  }
}

const struct mt_spin_ops mt_spin_persistent = {"persistent", lock, mt_spin_word_trylock,
                                               mt_spin_word_unlock};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ethernet-style backoff (section IV.D): a waiter that sees the lock released waits a time
 * that depends on its past failures, looks again, and tries only if the lock is still free.
 * So few exchanges fail. But each release still makes every waiter miss twice, to see it
 * free and to see it taken. It is unfair: a waiter that has failed often waits longer than
 * a newcomer, and a released lock stays free for that long.
 */
#include "alternatives/spin/word.h"

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  unsigned delay = MT_BACKOFF_FIRST;
  if (mt_spin_word_trylock(lock, node)) return;
  while (true) {
    while (!mt_spin_word_looks_free(lock)) wait->step(wait);
    mt_spin_delay(wait, delay);
    if (mt_spin_word_trylock(lock, node)) return;
    delay = mt_backoff_next(delay);
  }
}

const struct mt_spin_ops mt_spin_backoff = {"backoff", lock, mt_spin_word_trylock,
                                            mt_spin_word_unlock};

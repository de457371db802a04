/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spin on exchange (section IV.B): try until it succeeds. Every attempt takes the lock's
 * cache line for writing, whether it succeeds or not. So waiters constantly take it from each
 * other, and from the holder, which needs it to release. The next holder is a matter of chance.
 */
#include "alternatives/spin/word.h"

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  (void)node;
  while (!mt_spin_word_exchange(lock)) wait->step(wait);
}

const struct mt_spin_ops mt_spin_exchange = {"exchange", lock, mt_spin_word_trylock,
                                             mt_spin_word_unlock};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spin on read (section IV.C; test and test-and-set): while the lock looks held, look again.
 * These looks stay in the waiter's own cache until the release. Then all waiters miss. All that
 * look before the first exchange also exchange, fail, and make the others miss again. With a
 * long critical section that burst is soon over; with a short one it never is. The next holder
 * is a matter of chance.
 */
#include "alternatives/spin/word.h"

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  (void)node;
  while (!mt_spin_word_exchange(lock)) do
      wait->step(wait);
    while (!mt_spin_word_looks_free(lock));
}

const struct mt_spin_ops mt_spin_read = {"read", lock, mt_spin_word_trylock, mt_spin_word_unlock};

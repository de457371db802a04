/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spin on read (section IV.C; test and test-and-set): while the lock looks held, look again.
 * That stays in the own cache until the release; then all miss, and all who look before the
 * first has exchanged exchange as well, in vain, each time making the others miss again.
 * With a long critical section that is over soon; with a short one it never is. Who gets
 * the lock is chance.
 */
#include "alternatives/spin/word.h"

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  (void)node;
  while (!mt_spin_word_exchange(lock)) do
      wait->step(wait);
    while (!mt_spin_word_looks_free(lock));
}

const struct mt_spin_ops mt_spin_read = {"read", lock, mt_spin_word_trylock, mt_spin_word_unlock};

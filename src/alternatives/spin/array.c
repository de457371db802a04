/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The array queue (Table IV): a waiter takes a number and waits at the slot of that number.
 * Only the waiter before it writes there, and each slot has its own cache line. It serves in
 * order of arrival, and only the two threads of a hand-over miss in the cache.
 *
 * Table IV gives each lock an array with a flag for each processor. Here all locks of the
 * process share one array. So a lock needs no memory of its own, may be made by a static
 * initialiser and forgotten, and may have more contenders than there are slots. Two waiters
 * may then be at one slot, of one lock or of two. So a slot has no flag but a count that
 * changes when one of its waiters may continue, and the lock says which: grant_ is the number
 * that has the lock. That costs one more miss at each end than a flag of one's own.
 *
 * A waiter reads the count, then the number; the release stores the number, then changes the
 * count (AQ-1 to AQ-4). So either the waiter sees the number, or the count changes after the
 * waiter read it. The release does not touch the lock after it has stored the number, since
 * the next holder may free it.
 *
 * word_: the next number to be taken. The holder's is grant_.
 *
 * Relaxed: a number orders nothing; seeing it granted does.
 */
#include <stdalign.h>

#include "alternatives/spin/spinlock.h"
#include "base/cache.h"

enum { PLACES = 1024 };

static struct place {
  alignas(MT_CACHE_LINE) uint32_t taps; /* [atomic] */
} places[PLACES];

/* Numbers that follow each other have places that do. */
static uint32_t *place_of(const mltp_spin_t *lock, uint64_t number) {
  uint64_t first = (uintptr_t)lock / sizeof *lock * 31;
  return &places[(first + number) % PLACES].taps;
}

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  (void)node;
  uint64_t mine = mt_add_relaxed(&lock->word_, 1);
  const uint32_t *place = place_of(lock, mine);
  while (true) {
    uint32_t seen = mt_load_acquire(place); /* AQ-1 acquire: before the number; pairs AQ-4 */
    if (mt_load_acquire(&lock->grant_) == mine) return; /* AQ-2 acquire: enters; pairs AQ-3 */
    do wait->step(wait);
    while (mt_load_relaxed(place) == seen); /* relaxed: AQ-1 and AQ-2 follow */
  }
}

static bool trylock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  uint64_t turn = mt_load_acquire(&lock->grant_);       /* AQ-5 acquire: enters; pairs AQ-3 */
  return mt_cas_relaxed(&lock->word_, &turn, turn + 1); /* nobody has that number yet */
}

static void unlock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  uint64_t next = mt_load_relaxed(&lock->grant_) + 1; /* relaxed: only we write it */
  uint32_t *place = place_of(lock, next);
  mt_store_release(&lock->grant_, next); /* AQ-3 release: leaves; pairs AQ-2 AQ-5 */
  mt_add_acq_rel(place, 1);              /* AQ-4 acq_rel: after the number; pairs AQ-1 */
}

const struct mt_spin_ops mt_spin_array = {"array", lock, trylock, unlock};

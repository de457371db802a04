/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list-based queue lock of Mellor-Crummey and Scott (1991): a waiter puts itself at the
 * end of a list by one exchange, tells the one before it, and waits for a word in its own
 * node. First come, first served; a release writes to the next one's cache line only.
 *
 * Theirs needs the node from lock to unlock. In this variant (of the K42 kernel) the node is
 * on the waiter's stack only while it waits. A new holder removes its node, puts the lock itself
 * there, and notes the next waiter in held_. So any thread may unlock.
 *
 * word_: the last in the list: 0 the lock is free; the lock itself: it is held without waiters,
 * or the first waiter is about to store itself in held_; else the node of the last waiter.
 *
 * Relaxed: what only the holder or the node's owner reads.
 */
#include "alternatives/spin/spinlock.h"

struct node {
  struct node *next; /* [atomic] */
  uint32_t granted;  /* [atomic] */
};

static uint64_t word_of(const void *last) { return (uint64_t)(uintptr_t)last; }

/* The next in turn, which is there or says so presently. */
static struct node *wait_for_next(struct node **link) {
  struct node *next;
  for (unsigned round = 0; (next = mt_load_acquire(link)) == NULL;) /* MC-2 acquire: pairs MC-1 */
    mt_relax(&round);
  return next;
}

/* The lock takes the place of the holder's node in the list. */
static void leave_node(mltp_spin_t *lock, struct node *mine) {
  struct node **held = (struct node **)&lock->held_;
  uint64_t last = word_of(mine);
  struct node *next = mt_load_acquire(&mine->next); /* MC-3 acquire: pairs MC-1 */
  mt_store_relaxed(held, next);
  if (next != NULL) return;
  /* MC-4 release: held_ is empty before the next waiter writes there; pairs MC-6 */
  if (mt_cas_release(&lock->word_, &last, word_of(lock))) return;
  mt_store_relaxed(held, wait_for_next(&mine->next));
}

static bool trylock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  uint64_t free = 0;
  return mt_cas_acquire(&lock->word_, &free, word_of(lock)); /* MC-5 acquire: pairs MC-7 */
}

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  struct node mine = {NULL, 0};
  if (trylock(lock, node)) return;
  /* MC-6 acq_rel: the node; what the last holder did; pairs MC-4 MC-6 MC-7 */
  uint64_t last = mt_swap_acq_rel(&lock->word_, word_of(&mine));
  if (last != 0) {
    struct node **link = last == word_of(lock) ? (struct node **)&lock->held_
                                               : &((struct node *)(uintptr_t)last)->next;
    mt_store_release(link, &mine);              /* MC-1 release: the node; pairs MC-2 MC-3 */
    while (mt_load_acquire(&mine.granted) == 0) /* MC-8 acquire: enters; pairs MC-9 */
      wait->step(wait);
  }
  leave_node(lock, &mine);
}

static void unlock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  struct node **held = (struct node **)&lock->held_;
  uint64_t last = word_of(lock);
  /* MC-7 release: leaves, if nobody waits; pairs MC-5 MC-6 */
  if (mt_load_relaxed(held) == NULL && mt_cas_release(&lock->word_, &last, 0)) return;
  struct node *next = wait_for_next(held);
  mt_store_release(&next->granted, 1); /* MC-9 release: hands over; pairs MC-8 */
}

const struct mt_spin_ops mt_spin_mcs = {"mcs", lock, trylock, unlock};

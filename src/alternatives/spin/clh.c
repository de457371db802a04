/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list-based queue lock of Craig (1993) and of Landin and Hagersten (1994): a waiter
 * exchanges its cell into the lock, gets the cell of the waiter before it, and waits for that
 * cell to be released. It serves in order of arrival. A release writes to one cell, which only
 * the next waiter reads. There are no links, so no thread waits for another that is about to
 * link.
 *
 * After its wait a holder owns the cell it waited for, and the next waiter owns the cell it
 * leaves. So cells change owners and cannot be on stacks. A thread keeps a spare cell in its
 * node, and gets it from the heap when it first has to wait. A lock without waiters needs no
 * cell: the lock itself stands in the list (grant_ is its word). So a lock is made and
 * forgotten without cost, unlike the classic lock with its first cell. Without memory for a
 * cell a waiter tries at intervals, out of order.
 *
 * word_: the last in the list: 0 the lock is free; the lock itself; or a cell.
 * held_: the cell of the holder, or NULL: the lock itself.
 *
 * Relaxed: what the holder alone reads and writes.
 */
#include <stdalign.h>
#include <stdlib.h>

#include "alternatives/spin/spinlock.h"
#include "base/cache.h"

struct mt_clh_cell {
  alignas(MT_CACHE_LINE) uint64_t released; /* [atomic] */
};

static uint64_t word_of(const void *last) { return (uint64_t)(uintptr_t)last; }

static struct mt_clh_cell *take_cell(struct mt_spin_node *node) {
  struct mt_clh_cell *cell = node->cell;
  node->cell = NULL;
  return cell != NULL ? cell : aligned_alloc(alignof(struct mt_clh_cell), sizeof *cell);
}

static void keep_cell(struct mt_spin_node *node, struct mt_clh_cell *cell) {
  free(node->cell);
  node->cell = cell;
}

void mt_spin_node_end(struct mt_spin_node *node) { keep_cell(node, NULL); }

static bool trylock(mltp_spin_t *lock, struct mt_spin_node *node) {
  (void)node;
  uint64_t free = 0;
  return mt_cas_acquire(&lock->word_, &free, word_of(lock)); /* CL-1 acquire: pairs CL-4 */
}

static void wait_for(const uint64_t *released, struct mt_spin_wait *wait) {
  while (mt_load_acquire(released) == 0) /* CL-2 acquire: enters; pairs CL-5 */
    wait->step(wait);
}

static void lock(mltp_spin_t *lock, struct mt_spin_node *node, struct mt_spin_wait *wait) {
  if (trylock(lock, node)) return;
  struct mt_clh_cell *mine = take_cell(node);
  if (mine == NULL) {
    while (!trylock(lock, node)) wait->step(wait);
    return;
  }
  mt_store_relaxed(&mine->released, 0);
  /* CL-3 acq_rel: the cell; what the last holder did; pairs CL-3 CL-4 */
  uint64_t last = mt_swap_acq_rel(&lock->word_, word_of(mine));
  if (last == word_of(lock)) {
    wait_for(&lock->grant_, wait);
    mt_store_relaxed(&lock->grant_, 0);
  } else if (last != 0) {
    struct mt_clh_cell *before = (struct mt_clh_cell *)(uintptr_t)last;
    wait_for(&before->released, wait);
    keep_cell(node, before);
  }
  lock->held_ = mine;
}

static void unlock(mltp_spin_t *lock, struct mt_spin_node *node) {
  struct mt_clh_cell *mine = lock->held_;
  uint64_t last = mine != NULL ? word_of(mine) : word_of(lock);
  lock->held_ = NULL;
  if (mt_cas_release(&lock->word_, &last, 0)) { /* CL-4 release: leaves; pairs CL-1 CL-3 */
    if (mine != NULL) keep_cell(node, mine);
    return;
  }
  uint64_t *released = mine != NULL ? &mine->released : &lock->grant_;
  mt_store_release(released, 1); /* CL-5 release: hands over; pairs CL-2 */
}

const struct mt_spin_ops mt_spin_clh = {"clh", lock, trylock, unlock};

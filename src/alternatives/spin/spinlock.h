/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off: a table */
/**
 * @file spinlock.h
 * Locks that are waited for on the processor: the alternatives of Anderson, Lazowska and
 * Levy (1989), section IV, and the two list-based ones that followed. One file each:
 *
 * | kind       | fair                | misses per acquisition, P waiting | the holder loses its CPU
 * | the next waiter loses it | | ---------- | ------------------- |
 * --------------------------------- | ------------------------ | ------------------------ | |
 * exchange   | by chance           | unbounded: one for each attempt   | all wait                 |
 * there is none            | | read       | by chance           | O(P) to O(P^2), at the release |
 * all wait                 | there is none            | | backoff    | no: late comers win | about
 * 2 for each of the P         | all wait                 | there is none            | | persistent
 * | no, likewise        | 1 for each delay that ends        | all wait                 | there is
 * none            | | array      | in order            | 4, for any P                      | all
 * wait                 | its successors wait      | | mcs        | in order            | 3, for any
 * P                      | all wait                 | its successors wait      | | clh        | in
 * order            | 2, for any P                      | all wait                 | its successors
 * wait      |
 *
 * In the papers a waiter spins forever, and burns the time slice of a CPU that the holder
 * (or the next waiter, which the lock has been handed to) may need. So each algorithm
 * says only where a waiter looks and when. Between two looks it calls a step of its
 * caller's (struct mt_spin_wait). The library's own locks pause, soon yield the CPU, and
 * then nap, as mt_relax() does. Public locks know the holder, and yield their VP while it
 * does not run (alternatives/spin/lock_spin.c).
 *
 * A waiter cannot leave any of them, so a waiter with a deadline tries at intervals instead.
 */
/* clang-format on */
#ifndef MT_ALTERNATIVES_SPIN_SPINLOCK_H
#define MT_ALTERNATIVES_SPIN_SPINLOCK_H

#include "base/ilock.h"
#include "base/options.h"
#include "mltp/sync.h"

struct mt_clh_cell;

/** What a contender brings along: each its own, for all locks it takes and releases, of
 * whatever kind. Zero at first; mt_spin_node_end() at its end. */
struct mt_spin_node {
  struct mt_clh_cell *cell; /* [owner] spare cell of kind clh, or NULL; for lock and unlock */
};

/** How a waiter spends the time between two looks. */
struct mt_spin_wait {
  /** One step of waiting. @return true: the processor was given up meanwhile. */
  bool (*step)(struct mt_spin_wait *wait);
  unsigned round; /* 0 at first; the step's own */
};

/** A kind of lock. The state is zero when the lock is free and new. */
struct mt_spin_ops {
  const char *name;
  void (*lock)(mltp_spin_t *state, struct mt_spin_node *node, struct mt_spin_wait *wait);
  /** One attempt, which waits for nobody. @return true: acquired. */
  bool (*trylock)(mltp_spin_t *state, struct mt_spin_node *node);
  /** Called by the holder, or by the thread that it passed the lock to. */
  void (*unlock)(mltp_spin_t *state, struct mt_spin_node *node);
};

/** By enum mt_spin_kind. */
extern const struct mt_spin_ops *const mt_spin_kinds[MT_SPIN_KINDS];

extern const struct mt_spin_ops mt_spin_exchange;
extern const struct mt_spin_ops mt_spin_read;
extern const struct mt_spin_ops mt_spin_backoff;
extern const struct mt_spin_ops mt_spin_persistent;
extern const struct mt_spin_ops mt_spin_array;
extern const struct mt_spin_ops mt_spin_mcs;
extern const struct mt_spin_ops mt_spin_clh;

/** Gives back what the node has; it may be used again. */
void mt_spin_node_end(struct mt_spin_node *node);

/** Steps of waiting, as long as they do not give up the processor: that is a delay
 * long enough. */
static inline void mt_spin_delay(struct mt_spin_wait *wait, unsigned steps) {
  while (steps-- > 0)
    if (wait->step(wait)) return;
}

/** Acquires and releases as the library's own locks do, by a kind and its state. */
void mt_spin_acquire(const struct mt_spin_ops *ops, mltp_spin_t *state, struct mt_spin_node *node);
void mt_spin_release(const struct mt_spin_ops *ops, mltp_spin_t *state, struct mt_spin_node *node);

/** A lock of the library's own, of a kind chosen at run time. Rank and use are an internal lock's
 * (base/ilock.h); it needs no memory but this and no end. */
struct mt_spinlock {
  const struct mt_spin_ops *ops; /* [const] */
  mltp_spin_t state;             /* [atomic] the kind's file */
};

static inline void mt_spinlock_init(struct mt_spinlock *lock, enum mt_spin_kind kind) {
  *lock = (struct mt_spinlock){.ops = mt_spin_kinds[kind]};
}

/** @param node the calling contender's. A thread that parks may hold the lock; the next thread
 * on its VP then releases it. */
void mt_spinlock_lock(struct mt_spinlock *lock, struct mt_spin_node *node);

/** @return true: acquired. */
bool mt_spinlock_trylock(struct mt_spinlock *lock, struct mt_spin_node *node);

void mt_spinlock_unlock(struct mt_spinlock *lock, struct mt_spin_node *node);

#endif

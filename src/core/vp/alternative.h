/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file alternative.h
 * The hooks of src/alternatives: other ways to manage threads, from papers. The CMake option
 * MLTP_ALTERNATIVES compiles them; MLTP_SCHED chooses one at start.
 *
 * The scheduler asks here on its slow paths only. An alternative gets control where a VP enters its
 * run queue, because MT_CLAIM_ALTERNATIVE is then always set in its claim. The alternative lends
 * the VP a list of threads, which the VP returns when it leaves, after a switch by MT_AFTER_RETURN.
 * Without an alternative this costs nothing in a switch, which reads these words anyway.
 */
#ifndef MT_CORE_VP_ALTERNATIVE_H
#define MT_CORE_VP_ALTERNATIVE_H

#include "base/options.h"
#include "core/vp/parts.h"

#ifndef MLTP_ALTERNATIVES
#define MLTP_ALTERNATIVES 1
#endif

/** What an alternative does in the scheduler's place. vp: the calling VP; NULL: outside. */
struct mt_alternative {
  /** Lends the VP the list from which it takes its next thread; takes it back. */
  void (*enter)(struct mt_vp *vp);
  void (*leave)(struct mt_vp *vp);
  /** A fresh thread, taken out of the lent list, is about to get its stack. */
  void (*starts)(struct mt_vp *vp, struct mltp_thread *t);
  /** Makes a thread ready, or several linked by next, and wakes a VP for them if need be. */
  void (*ready)(struct mt_vp *vp, struct mltp_thread *t);
  void (*ready_chain)(struct mt_vp *vp, struct mltp_thread *first);
  /** @return whether a list is lent to the VP, into which it may put threads. */
  bool (*lends)(const struct mt_vp *vp);
  /** @return a descriptor; NULL: from the pool. The other @return false: it belongs to the pool. */
  struct mltp_thread *(*descriptor_new)(struct mt_vp *vp);
  bool (*descriptor_free)(struct mt_vp *vp, struct mltp_thread *t);
  /** The thread being created will not become ready. */
  void (*forget)(struct mt_vp *vp);
  /** Locks and unlocks a pool of free descriptors (true) or stacks (false). */
  void (*lock_pool)(struct mt_vp *vp, bool descriptors);
  void (*unlock_pool)(struct mt_vp *vp, bool descriptors);
  /** @return how many threads seem to wait for any VP, and, unless vp is NULL, for that VP. */
  uint32_t (*waiting)(const struct mt_vp *vp);
  /** A VP has nothing to run; it has stopped searching. @return whether it was given a thread. */
  void (*search_begins)(struct mt_vp *vp);
  bool (*search_ends)(struct mt_vp *vp);
  /** The lock of the lent list protects the pools as well. */
  bool locks_pools;
};

/** [const after mltp_init()] The alternative; NULL: the library's own scheduler. Hidden: one
 * instruction tests it, also in the shared library. */
extern const struct mt_alternative *mt_alternative __attribute__((visibility("hidden")));

/** [const after mltp_init()] How many free descriptors and stacks a VP keeps, and whether its
 * caches exchange batches with the pools. */
extern struct mt_cache_limits {
  uint32_t descriptors, stacks;
  bool batches;
} mt_cache_limits __attribute__((visibility("hidden")));

/** @return whether an alternative manages threads. */
static inline bool mt_has_alternative(void) { return MLTP_ALTERNATIVES && mt_alternative != NULL; }

/** @return how many threads seem to wait where only an alternative knows them; vp as above. */
static inline uint32_t mt_alternative_waiting(const struct mt_vp *vp) {
  return mt_has_alternative() ? mt_alternative->waiting(vp) : 0;
}

/** @return whether each switch takes two switches of stacks, with the probe between them, as in
 * Figure 3(A) of TMPI-2. It is there to be measured: the eager probe of share.h needs one. */
static inline bool mt_probes_late(void) {
  return MLTP_ALTERNATIVES && mt_unlikely(mt_options.probe == MT_PROBE_LATE);
}

/** Chooses as MLTP_SCHED and MLTP_PROBE say. @return 0, or EINVAL after a message. */
int mt_alternative_init(void);

/** Creates and ends what alternatives keep with a VP. @return false: no memory. */
bool mt_alternative_vp_begin(struct mt_vp *vp);
void mt_alternative_vp_end(struct mt_vp *vp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file decisions.h
 * Records the scheduler's decisions: what a VP saw, and what src/policy decided from it.
 * tests/policy records real runs and replays them.
 */
#ifndef MT_INSTRUMENT_DECISIONS_H
#define MT_INSTRUMENT_DECISIONS_H

#include <stddef.h>
#include <stdint.h>

/** Gets a decision's name, its observations, which are all numbers of 64 bits, and the decision.
 * Any VP calls it, also under internal locks. */
typedef void mt_decision_hook_t(const char *name, const uint64_t *seen, size_t count,
                                uint64_t decision);

/** [const while the runtime is up] NULL: nobody records. */
extern mt_decision_hook_t *mt_decision_hook;

/** Records a decision, on paths that are not hot. Returns it. */
static inline uint64_t mt_decided(const char *name, const void *seen, size_t size,
                                  uint64_t decision) {
  if (__builtin_expect(mt_decision_hook != NULL, 0))
    mt_decision_hook(name, seen, size / sizeof(uint64_t), decision);
  return decision;
}

#endif

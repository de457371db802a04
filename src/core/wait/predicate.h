/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file predicate.h
 * The predicate of a wait for a word.
 */
#ifndef MT_CORE_WAIT_PREDICATE_H
#define MT_CORE_WAIT_PREDICATE_H

#include <stdint.h>

/** What a waiter waits for. On its stack. */
struct mt_await {
  const uint32_t *word; /* [atomic] the program's */
  uint32_t value;       /* [const] */
  uint32_t equal;       /* [const] 1: until it has the value; 0: until it has it no longer. No bool:
                           dumps read it where anything may be by then */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file key.h
 * What the end of a thread does with its thread-specific values.
 */
#ifndef MT_CORE_THREAD_KEY_H
#define MT_CORE_THREAD_KEY_H

#include "core/thread/thread.h"

/** Runs destructors, which may block, and frees the values. The caller is self. */
void mt_values_end_slow(struct mltp_thread *self);

/** Resets the lock of the key table in a child of fork(), because its holder is gone. */
void mt_keys_forked(void);

static inline void mt_values_end(struct mltp_thread *self) {
  if (mt_unlikely(self->has_values)) mt_values_end_slow(self);
}

#endif

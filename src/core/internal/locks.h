/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file locks.h
 * Internal API: internal locks.
 */
#ifndef MT_CORE_INTERNAL_LOCKS_H
#define MT_CORE_INTERNAL_LOCKS_H

#include <stdint.h>

#include "core/internal/export.h"

/** Acquires an internal lock: a word that starts as 0. Spins while another holder has it. Hold it
 * for moments only, and never across a call that blocks. */
MTI_EXPORT void mti_lock(uint32_t *lock);

/** Releases an internal lock. Never blocks. */
MTI_EXPORT void mti_unlock(uint32_t *lock);

#endif

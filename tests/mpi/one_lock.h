/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file one_lock.h
 * Internal locks for a test without the core: no lock is taken while another one is held.
 */
#ifndef TESTS_MPI_ONE_LOCK_H
#define TESTS_MPI_ONE_LOCK_H

#include "core/internal/locks.h"

static int locked;                /* 1: a lock is held */
static const uint32_t *only_lock; /* NULL: any may be taken */

void mti_lock(uint32_t *lock) {
  if (only_lock != NULL) assert_ptr_equal(lock, only_lock);
  assert_int_equal(locked++, 0);
}

void mti_unlock(uint32_t *lock) {
  if (only_lock != NULL) assert_ptr_equal(lock, only_lock);
  assert_int_equal(--locked, 0);
}

#endif

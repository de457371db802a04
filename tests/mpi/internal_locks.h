/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file internal_locks.h
 * The library's internal locks in a program of one thread, without the core: each is free when it
 * is locked, and locked when it is unlocked.
 */
#ifndef TESTS_MPI_INTERNAL_LOCKS_H
#define TESTS_MPI_INTERNAL_LOCKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/internal/locks.h"

static int locked;                /* how many are */
static int nested_most = 1;       /* locks that may be held at a time */
static const uint32_t *only_lock; /* NULL: any may be taken */

void mti_lock(uint32_t *lock) {
  if (only_lock != NULL) assert_ptr_equal(lock, only_lock);
  assert_int_equal(*lock, 0);
  *lock = 1;
  locked++;
  assert_in_range(locked, 1, nested_most);
}

void mti_unlock(uint32_t *lock) {
  if (only_lock != NULL) assert_ptr_equal(lock, only_lock);
  assert_int_equal(*lock, 1);
  *lock = 0;
  locked--;
}

#endif

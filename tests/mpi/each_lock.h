/* SPDX-License-Identifier: Apache-2.0 */
/** @file each_lock.h The library's internal locks in a program of one thread: each is free when it
 * is locked, and locked when it is unlocked. */
#ifndef TESTS_EACH_LOCK_H
#define TESTS_EACH_LOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/internal/locks.h"

void mti_lock(uint32_t *lock) {
  assert_int_equal(*lock, 0);
  *lock = 1;
}

void mti_unlock(uint32_t *lock) {
  assert_int_equal(*lock, 1);
  *lock = 0;
}

#endif

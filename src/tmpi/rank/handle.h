/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file handle.h
 * Handles that are addresses. Predefined handles are small numbers of the ABI.
 */
#ifndef TM_RANK_HANDLE_H
#define TM_RANK_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

/** @return whether a handle can be the address of one of our objects, all of which malloc()
 * aligned. An uninitialised handle mostly cannot; without this check a look at its magic number
 * would crash. */
static inline bool tm_handle_is_address(const void *handle) {
  enum { PREDEFINED_END = 0x1000, ALIGNMENT = 16, USER_ADDRESS_BITS = 47 };
  uintptr_t value = (uintptr_t)handle;
  return value >= PREDEFINED_END && value % ALIGNMENT == 0 && value >> USER_ADDRESS_BITS == 0;
}

#endif

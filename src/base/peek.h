/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file peek.h
 * Copies of memory that other threads may be changing, freeing or unmapping, for dumps, which
 * stop no thread and take no lock. A copy may be out of date, or show another object that lies
 * there by now. So its user checks again that it was the object meant.
 */
#ifndef MT_BASE_PEEK_H
#define MT_BASE_PEEK_H

#include "os/os.h"

enum { MT_NAME_MAX = 96 /**< bytes of a name that are shown, its end included */ };

/** @return false: the memory is not there; what *to holds is undefined. */
static inline bool mt_peek(void *to, const void *from, size_t size) {
  return os_peek(to, from, size) == size;
}

/**
 * Copies a text as far as it is there and fits. Control characters become '?'; bytes
 * above them stay, for names in UTF-8.
 * @param from  NULL: an empty text
 * @return name
 */
const char *mt_peek_name(char name[MT_NAME_MAX], const char *from);

#endif

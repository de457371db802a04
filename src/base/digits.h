/* SPDX-License-Identifier: Apache-2.0 */
/** @file digits.h Numbers that users write. */
#ifndef MT_BASE_DIGITS_H
#define MT_BASE_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads a decimal number of digits alone. strtoll() and sscanf() would take a space or a sign in
 * front of it, so a value with a typing error would be another one. @return what follows the
 * number; NULL: there is none, or it is above `most`. */
static inline const char *mt_digits(const char *text, uint64_t most, uint64_t *number) {
  const char *at = text;
  for (*number = 0; *at >= '0' && *at <= '9'; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (digit > most || *number > (most - digit) / 10) return NULL;
    *number = *number * 10 + digit;
  }
  return at != text ? at : NULL;
}

/** The same for a text that is a number and nothing else. @return whether it is one from `least` to
 * `most`. */
static inline bool mt_is_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  const char *end = mt_digits(text, most, number);
  return end != NULL && *end == '\0' && *number >= least;
}

#endif

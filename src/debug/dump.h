/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dump.h
 * All threads, as text.
 */
#ifndef MT_DEBUG_DUMP_H
#define MT_DEBUG_DUMP_H

#include <stdbool.h>
#include <stddef.h>

/** Words for enumerators; what has none is NULL. */
struct mt_texts {
  const char *const *texts;
  size_t count;
};

extern const struct mt_texts mt_kind_texts, mt_state_texts, mt_reason_texts;

/** Writes all threads to fd.
 * @param most  the most backtraces to print
 * @param names of functions in backtraces; false in a signal handler, see backtrace.c
 */
void mt_dump(int fd, int most, bool names);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dump.h
 * All threads, as text.
 */
#ifndef MT_DEBUG_DUMP_H
#define MT_DEBUG_DUMP_H

#include <stdbool.h>

/** Writes all threads to fd.
 * @param most  so many backtraces at most
 * @param names of functions in backtraces; false in a signal handler, see backtrace.c
 */
void mt_dump(int fd, int most, bool names);

#endif

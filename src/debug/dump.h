/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dump.h
 * All threads, as text.
 */
#ifndef MT_DEBUG_DUMP_H
#define MT_DEBUG_DUMP_H

/** Writes all threads to fd; at most most backtraces. Works on a signal stack. */
void mt_dump(int fd, int most);

#endif

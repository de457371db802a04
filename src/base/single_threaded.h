/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file alone.h
 * Whether this process has one kernel thread. Then nobody can come between a load and a
 * store, and what needs a locked instruction elsewhere (7 ns of 16 for a lock and an unlock,
 * docs/design/016) is done without. What is stored is the same, so that it may change at
 * any time: it is asked anew at each operation, and changes only where the one thread
 * itself calls libc to start another.
 */
#ifndef MT_BASE_SINGLE_THREADED_H
#define MT_BASE_SINGLE_THREADED_H

#include <stdbool.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h> /* glibc 2.32 */
static inline bool mt_single_threaded(void) { return __libc_single_threaded != 0; }
#else
static inline bool mt_single_threaded(void) { return false; }
#endif

#endif

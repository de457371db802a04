/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file backtrace.h
 * Backtraces of any thread, by frame pointers: works on a signal stack and for
 * threads that do not run. Code built without frame pointers cuts them short.
 */
#ifndef MT_DEBUG_BACKTRACE_H
#define MT_DEBUG_BACKTRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

enum { MT_FRAMES_MAX = 24 };

/** Where a thread is: innermost first. */
struct mt_backtrace {
  const void *ips[MT_FRAMES_MAX];
  int count;
};

/**
 * Follows the chain. Others may be writing to the stack, or have unmapped it; then what
 * is found is short or nonsense, and the caller has to see that the thread did run.
 * @param ip,bp where it is, and its frame pointer
 * @param low,size the stack, so that a broken chain is not followed off it
 */
void mt_backtrace_take(struct mt_backtrace *b, const void *ip, const void *bp, const char *low,
                       size_t size);

/**
 * Writes "    #0 function+0x1f (file)" lines, or "    #0 file+0xf1f" where the
 * function is not known.
 * @param names  false: look for no functions, as in a signal handler
 */
void mt_backtrace_print(const struct mt_backtrace *b, struct mt_printer *to, bool names);

#endif

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

/**
 * Writes "    #0 function+0x1f (file)" lines to fd, or "    #0 file+0xf1f" where the
 * function is not known.
 * @param ip,bp where it is, and its frame pointer
 * @param low,size the stack, so that a broken chain is not followed off it
 * @param names  false: look for no functions, as in a signal handler
 */
void mt_backtrace(int fd, const void *ip, const void *bp, const char *low, size_t size, bool names);

#endif

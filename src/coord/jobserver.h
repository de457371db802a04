/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file jobserver.h
 * A program's side of GNU make's jobserver: tokens are CPUs.
 *
 * MAKEFLAGS names a pipe with a byte, a token, for each job that may run beside the running ones. A
 * program may keep one CPU busy, and one more for each token that it holds. It puts back the very
 * bytes that it took, since make reads them.
 *
 * A program that is killed takes its tokens along, as any job of make does. One that ends by
 * exit(3) or mltp_finalize() puts them back.
 *
 * The calls are for one thread at a time (client.c has the lock). None of them waits.
 */
#ifndef MT_COORD_JOBSERVER_H
#define MT_COORD_JOBSERVER_H

#include <stdbool.h>
#include <stdint.h>

/** Takes part in the jobserver that MAKEFLAGS names. @return false: there is none, or make keeps it
 * from this program (it does where a recipe neither says $(MAKE) nor begins with +). */
bool mt_jobserver_join(const char *makeflags);

/** Takes or puts back tokens, as far as there are some. @param wanted CPUs, at least 1.
 * @return CPUs that the program may keep busy now. */
uint32_t mt_jobserver_adjust(uint32_t wanted);

/** Puts all tokens back and closes the pipe. */
void mt_jobserver_leave(void);

/** In a child of fork(): the tokens are the parent's. */
void mt_jobserver_forget(void);

#endif

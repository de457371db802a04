/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file outside.h
 * Threads that do not run on VPs: bound and foreign threads.
 */
#ifndef MT_CORE_LIFE_OUTSIDE_H
#define MT_CORE_LIFE_OUTSIDE_H

#include "core/thread/thread.h"

/** Prepares for foreign threads. @return 0, or what pthread_key_create() says. */
int mt_outside_init(void);
/** From now on the end of the calling kernel thread is noticed: by pthread_exit(), say. If that is
 * refused it goes unnoticed. */
void mt_outside_watch(struct mltp_thread *self);
/** The opposite. Also in a child of fork(): self, if foreign, is no thread of the library any more.
 */
void mt_outside_forget(const struct mltp_thread *self);
/** Starts the kernel thread of a bound thread. @return 0 or EAGAIN. */
int mt_bound_start(struct mltp_thread *t, size_t stack_size);
/** Ends the calling bound thread. */
void mt_bound_finish(struct mltp_thread *self, void *result) __attribute__((noreturn));
/** Waits until no kernel thread of a bound thread uses the runtime any more. */
void mt_bound_wait_all(void);

#endif

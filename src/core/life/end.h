/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file end.h
 * The end of a thread, and how many live.
 */
#ifndef MT_CORE_LIFE_END_H
#define MT_CORE_LIFE_END_H

#include "core/thread/thread.h"

/** Ends the calling unbound thread and runs the next one. */
void mt_finish(struct mltp_thread *self, void *result) __attribute__((noreturn));

/** The part of ending a thread that all kinds share: result, joiner, descriptor. */
void mt_end(struct mltp_thread *self, void *result);

/** @return threads created and not ended yet, main included: never too low, and
 * exact when it is 1 and the caller is main or main is parked. */
uint64_t mt_live(void);

#endif

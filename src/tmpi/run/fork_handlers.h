/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fork_handlers.h
 * Handlers of pthread_atfork(): a rank calls its own.
 */
#ifndef TM_RUN_FORK_HANDLERS_H
#define TM_RUN_FORK_HANDLERS_H

struct tm_process;

/** Calls those of the rank that forks: the last one registered first. */
void tm_fork_prepare(const struct tm_process *process);

/** The same after the fork, the first one first. */
void tm_fork_in_parent(const struct tm_process *process);
void tm_fork_in_child(const struct tm_process *process);

#endif

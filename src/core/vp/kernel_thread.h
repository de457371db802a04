/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kernel_thread.h
 * Which kernel thread runs a thread, and what a blocked VP waits for in the kernel: for dumps and
 * reports.
 */
#ifndef MT_CORE_VP_KERNEL_THREAD_H
#define MT_CORE_VP_KERNEL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mltp_thread;

/** Says in which call of the kernel an unbound thread blocks its VP. From any context.
 * @param text gets "read(2)" or the like, @param ns for how long, 0: not known
 * @return false: it does not. */
bool mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t);

/** @return the number of the kernel thread that runs an unbound thread; 0: none does, or it is not
 * known. From any context. */
int mt_task_of(const struct mltp_thread *t);

#endif

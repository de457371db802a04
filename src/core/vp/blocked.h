/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file blocked.h
 * What a blocked VP waits for in the kernel, for dumps and reports.
 */
#ifndef MT_CORE_VP_BLOCKED_H
#define MT_CORE_VP_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mltp_thread;

/** Says in which call of the kernel an unbound thread blocks its VP. From any context.
 * @param text gets "read(2)" or the like, @param ns for how long, 0: not known
 * @return false: it does not. */
bool mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t);

#endif

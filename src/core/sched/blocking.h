/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file blocking.h
 * Calls that block in the kernel: another VP may run in the place of the caller's meanwhile.
 */
#ifndef MT_CORE_SCHED_BLOCKING_H
#define MT_CORE_SCHED_BLOCKING_H

#include <stdbool.h>

/** mltp_blocking_begin(). @return false: there is no VP to take this one's place, so
 * what the caller blocks for must not depend on threads of this VP. */
bool mt_blocking_begin(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/** @file wait.h Sleeping in the kernel with a deadline of any clock, and with EINTR, which
 * os_futex_wait() hides. */
#ifndef MT_GATE_WAIT_H
#define MT_GATE_WAIT_H

#include <stdint.h>
#include <time.h>

/** Sleeps while *word == expected. until: absolute, by CLOCK_MONOTONIC or CLOCK_REALTIME; NULL:
 * forever. @return 0, also for no reason; ETIMEDOUT; EINTR: a signal handler ran. Keeps errno. */
int gt_futex_wait(uint32_t *word, uint32_t expected, clockid_t clock, const struct timespec *until);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file keys.h
 * Thread-specific values of a rank's own pthreads.
 */
#ifndef TM_RUN_KEYS_H
#define TM_RUN_KEYS_H

#include <stdbool.h>

/** The calling kernel thread is a pthread of a rank's. @return false: no memory. */
bool tm_values_start(void);

/** The calling kernel thread gets other values. @return those it had; NULL: the rank's.
 * Async-signal-safe. */
struct tm_values *tm_values_exchange(struct tm_values *values);

/** It ends: calls the destructors of its values. */
void tm_values_end(void);

#endif

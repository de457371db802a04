/* SPDX-License-Identifier: Apache-2.0 */
/** @file load.h Other processes that want the machine's time while we measure. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

enum { BENCH_LOAD_MAX = 1024 };

/** Starts processes that compute until bench_load_stop(), or until the caller has died.
 * @return 0; -1 with errno when one could not be started, and then none is left. */
int bench_load_start(int count);

/** Ends them, and waits for their ends. */
void bench_load_stop(void);

#endif

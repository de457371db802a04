/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file asleep.h
 * Whether threads that are about to wait do.
 */
#ifndef TESTS_ASLEEP_H
#define TESTS_ASLEEP_H

/** Returns when all kernel threads of the process sleep in the kernel but the caller's and `busy`
 * others: VPs without work, and threads that have one for themselves. Blocks the caller's. */
void wait_until_asleep(int busy);

#endif

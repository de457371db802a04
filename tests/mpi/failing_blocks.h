/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file failing_blocks.h
 * What no_memory.h asks of the module that tmpirun preloads for it (failing_blocks.c).
 */
#ifndef TESTS_MPI_FAILING_BLOCKS_H
#define TESTS_MPI_FAILING_BLOCKS_H

#include <stdbool.h>

/** From now on allocations of the library that has a function are counted from 1, and that one
 * fails; 0: none does. */
void blocks_watch(void *function, int fails_at);

/** No more. *left: how many blocks the library has allocated since and not freed. @return whether
 * an allocation has failed. */
bool blocks_end(int *left);

#endif

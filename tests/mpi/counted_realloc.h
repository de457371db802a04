/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counted_realloc.h
 * Blocks that grow, counted and refused as those of counted_blocks.h: for tests that wrap
 * realloc(), too.
 */
#ifndef TESTS_MPI_COUNTED_REALLOC_H
#define TESTS_MPI_COUNTED_REALLOC_H

#include "counted_blocks.h"

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size) {
  if (allocation_fails()) return NULL;
  blocks += block == NULL;
  return __real_realloc(block, size);
}

#endif

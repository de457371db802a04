/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counted_blocks.h
 * Memory in step tests: the linker hands the calls of malloc() and its like in the test and in the
 * files that it links to this header (wrapped_NAME in tests/mpi/CMakeLists.txt), which counts the
 * blocks that are in use, and lets allocations fail. One file of a test includes it.
 */
#ifndef TESTS_MPI_COUNTED_BLOCKS_H
#define TESTS_MPI_COUNTED_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

static int blocks;                /* that are in use */
static bool memory_is_out;        /* all allocations fail */
static int allocations_left = -1; /* before one fails; -1: none does */

/* A test need not count all of them: the linker defines the ones that it asks for. */
#pragma weak __real_malloc
#pragma weak __real_calloc
#pragma weak __real_aligned_alloc
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

static inline bool allocation_fails(void) {
  return memory_is_out || (allocations_left >= 0 && allocations_left-- == 0);
}

static inline void *counted(void *block) {
  blocks++;
  return block;
}

void *__wrap_malloc(size_t bytes) {
  return allocation_fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return allocation_fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *block) {
  blocks -= block != NULL;
  __real_free(block);
}

#endif

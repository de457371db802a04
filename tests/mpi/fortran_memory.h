/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fortran_memory.h
 * For step tests of the Fortran bindings, which wrap free(): arrays and strings of the bindings,
 * counted, with a mark behind each that a write beyond its end destroys; the calls of both names
 * of a function; numbers of handles.
 */
#ifndef TESTS_MPI_FORTRAN_MEMORY_H
#define TESTS_MPI_FORTRAN_MEMORY_H

#include <stdbool.h>

#include "tmpi/bindings/bindings.h"
#include "traced_calls.h"

/* The notes of the bindings name the section of their code. */
__attribute__((section("tmpi_fortran"), used)) static void in_section(void) {}

/** Stand-ins of MPI_NAME and PMPI_NAME, which call NAME_of_c. */
#define BOTH_NAMES(name, parameters, arguments)                                                    \
  int MPI_##name parameters {                                                                      \
    assert_false(profiled);                                                                        \
    return name##_of_c arguments;                                                                  \
  }                                                                                                \
  int PMPI_##name parameters {                                                                     \
    assert_true(profiled);                                                                         \
    return name##_of_c arguments;                                                                  \
  }

/** Both names of a subroutine. */
#define BOTH(name) {mpi_##name, pmpi_##name}

static bool profiled; /* the subroutine of the name PMPI runs */

/** A handle is its number. */
#define HANDLE(number) ((void *)(intptr_t)(number))
#define NUMBER(handle) ((int)(intptr_t)(handle))

/* ---- memory */

#define MARK 0x5aa5f00d5aa5f00dULL

struct before { /* a block */
  size_t bytes;
  unsigned long long mark;
};

static int blocks; /* that are in use */

void __real_free(void *block);
void __wrap_free(void *block);

void *tmf_array(int count, size_t size) {
  const unsigned long long mark = MARK;
  size_t bytes = (count > 0 ? (size_t)count : 1) * size;
  struct before *made = calloc(1, sizeof *made + bytes + sizeof mark);
  assert_non_null(made);
  *made = (struct before){bytes, mark};
  memcpy((char *)(made + 1) + bytes, &mark, sizeof mark);
  blocks++;
  return made + 1;
}

void __wrap_free(void *block) {
  const unsigned long long mark = MARK;
  if (block == NULL) return;
  struct before *before = (struct before *)block - 1;
  assert_true(before->mark == mark);
  assert_memory_equal((char *)block + before->bytes, &mark, sizeof mark);
  blocks--;
  __real_free(before);
}

char *tmf_string(const char *text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') length--;
  char *copy = tmf_array((int)length + 1, 1);
  memcpy(copy, text, length);
  return copy;
}

void tmf_pad(char *to, size_t length, const char *text) {
  memset(to, ' ', length);
  memcpy(to, text, strlen(text) < length ? strlen(text) : length);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file no_memory.h
 * Each allocation of a call fails in turn: the call returns MPI_ERR_NO_MEM, gives no object, and
 * gives back what it had taken. For one rank, since members of a larger communicator would wait for
 * the one that fails.
 */
#ifndef TESTS_MPI_NO_MEMORY_H
#define TESTS_MPI_NO_MEMORY_H

#include "check.h"
#include "failing_blocks.h"

#pragma weak blocks_watch
#pragma weak blocks_end

/** The bits of these allocations. */
#define FROM_TO(first, last) ((2ULL << (last)) - (1ULL << (first)))

/** A call. ends: the allocations at which the job ends, since other members wait for this one or a
 * message would be lost, a bit for each; they are left out. */
struct row {
  const char *name;
  int (*call)(void);
  unsigned long long ends;
};

/** The function has been called before, so what the library keeps for later calls is there. An
 * allocation that could only make later calls faster may fail without a word. @return how many
 * allocations went wrong. */
static inline int check_row(const struct row *row) {
  int wrong = 0;
  bool failed = true;
  for (int warm = 0; warm < 2; warm++) CHECK(row->call() == MPI_SUCCESS);
  for (int at = 1; failed; at++) {
    int left, class = MPI_SUCCESS;
    if (at < 64 && (row->ends >> at & 1) != 0) continue;
    blocks_watch((void *)(uintptr_t)PMPI_Comm_dup, at);
    int error = row->call();
    failed = blocks_end(&left);
    MPI_Error_class(error, &class);
    if (left == 0 && (class == MPI_SUCCESS || (failed && class == MPI_ERR_NO_MEM))) continue;
    fprintf(stderr, "%s: allocation %d %s: class %d, and %d blocks are kept\n", row->name, at,
            failed ? "fails" : "does not fail", class, left);
    wrong++;
  }
  return wrong;
}

/** MPI_COMM_SELF is made when it is first used. */
static inline void check_first_self(void) {
  int left, class;
  blocks_watch((void *)(uintptr_t)PMPI_Comm_dup, 1);
  int error = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(blocks_end(&left) && left == 0);
  MPI_Error_class(error, &class);
  CHECK(class == MPI_ERR_NO_MEM);
}

/** In place of MPI_Init_thread(). */
static inline void start(int *argc, char ***argv, int level) {
  int size;
  MPI_Init_thread(argc, argv, level, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 1 && blocks_watch != NULL && blocks_end != NULL);
  CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  check_first_self();
  CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static inline void check_rows(const struct row *rows, size_t count) {
  int wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += check_row(&rows[i]);
  CHECK(wrong == 0);
}

#endif

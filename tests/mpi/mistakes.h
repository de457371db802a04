/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mistakes.h
 * The parts of mistakes.c.
 */
#ifndef TESTS_MPI_MISTAKES_H
#define TESTS_MPI_MISTAKES_H

struct mistake {
  const char *name; /**< NULL: behind the last one */
  void (*make)(void);
};

extern int rank, size;

/** At windows. */
extern const struct mistake window_mistakes[];

#endif

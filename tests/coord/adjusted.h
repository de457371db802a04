/* SPDX-License-Identifier: Apache-2.0 */
/** @file adjusted.h What adjusted.c asks its libraries. */
#ifndef TESTS_COORD_ADJUSTED_H
#define TESTS_COORD_ADJUSTED_H

#include <stddef.h>

enum { NOTED = 8, VARIABLES = 128 };

/** The functions that libraries for teams have note here how they are called. */
extern struct noted {
  const char *name; /**< of the last one called */
  long arguments[NOTED];
  int calls;
  int max, level;           /**< what OpenMP answers */
  int pushes, pushed;       /**< sizes given to libomp, and the last one */
  void *passed[VARIABLES];  /**< to a region of libomp's */
  char controls[64];        /**< of oneTBB: "+2-3", made with 2, then the one with 3 ended */
  long blas, wide, mkl;     /**< numbers of threads of each BLAS */
  int blas_gets, blas_sets; /**< of all of them */
} noted;

/** In the module, which is loaded for its caller alone. */
typedef const void *caller_in_module(void);

#endif

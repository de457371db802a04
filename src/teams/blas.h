/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file blas.h
 * Calls of a BLAS that may use several threads. The functions themselves are made from
 * blas.table.
 */
#ifndef MT_TEAMS_BLAS_H
#define MT_TEAMS_BLAS_H

#include <stdint.h>

#include "base/ilock.h"

/** The two functions that read and set a library's number of threads. */
struct mt_blas_size {
  int (*get)(void); /**< NULL: see wide_get */
  void (*set)(int);
  int64_t (*wide_get)(void); /**< BLIS has integers of 64 bits */
  void (*wide_set)(int64_t);
};

/** A build of a BLAS, whose functions have a prefix and a suffix of their own. A program may load
 * several. */
struct mt_blas {
  const char *get_name, *set_name; /**< [const] of its number of threads, if it is an OpenBLAS */
  mt_ilock lock;
  struct mt_blas_size size; /**< [lock] all NULL: not looked for yet, or it is another BLAS */
  int own;                  /**< [lock] its own number of threads; 0: not asked yet */
  int now;                  /**< [lock] as we have set it last */
};

/** OpenBLAS uses one thread for a call with less work than this, multiplications; so it is passed
 * on as it is. */
#define MT_BLAS_SMALL 65536.0

/** Gives the library the program's grant before a call. mt_team_end() is to follow the call. */
void mt_blas_begin(struct mt_blas *blas, const void *caller);

#endif

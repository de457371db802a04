/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file blas.h
 * Calls of OpenBLAS that may use several threads. The functions themselves are made from
 * blas.table.
 */
#ifndef MT_TEAMS_BLAS_H
#define MT_TEAMS_BLAS_H

#include "base/ilock.h"

/** A build of OpenBLAS, whose functions have a prefix and a suffix of their own. A program may load
 * several. */
struct mt_blas {
  const char *get_name, *set_name; /**< [const] of its number of threads */
  mt_ilock lock;
  int (*get)(void); /**< [lock] NULL: not looked for yet, or it is another BLAS */
  void (*set)(int); /**< [lock] likewise */
  int own;          /**< [lock] its own number of threads; 0: not asked yet */
  int now;          /**< [lock] as we have set it last */
};

/** OpenBLAS uses one thread for a call with less work than this, multiplications; so it is passed
 * on as it is. */
#define MT_BLAS_SMALL 65536.0

/** Gives the library the program's grant before a call. mt_team_end() is to follow the call. */
void mt_blas_begin(struct mt_blas *blas, const void *caller);

#endif

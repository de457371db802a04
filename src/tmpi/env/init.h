/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file init.h
 * What MPI_Init() and MPI_Session_init() share.
 */
#ifndef TM_ENV_INIT_H
#define TM_ENV_INIT_H

#include "tmpi/rank/rank.h"

/** @return the calling rank; of a program that tmpirun did not start, after making a job of one. */
struct tm_rank *tm_init_rank(const char *call);

#endif

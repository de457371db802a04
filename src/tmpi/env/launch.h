/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file launch.h
 * What tmpirun and libmpi_abi say to each other through the environment, across processes.
 *
 * TM_LAUNCH    a wrapper that tmpirun has started has this: tmpirun's file and options. The MPI
 *              program that the wrapper starts becomes tmpirun with these (launched.c).
 * TM_RANKS     a wrapper has this, too: how many ranks the user has asked for.
 * TM_UNSTARTED a wrapper has this, too: a file that is there until a tmpirun starts
 *              (run/wrapped.h).
 * TM_LAUNCHED  tmpirun has this when such a program has become it: the command is an MPI program.
 * TM_JOB       ranks have this, and the programs that they start.
 *
 * LD_AUDIT of wrappers and ranks begins with TM_AUDITOR in the folder of libmpi_abi
 * (run/audited.h).
 */
#ifndef TM_ENV_LAUNCH_H
#define TM_ENV_LAUNCH_H

#include <stdbool.h>

#include "tmpi/rank/export.h"

#define TM_LAUNCH "TMPI_LAUNCH"
#define TM_RANKS "TMPI_RANKS"
#define TM_UNSTARTED "TMPI_UNSTARTED"
#define TM_LAUNCHED "TMPI_LAUNCHED"
#define TM_JOB "TMPI_JOB"
#define TM_AUDITOR "/tmpi/audit.so"

enum { TM_LAUNCH_SEPARATOR = '\x1f' };

/** @return the variable in which a launcher has written how many processes it has started as one
 * job, of which this is one; NULL: none has, or it has started one. with_pmix: also a launcher that
 * offers PMIx, by which tmpiruns find each other. */
TM_EXPORT const char *tm_launch_several(bool with_pmix);

/** Why the process may not become a job of one rank, and what to do; NULL: it may. */
const char *tm_launch_refusal(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * The job's beginning.
 */
#ifndef TM_ENV_JOB_H
#define TM_ENV_JOB_H

#include "tmpi/rank/rank.h"

/** Makes the job, of which this process has `local` ranks from `first` on. libmltp runs. @return 0,
 * EINVAL (there is one), ENOMEM, EAGAIN. */
TM_EXPORT int tm_job_start(int size, int first, int local);

#endif

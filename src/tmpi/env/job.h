/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * The job's beginning.
 */
#ifndef TM_ENV_JOB_H
#define TM_ENV_JOB_H

#include "tmpi/rank/rank.h"

/** Makes the job, with room for `most` ranks. This process has `local` of its ranks from `first`
 * on. libmltp runs. @return 0, EINVAL (there is one), ENOMEM, EAGAIN. */
TM_EXPORT int tm_job_start(int size, int most, int first, int local);

#endif

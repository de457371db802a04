/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file time.h
 * Time and sleeping. All times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef MLTP_TIME_H
#define MLTP_TIME_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** A deadline that never comes. */
#define MLTP_NEVER UINT64_MAX

/** @return now, in nanoseconds of CLOCK_MONOTONIC. Blocks: no. Context: any. */
MLTP_API uint64_t mltp_now(void);

/** @return the deadline ns nanoseconds from now (MLTP_NEVER if that overflows).
 * Blocks: no. Context: any. */
MLTP_API uint64_t mltp_after(uint64_t ns);

/** Sleeps ns nanoseconds or somewhat longer. @return 0; ECANCELED: less, see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sleep(uint64_t ns);

/** Sleeps until the deadline or somewhat longer. @return 0; ECANCELED: not so long, see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sleep_until(uint64_t deadline);

MLTP_END_DECLS

#endif

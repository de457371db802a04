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

/** Returns the time. @return nanoseconds of CLOCK_MONOTONIC. Blocks: no. Context: any. */
MLTP_API uint64_t mltp_now(void);

/** Returns the deadline that is ns nanoseconds from now. @return the deadline; MLTP_NEVER: the sum
 * overflows. Blocks: no. Context: any. */
MLTP_API uint64_t mltp_after(uint64_t ns);

/** Sleeps for ns nanoseconds or somewhat longer. @return 0; ECANCELED: it slept less, see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sleep(uint64_t ns);

/** Sleeps until a deadline or somewhat longer. @return 0; ECANCELED: it woke earlier, see
 * mltp_cancel(). Blocks: thread. Context: any. */
MLTP_API int mltp_sleep_until(uint64_t deadline);

MLTP_END_DECLS

#endif

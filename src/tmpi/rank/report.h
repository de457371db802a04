/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file report.h
 * What each rank is doing, in words, ranks that do the same together: for deadlocks.
 */
#ifndef TM_RANK_REPORT_H
#define TM_RANK_REPORT_H

/** From now on a deadlock is told of in terms of ranks. */
void tm_report_start(void);

#endif

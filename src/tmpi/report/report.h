/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file report.h
 * What each rank is doing, ranks that do the same together, and what may be wrong.
 */
#ifndef TM_REPORT_REPORT_H
#define TM_REPORT_REPORT_H

#include "tmpi/rank/rank.h"

/** From now on a deadlock is reported in terms of ranks. */
void tm_report_start(void);

/** Writes a report to stderr. Also while ranks run, from any kernel thread.
 * @param title  its first line: "deadlock", say
 * @param still  none of them will continue */
TM_EXPORT void tm_report(const char *title, bool still);

/** Reads what the ranks of this node do, for the report of another node of the job.
 * @return `*bytes` of it, to be freed; NULL: no memory. */
TM_EXPORT void *tm_report_gather(size_t *bytes);

/** What ranks of another node do, as tm_report_gather() has read it there: the next report tells of
 * them, too. */
TM_EXPORT void tm_report_add(const void *gathered, size_t bytes);

#endif

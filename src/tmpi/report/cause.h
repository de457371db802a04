/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cause.h
 * What may be wrong, in parts: cause.c for messages, cause_collective.c.
 */
#ifndef TM_REPORT_CAUSE_H
#define TM_REPORT_CAUSE_H

#include <stdbool.h>

#include "tmpi/report/activity.h"

enum { TM_CAUSES_MAX = 8 /* reported of a kind */ };

/** Writes a line of the report. */
void tm_cause_print(const char *text);

/** Finds the ranks whose waits nothing can end. activity: of all ranks; still: none of them will
 * continue. */
void tm_report_causes(const struct tm_activity *activity, bool still);

/** Looks at the waiters in collectives, once for each communicator. doing: of all ranks; still:
 * none of them will continue. */
void tm_cause_collectives(const struct tm_activity *activity, bool still);

#endif

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

/** cause_arrived.c: looks at receivers whose mailboxes have a message of the awaited sender that
 * does not fit. */
void tm_cause_arrived(const struct tm_activity *activity);

/** Likewise: looks at receivers that take a message of any rank, where no rank will send one. */
void tm_cause_any_source(const struct tm_activity *activity);

/** @return whether a rank has nothing to send or receive any more. */
bool tm_cause_is_over(const struct tm_activity *activity);

/** Looks at the waiters in collectives, once for each communicator. doing: of all ranks; still:
 * none of them will continue. */
void tm_cause_collectives(const struct tm_activity *activity, bool still);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file text.h
 * Ranks in words, for reports.
 */
#ifndef TM_REPORT_TEXT_H
#define TM_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/rank/export.h"

enum { TM_RANKS_TEXT = 120, TM_ACTIVITY_TEXT = 600 };

/** Writes "ranks 0-2, 7" of those in the set, in ascending order; "..." where there are too many.
 * @return how many there are. */
TM_EXPORT int tm_text_ranks(char text[TM_RANKS_TEXT], const bool *set, int size);

struct tm_activity;

/** Writes what follows "waits ": "in MPI_Recv: no message has come from rank 0, ...". peers: name
 * the ranks it waits for, too. */
void tm_text_activity(char text[TM_ACTIVITY_TEXT], const struct tm_activity *activity, bool peers);

/** @return the name of a communicator, or words for one without. */
TM_EXPORT const char *tm_text_comm(const char *name);

#endif

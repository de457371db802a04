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

/** What the text of an activity leaves open, so that ranks whose values differ have one text. */
enum tm_fold { TM_FOLD_PEER = 1, TM_FOLD_TAG = 2, TM_FOLD_BYTES = 4, TM_FOLD_COMM = 8 };

/** Writes what follows "waits ": "in MPI_Recv: no message has come from rank 0, ...". fold: a set
 * of enum tm_fold. */
void tm_text_activity(char text[TM_ACTIVITY_TEXT], const struct tm_activity *activity, int fold);

/** Writes what such a text leaves open of an activity: "rank 1, tag 4"; nothing where that is
 * nothing.
 */
void tm_text_folded(char text[TM_ACTIVITY_TEXT], const struct tm_activity *activity, int fold);

/** @return the name of a communicator, or words for one without. */
TM_EXPORT const char *tm_text_comm(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file words.h
 * Ranks in words, for reports.
 */
#ifndef TM_RANK_WORDS_H
#define TM_RANK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/rank/shown.h"

enum { TM_RANKS_TEXT = 120, TM_WHAT_TEXT = 600 };

/** Writes "ranks 0-2, 7" of those in the set, in ascending order; "..." where there are too many.
 * @return how many there are. */
TM_SHOWN int tm_words_ranks(char text[TM_RANKS_TEXT], const bool *set, int size);

struct tm_doing;

/** Writes what follows "waits ": "in MPI_Recv: no message has come from rank 0, ...". peers: whom
 * it waits for is said, too. */
void tm_words_doing(char text[TM_WHAT_TEXT], const struct tm_doing *doing, bool peers);

/** @return the name of a communicator, or words for one without. */
TM_SHOWN const char *tm_words_comm(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file output.h
 * The output of each rank: each line begins with the rank (--label), or each rank has a file of its
 * own (--output). Otherwise all ranks share the streams, and nothing of this runs.
 *
 * stdout and stderr become streams with a writing function of ours, which finds the writing rank.
 * They are not buffered, so that the output of two ranks is never mixed. An incomplete line waits
 * for its end, or the rank's.
 */
#ifndef TM_RUN_OUTPUT_H
#define TM_RUN_OUTPUT_H

#include <stdbool.h>

/** Before programs are bound. label; files: PREFIX.RANK, NULL: none. @return false after a message.
 */
bool tm_output_start(int ranks, bool label, const char *files);

/** Writes what a rank has begun a line with. */
void tm_output_end(int rank);

/** The same of all ranks: the process is about to end. Async-signal-safe. */
void tm_output_end_all(void);

/** @return a function that takes the place of libc's of that name; NULL: none. */
const void *tm_output_override(const char *name);

#endif

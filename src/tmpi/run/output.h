/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file output.h
 * The output of each rank: each line begins with the rank (--label), or each rank has a file of its
 * own (--output), or what a rank has redirected (streams.c). Otherwise all ranks share the streams,
 * and nothing of this runs.
 *
 * stdout and stderr become streams with a writing function of ours, which finds the writing rank.
 * They are not buffered, so that the output of two ranks is never mixed. An incomplete line waits
 * for its end, or the rank's.
 */
#ifndef TM_RUN_OUTPUT_H
#define TM_RUN_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

/** Before programs are bound. label; files: PREFIX.RANK, NULL: none. @return false after a message.
 */
bool tm_output_start(int ranks, bool label, const char *files);

/** Room for more ranks than that, which are spawned. @return false after a message. */
bool tm_output_reserve(int ranks);

/** The output of one of them. @return 0, or why there is none. */
int tm_output_add(int rank);

/** Writes what a rank has begun a line with. */
void tm_output_end(int rank);

/** The same of all ranks: the process is about to end. Async-signal-safe. */
void tm_output_end_all(void);

/** @return the descriptor of a rank's file; -1: none. */
int tm_output_file(int rank);

/** From now on stdout and stderr are streams of ours. @return false after a message. */
bool tm_output_route(int ranks);
bool tm_output_is_routed(void);

enum { TM_OUTPUT_SHARED = -1, TM_OUTPUT_CLOSED = -2 };

/** own: tells what a rank has in the place of descriptor 1 or 2: another, or one of these. */
void tm_output_follow(int (*own)(int rank, int fd));

/** As write(2), of a rank, to what it has as stdout or stderr. */
ssize_t tm_output_write(int fd, const void *text, size_t length);

/** A flush of stdout has failed; the first one counts. error: an errno value. */
void tm_output_flush_failed(int error);

/** @return whether all that ranks have printed was written; otherwise after a message. */
bool tm_output_is_complete(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file streams.h
 * Descriptors that a rank has in the place of those of stdout and stderr: streams.c.
 */
#ifndef TM_RUN_STREAMS_H
#define TM_RUN_STREAMS_H

#include <stdbool.h>
#include <stdio.h>

struct tm_program;

/** After the program has been read: prepares it if the program may redirect its output. @return
 * false after a message. */
bool tm_streams_start(const struct tm_program *program);

/** @return whether it is a standard stream, which ranks share. */
bool tm_streams_is_shared(const FILE *stream);

/** In a child of fork(), or before exec(): the process has the rank's descriptors. */
void tm_streams_expose(int rank);

/** The rank has ended: closes them. */
void tm_streams_end(int rank);

#endif

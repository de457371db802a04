/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file streams.h
 * Descriptors that a rank has in the place of those of stdin, stdout and stderr: streams.c.
 */
#ifndef TM_RUN_STREAMS_H
#define TM_RUN_STREAMS_H

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>

struct tm_program;

/** After the program has been read: prepares it if the program may redirect its output. @return
 * false after a message. */
bool tm_streams_start(const struct tm_program *program);

/** @return whether it is a standard stream, which ranks share. */
bool tm_streams_is_shared(const FILE *stream);

/** Functions that make a descriptor; the last one is NULL: descriptors.c. */
extern const char *const tm_descriptor_makers[];

/** @return the descriptor that the calling rank means. */
int tm_streams_meant(int fd);

/** @return the rank's number of a descriptor: the inverse of that. */
int tm_streams_number(int fd);

/** @return whether the calling rank means another descriptor by any number. */
bool tm_streams_any(void);

/** What a call has made for the calling rank, with the least number that it may have. @return its
 * number: the lowest that the rank has closed. */
int tm_streams_give(int fd, int least, const char *call);

enum { TM_STREAMS_PATH = 32 };

/** @return the path, or, where it names a descriptor as /dev/stdout does, that of the rank's. */
const char *tm_streams_path(const char *path, char room[TM_STREAMS_PATH]);

/** Adds what gives a child the rank's descriptors. @return 0, or ENOMEM. */
int tm_streams_spawn(posix_spawn_file_actions_t *actions);

/** In a child of fork(), or before exec(): the process has the rank's descriptors. */
void tm_streams_expose(int rank);

/** The rank has ended: closes them. */
void tm_streams_end(int rank);

#endif

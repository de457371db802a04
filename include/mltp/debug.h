/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file debug.h
 * Seeing inside: dumps, options, version; the exit statuses the library uses.
 */
#ifndef MLTP_DEBUG_H
#define MLTP_DEBUG_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Exit status after a deadlock report (MLTP_DEADLOCK=abort, the default). */
#define MLTP_EXIT_DEADLOCK 86

/** Exit status after MLTP_STEPS_MAX scheduling points (deterministic mode). */
#define MLTP_EXIT_LIVELOCK 87

/**
 * Writes all threads to fd: id, name, kind, state, what each waits for and for how
 * long, its VP, and the backtrace of unbound ones that do not run. A snapshot that stops
 * nobody: it may be out of date, but objects and threads may come and go meanwhile; of
 * names, what fits into 95 bytes is shown. The time of an unbound thread is an upper
 * bound: it begins when its VP last read the clock, which a busy one does every 1024
 * scheduling points. The same comes on the signal MLTP_DUMP_SIGNAL names; there
 * backtraces are offsets only, because looking up symbols is not safe in a handler.
 * Blocks: no (but writes to fd). Context: any.
 */
MLTP_API void mltp_dump(int fd);

/** Writes one line per option to fd: environment variable, value now, default,
 * meaning. Blocks: no. Context: any, also before mltp_init(). */
MLTP_API void mltp_options(int fd);

/** @return the version of the library in use, "major.minor.patch". Context: any. */
MLTP_API const char *mltp_version(void);

MLTP_END_DECLS

#endif

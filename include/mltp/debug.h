/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file debug.h
 * Dumps, options, the version, and the exit statuses that the library uses.
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
 * Writes a list of all threads to fd: id, name, kind, state, what each waits for and for how
 * long, its VP, and the backtrace of each unbound thread that does not run.
 *
 * The list is a snapshot, and may be out of date when it is read: no thread stops for it, and
 * threads and objects may come and go meanwhile. Names are cut after 95 bytes. The time of an
 * unbound thread is an upper bound: it begins when its VP last read the clock, which a busy VP
 * does every 1024 scheduling points. The signal that MLTP_DUMP_SIGNAL names causes the same list,
 * with offsets in place of function names, since a handler must not look up symbols.
 * Blocks: no (but writes to fd). Context: any.
 */
MLTP_API void mltp_dump(int fd);

/** Writes a list of all options to fd: environment variable, value, default and meaning of each.
 * Blocks: no. Context: any, also before mltp_init(). */
MLTP_API void mltp_options(int fd);

/** Writes the costs that the library has measured on this machine to fd, and the constants that
 * follow from them: key with unit, value, origin and meaning of each. The keys are those of the
 * file that MLTP_TUNING names. Some costs are learned while threads run. Without a runtime all are
 * 0. Blocks: no. Context: any. */
MLTP_API void mltp_options_measured(int fd);

/** Returns the version of the library in use. @return "major.minor.patch". Context: any. */
MLTP_API const char *mltp_version(void);

MLTP_END_DECLS

#endif

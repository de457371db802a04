/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file override.h
 * Functions that take the place of libc's, because libc's end a process or block a kernel thread.
 *
 * The loader binds a program and its own libraries to them. Libraries that ranks share find the
 * exported ones before libc's, so that a rank ends when such a library calls exit(). A thread that
 * belongs to no rank gets libc's. Functions that only keep state for a process are not here: each
 * rank has copies of them (src/tmpi/private).
 */
#ifndef TM_RUN_OVERRIDE_H
#define TM_RUN_OVERRIDE_H

/** Exported: stands before libc's. */
#define TM_EXPORTED __attribute__((visibility("default")))

typedef void tm_any(void);

struct tm_override {
  const char *name; /* NULL: the last row */
  tm_any *function;
};

extern const struct tm_override tm_override_ending[];   /* ending.c */
extern const struct tm_override tm_override_threads[];  /* threads.c */
extern const struct tm_override tm_override_keys[];     /* keys.c */
extern const struct tm_override tm_override_cleanups[]; /* cleanups.c */
extern const struct tm_override tm_override_locks[];    /* locks.c */
extern const struct tm_override tm_override_blocking[]; /* blocking.c */
extern const struct tm_override tm_override_waiting[];  /* waiting.c */
extern const struct tm_override tm_override_signals[];  /* signals.c */
extern const struct tm_override tm_override_shared[];   /* shared.c */
extern const struct tm_override tm_override_objects[];  /* objects.c */
extern const struct tm_override tm_override_critical[]; /* critical.c */
extern const struct tm_override tm_override_files[];    /* record_locks.c */
extern const struct tm_override tm_override_programs[]; /* programs.c */
extern const struct tm_override tm_override_children[]; /* children.c */
extern const struct tm_override tm_override_actions[];  /* spawn_actions.c */
extern const struct tm_override tm_override_streams[];  /* streams.c */
extern const struct tm_override tm_override_unlocked[]; /* unlocked.c */
extern const struct tm_override tm_override_wide[];     /* wide.c */
extern const struct tm_override tm_override_environment[];
extern const struct tm_override tm_override_carried[];  /* working_directory.c */
extern const struct tm_override tm_override_locales[];  /* locales.c */
extern const struct tm_override tm_override_zone[];     /* zone.c */
extern const struct tm_override tm_override_timers[];   /* timers.c */
extern const struct tm_override tm_override_mappings[]; /* mappings.c */
extern const struct tm_override tm_override_descriptors[];
extern const struct tm_override tm_override_number[]; /* process_number.c */
extern const struct tm_override tm_override_forks[];
extern const struct tm_override tm_override_arguments[]; /* argument_parser.c */

/** Sets errno. A function that may have moved to another kernel thread sets it by this: the
 * compiler may have kept the address of the errno that it had before. */
void tm_set_errno(int error);

/** @return what takes the place of a function of libc; NULL: nothing. */
const void *tm_override(const char *name);

#endif

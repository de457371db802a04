/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file unknown_options.h
 * Finds misspelt options in the environment.
 */
#ifndef MT_BASE_UNKNOWN_OPTIONS_H
#define MT_BASE_UNKNOWN_OPTIONS_H

/** Prints a message for each environment variable that begins with MLTP_ and is none of ours, with
 * the option whose name is nearest; once in a process. Reads environ, as getenv() does. */
void mt_options_warn_of_unknown(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wrapped.h
 * tmpirun waits for a wrapper (wrapper.h), and sees whether ranks have been started.
 *
 * A script without an MPI program runs once. Its user has asked for N processes, and would take the
 * result for that of N. So tmpirun makes an empty file, whose name the wrapper's environment
 * has (TM_UNSTARTED). Each tmpirun that starts removes it. A wrapper that succeeds and leaves it
 * has started none.
 *
 * tmpirun stays the wrapper's parent for that, and is like it to others: signals that are sent to
 * it are handed on, it stops and ends with it, and the wrapper is killed when tmpirun is.
 *
 * Rejected: a descriptor in place of a file, because many programs close what they do not know
 * before they start others.
 */
#ifndef TM_RUN_WRAPPED_H
#define TM_RUN_WRAPPED_H

/** Says to the tmpirun above that this one runs. */
void tm_wrapped_started(void);

/** Runs the wrapper's file with its words and ends as it does, with 1 if it has succeeded without
 * ranks, or, after a message, if there is no file or process for that. */
void tm_wrapped_run(const char *path, char *const *command, int ranks) __attribute__((noreturn));

#endif

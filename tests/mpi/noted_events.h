/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file noted_events.h
 * A trace that the files of one test share: stand-ins note what is called, and the test compares.
 * Words have their spaces. traced_calls.h is for tests of one file.
 */
#ifndef TESTS_MPI_NOTED_EVENTS_H
#define TESTS_MPI_NOTED_EVENTS_H

enum { EVENTS = 1 << 16 };

extern char events[EVENTS]; /**< what was called, in this order */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Checks what was called since the last time. */
void check_events(const char *expected);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file message.h
 * Messages of the package: "mltp-systemc: what failed: why (what to do)".
 */
#ifndef MT_SYSTEMC_MESSAGE_H
#define MT_SYSTEMC_MESSAGE_H

/** Prints to stderr, in one write and without allocation, what failed, why, and what to do. */
void mt_co_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same, then abort(). */
void mt_co_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file message.h
 * Messages of the mltp command.
 */
#ifndef TOOLS_MLTP_MESSAGE_H
#define TOOLS_MLTP_MESSAGE_H

/** A line on stderr, with "mltp: " before it: what failed: why (what to do). */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

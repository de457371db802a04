/* SPDX-License-Identifier: Apache-2.0 */
/** @file supervise.h A command that stays beside the program it starts, and looks now and then. */
#ifndef TOOLS_MLTP_SUPERVISE_H
#define TOOLS_MLTP_SUPERVISE_H

#include <stdint.h>

enum { EXIT_FAILED = 1, EXIT_NOT_STARTED = 127 };

/**
 * Joins mltpd for a program that does not do so itself. Waits for a tenth of a second at most. A
 * message says if a daemon that was named cannot be joined; then the program runs as without one.
 * @param where as for mt_client_join(); NULL: what MLTP_COORDINATOR says, else "auto"
 * @param role enum mt_proto_role
 * @param most CPUs that it may use when it is alone
 */
void supervise_join(const char *where, uint32_t role, unsigned most);

/**
 * Starts a program, and looks each `look_ms` until it ends. SIGTERM and SIGHUP go to the program;
 * the terminal sends SIGINT and SIGQUIT to it as well.
 * Blocks until the program has ended.
 * @param words the program and its arguments, NULL after the last
 * @param enter called in the new process before the program starts, @return 0 or an errno value,
 * after a message; NULL: nothing is to be done there
 * @return the program's exit status, 128 and the number of the signal that ended it,
 * EXIT_NOT_STARTED after a message, or EXIT_FAILED after one: there is no process for it
 */
int supervise(char **words, int (*enter)(void), void (*look)(void), unsigned look_ms);

#endif

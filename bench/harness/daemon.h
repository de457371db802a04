/* SPDX-License-Identifier: Apache-2.0 */
/** @file daemon.h An mltpd of the benchmark's own, for the programs that it starts. */
#ifndef BENCH_DAEMON_H
#define BENCH_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

struct bench_daemon {
  pid_t pid;
  char socket[80]; /* for MLTP_COORDINATOR */
};

/** Starts mltpd, which lies beside this program, and waits until it listens. @return whether it
 * does; a message says why not. */
bool bench_daemon_start(struct bench_daemon *daemon);

/** Ends it, and removes what it leaves. */
void bench_daemon_stop(const struct bench_daemon *daemon);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file load.h
 * The client of `mltp-bench io`: one loop over epoll, the same for every server. Each connection
 * always has one request under way. A request names its connection and its number, and the answer
 * has to be equal.
 */
#ifndef BENCH_IO_LOAD_H
#define BENCH_IO_LOAD_H

#include <stdbool.h>
#include <sys/types.h>

/** What one run found. */
struct io_sample {
  double requests_per_second;
  double requests_per_cpu_second; /**< of the server's CPU time */
  double us[3];                   /**< latency: median, 99 %, 99.9 % */
};

/** Runs a server with `connections` connections until `requests` answers have come.
 * @return NULL; what went wrong */
const char *io_run(const char *server, int connections, int requests, struct io_sample *sample);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file experiment.c An echo server, at 1 to 10,000 connections.
 *
 * Servers on libmltp, on Go's net, on Boost.Asio and with a pthread for each connection, with the
 * same client, take turns run by run. Requests for each CPU second of the server's say what a
 * server costs; they depend less on what else runs than requests for each second and latency do.
 *
 * Verified: each answer is equal to its request.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "load.h"

enum { SERVERS = 4, RUNS_MAX = 99, OWN_DESCRIPTORS = 100, CONNECTIONS_MAX = 1000000 };

static const char *const servers[SERVERS] = {"mltp", "go", "asio", "pthreads"};

struct result {
  double per_cpu[RUNS_MAX], per_second[RUNS_MAX], us[3][RUNS_MAX];
  int good;
  bool absent;
  const char *wrong;
};

static void measure_once(struct result *result, const char *server, int connections, int requests) {
  char name[64], path[PATH_MAX];
  struct io_sample sample;
  snprintf(name, sizeof name, "../libexec/mltp/io-%s", server);
  result->absent = !bench_find(name, path);
  if (result->absent || result->wrong != NULL) return;
  result->wrong = io_run(path, connections, requests, &sample);
  if (result->wrong != NULL) return;
  result->per_cpu[result->good] = sample.requests_per_cpu_second;
  result->per_second[result->good] = sample.requests_per_second;
  for (int i = 0; i < 3; i++) result->us[i][result->good] = sample.us[i];
  result->good++;
}

static void add_row(json_t *rows, const char *server, int connections, struct result *result,
                    const char *metric, const char *unit, double *values) {
  bench_row_add(rows, &(struct bench_row){.impl = server,
                                          .params = json_pack("{s:i}", "connections", connections),
                                          .metric = metric,
                                          .unit = unit,
                                          .clock = strstr(metric, "cpu") != NULL ? "cpu" : "wall",
                                          .stats = bench_stats(values, result->good),
                                          .runs = result->good,
                                          .verified = result->wrong == NULL});
}

/* The best of all runs: a busy machine only adds. */
static void report(const char *server, int connections, struct result *result, double of_go,
                   json_t *rows) {
  static const char *const metrics[3] = {"latency_p50", "latency_p99", "latency_p999"};
  printf("%11d  %-9s", connections, server);
  if (result->absent || result->good == 0) {
    printf(" %s\n", result->absent ? "absent" : "FAILED");
    if (result->wrong != NULL) fprintf(stderr, "mltp-bench: io-%s: %s\n", server, result->wrong);
    return;
  }
  double per_cpu = bench_stats(result->per_cpu, result->good).max;
  printf(" %9.0f %11.0f", bench_stats(result->per_second, result->good).max, per_cpu);
  for (int i = 0; i < 3; i++) printf(" %8.0f", bench_stats(result->us[i], result->good).min);
  if (of_go > 0) printf(" %8.2f", per_cpu / of_go);
  printf("%s\n", result->wrong != NULL ? "  FAILED" : "");
  add_row(rows, server, connections, result, "requests_per_cpu_second", "1/s", result->per_cpu);
  add_row(rows, server, connections, result, "requests_per_second", "1/s", result->per_second);
  for (int i = 0; i < 3; i++)
    add_row(rows, server, connections, result, metrics[i], "us", result->us[i]);
}

static bool is_wanted(const char *impls, const char *server) {
  const size_t length = strlen(server);
  for (const char *at = impls; (at = strstr(at, server)) != NULL; at += length)
    if ((at == impls || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

/* Runs of all servers in turn. @return how many failed. */
static int measure_number(const char *impls, int connections, int requests, int runs,
                          json_t *rows) {
  static struct result results[SERVERS];
  int failed = 0;
  memset(results, 0, sizeof results);
  for (int i = 0; i < runs * SERVERS; i++) {
    int server = (i + i / SERVERS) % SERVERS;
    if (is_wanted(impls, servers[server]))
      measure_once(&results[server], servers[server], connections, requests);
  }
  double of_go = results[1].good > 0 ? bench_stats(results[1].per_cpu, results[1].good).max : 0;
  for (int i = 0; i < SERVERS; i++) {
    if (is_wanted(impls, servers[i])) report(servers[i], connections, &results[i], of_go, rows);
    failed += results[i].wrong != NULL;
  }
  fflush(stdout);
  return failed;
}

/* @return how many connections the limit on descriptors allows. */
static long raise_limit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur < CONNECTIONS_MAX ? (long)limit.rlim_cur - OWN_DESCRIPTORS
                                          : CONNECTIONS_MAX;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  static const struct bench_list quick = {2, {1, 100}};
  const struct bench_list *numbers = options->threads.count > 0 ? &options->threads
                                     : options->quick           ? &quick
                                                                : &experiment->threads;
  const char *impls = options->impls != NULL ? options->impls : experiment->impls;
  long requests = options->problem.count > 0 ? options->problem.count
                  : options->quick           ? experiment->quick.count
                                             : experiment->problem.count;
  int runs = options->runs > 0 ? options->runs : experiment->runs, failed = 0;
  if (runs > RUNS_MAX) runs = RUNS_MAX;
  const long most = raise_limit();
  printf("Best of %d interleaved runs; latency in us.\n%11s  %-9s %9s %11s %8s %8s %8s %8s\n", runs,
         "connections", "server", "1/s", "1/CPU s", "50 %", "99 %", "99.9 %", "of Go");
  for (int i = 0; i < numbers->count; i++) {
    const int connections = numbers->value[i];
    if (connections > most) {
      printf("%11d  left out: the limit on open files is too low (ulimit -n)\n", connections);
      continue;
    }
    const int least = 5 * connections;
    failed +=
        measure_number(impls, connections, requests > least ? (int)requests : least, runs, rows);
  }
  return failed;
}

const struct experiment bench_io = {
    .name = "io",
    .shows = "an echo server beside Go's, Boost.Asio's and a pthread for each connection",
    .section = "input and output",
    .impls = "mltp,go,asio,pthreads",
    .threads = {5, {1, 10, 100, 1000, 10000}},
    .threads_max = CONNECTIONS_MAX,
    .runs = 5,
    .problem = {.count = 20000},
    .quick = {.count = 1000},
    .measure = measure,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a peer program: command line, warm-up, clocks, one line of JSON. */
#include "peer.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_VPS = 1024, MAX_MS = 60000, MAX_THREADS = 1000000, MAX_OPS = 1000000000, OPT_OPS = 256 };

struct arguments {
  const char *row;
  long vps;
  long ms;
  long ops; /* 0: as many as fill the time */
};

static const char *row_asked_for = "";

static const struct argp_option options[] = {
    {"ops", OPT_OPS, "N", 0, "Exactly N operations, once, without warm-up", 0}, {0}};

static uint64_t now(clockid_t clock) {
  struct timespec ts;
  clock_gettime(clock, &ts);
  return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void peer_clock_start(struct peer_run *run) {
  run->cpu_ns = now(CLOCK_PROCESS_CPUTIME_ID);
  run->wall_ns = now(CLOCK_MONOTONIC);
}

void peer_clock_stop(struct peer_run *run) {
  run->wall_ns = now(CLOCK_MONOTONIC) - run->wall_ns;
  run->cpu_ns = now(CLOCK_PROCESS_CPUTIME_ID) - run->cpu_ns;
}

static void memory_now(uint64_t *rss_bytes, uint64_t *pte_bytes) {
  uint64_t rss_kib = 0, pte_kib = 0;
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  peer_check(status != NULL, "/proc/self/status");
  while (fgets(line, sizeof line, status) != NULL) {
    sscanf(line, "VmRSS: %" SCNu64, &rss_kib);
    sscanf(line, "VmPTE: %" SCNu64, &pte_kib);
  }
  fclose(status);
  *rss_bytes = rss_kib * 1024;
  *pte_bytes = pte_kib * 1024;
}

void peer_memory_start(struct peer_run *run) { memory_now(&run->rss_bytes, &run->pte_bytes); }

void peer_memory_stop(struct peer_run *run) {
  uint64_t rss, pte;
  memory_now(&rss, &pte);
  run->rss_bytes = rss - run->rss_bytes;
  run->pte_bytes = pte - run->pte_bytes;
}

void peer_check(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s: failed: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(EXIT_FAILURE);
}

void peer_not_offered(void) {
  printf("{\"row\": \"%s\", \"offered\": false}\n", row_asked_for);
  exit(EXIT_SUCCESS);
}

void *peer_alloc(size_t count, size_t size) {
  void *memory = calloc(count, size);
  peer_check(memory != NULL, "calloc");
  return memory;
}

/* Rounds of growing length warm caches and stacks up; the first one after the warm-up that
 * fills at least half of the time is the measurement. */
static bool measure(const struct peer_row *row, long ms, struct peer_run *run) {
  const double goal = (double)ms * 1e6;

  if (run->ops == 0) run->ops = row->fixed_ops;
  if (run->ops != 0) return row->run(run);

  run->ops = row->first_ops;
  for (bool warm = false;; warm = true) {
    if (!row->run(run)) return false;
    if (warm && (double)run->wall_ns >= goal / 2) return true;
    double missing = goal / (double)(run->wall_ns + 1);
    run->ops = (uint64_t)((double)run->ops * (missing > 16 ? 16 : missing)) + 1;
  }
}

static long number(const char *text, long max, const char *what, struct argp_state *state) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < 1 || value > max)
    argp_error(state, "%s: not a number from 1 to %ld: %s", what, max, text);
  return value;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *arguments = state->input;
  switch (key) {
    case OPT_OPS: arguments->ops = number(arg, MAX_OPS, "--ops", state); return 0;
    case ARGP_KEY_ARG:
      if (state->arg_num == 0) arguments->row = arg;
      if (state->arg_num == 1) arguments->vps = number(arg, MAX_VPS, "VPS", state);
      if (state->arg_num == 2) arguments->ms = number(arg, MAX_MS, "MS", state);
      if (state->arg_num > 2) argp_error(state, "too many arguments (see --help)");
      return 0;
    case ARGP_KEY_END:
      if (state->arg_num < 3) argp_error(state, "ROW, VPS and MS are needed (see --help)");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static char *rows_text(const struct peer *peer) {
  char *text;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  peer_check(stream != NULL, "open_memstream");
  fputs(
      "Measures one row of the micro benchmarks for about MS milliseconds and prints one line of "
      "JSON.\vRows:",
      stream);
  for (const struct peer_row *row = peer->rows; row->name != NULL; row++)
    fprintf(stream, row->threads != 0 ? " %s[-THREADS]" : " %s", row->name);
  fclose(stream);
  return text;
}

/* The row of a name, which may end with a number of threads. */
static const struct peer_row *find_row(const struct peer *peer, const char *name,
                                       unsigned *threads) {
  const char *dash = strrchr(name, '-');
  char *end;
  for (const struct peer_row *row = peer->rows; row->name != NULL; row++) {
    *threads = row->threads;
    if (strcmp(row->name, name) == 0) return row;
    if (row->threads == 0 || dash == NULL || strlen(row->name) != (size_t)(dash - name) ||
        strncmp(row->name, name, (size_t)(dash - name)) != 0)
      continue;
    const unsigned long asked = strtoul(dash + 1, &end, 10);
    *threads = (unsigned)asked;
    if (end != dash + 1 && *end == '\0' && asked >= 1 && asked <= MAX_THREADS) return row;
  }
  return NULL;
}

int peer_main(const struct peer *peer, int argc, char **argv) {
  struct arguments arguments = {NULL, 0, 0, 0};
  char *doc = rows_text(peer);
  const struct argp argp = {options, parse, "ROW VPS MS", doc, NULL, NULL, NULL};
  argp_err_exit_status = 2;
  argp_program_version = peer->version;
  argp_parse(&argp, argc, argv, 0, NULL, &arguments);
  free(doc);

  struct peer_run run = {0};
  const struct peer_row *row = find_row(peer, arguments.row, &run.threads);
  row_asked_for = arguments.row;
  if (row == NULL || arguments.vps > peer->max_vps) peer_not_offered();

  run.ops = (uint64_t)arguments.ops;
  peer->start((int)arguments.vps);
  bool verified = measure(row, arguments.ms, &run);
  peer->stop();

  printf("{\"row\": \"%s\", \"offered\": true, \"version\": \"%s\", \"ops\": %" PRIu64
         ", \"wall_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"rss_bytes\": %" PRIu64
         ", \"pte_bytes\": %" PRIu64 ", \"depth\": %" PRIu64 ", \"walk_ns\": %" PRIu64
         ", \"alive\": %" PRIu64 ", \"verified\": %s}\n",
         arguments.row, peer->version, run.ops, run.wall_ns, run.cpu_ns, run.rss_bytes,
         run.pte_bytes, run.depth, run.walk_ns, run.alive, verified ? "true" : "false");
  return verified ? EXIT_SUCCESS : EXIT_FAILURE;
}

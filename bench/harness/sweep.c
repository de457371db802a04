/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sweep.c
 * Measures an experiment over numbers of threads and VPs. For each number of
 * threads all configurations (implementation and VPs) take turns, run by run, so
 * that a disturbance of the machine meets all of them alike.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "experiment.h"
#include "report.h"

enum { CONFIGS_MAX = 3 * BENCH_LIST_MAX };

/** An implementation with a number of VPs, and what its runs gave. */
struct config {
  const struct par *par;
  int vps;
  double *wall, *cpu; /* [runs] of the good runs */
  int good, failed;
  char why[sizeof((struct bench_outcome *)0)->why]; /* of the last failed run */
  struct bench_stats wall_stats, cpu_stats;
};

struct sweep {
  const struct experiment *experiment;
  const struct bench_options *options;
  struct bench_params params;
  struct bench_list threads;
  double reference; /* checksum of the serial run */
  int runs;
  int done, total; /* runs, for the progress line */
  int count;
  struct config config[CONFIGS_MAX];
};

bool bench_same_answer(double checksum, double reference) {
  return isfinite(checksum) && fabs(checksum - reference) <= 1e-10 * fabs(reference);
}

bool bench_wants(const struct bench_options *options, const char *name) {
  size_t length = strlen(name);
  for (const char *at = options->impls; at != NULL; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return options->impls == NULL;
}

/** Makes the configurations of the implementations named. */
static int add_configs(struct sweep *s) {
  const char *names = s->options->impls != NULL ? s->options->impls : s->experiment->impls;
  struct bench_list vps = s->options->vps.count > 0 ? s->options->vps : s->experiment->vps;
  if (vps.count == 0) vps = (struct bench_list){1, {mltp_cpus()}};

  char *list = strdup(names), *rest = list;
  for (const char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
    const struct par *par = par_find(name);
    for (int v = 0; par != NULL && v < (par->has_vps ? vps.count : 1); v++) {
      if (s->count == CONFIGS_MAX) break;
      struct config *c = &s->config[s->count++];
      *c = (struct config){.par = par, .vps = par->has_vps ? vps.value[v] : 0};
      c->wall = calloc((size_t)s->runs, sizeof(double));
      c->cpu = calloc((size_t)s->runs, sizeof(double));
      if (c->wall == NULL || c->cpu == NULL) {
        free(list);
        return -1;
      }
    }
  }
  free(list);
  return 0;
}

static void show_progress(const struct sweep *s, const struct config *c) {
  if (!s->options->progress) return;
  fprintf(stderr, "\r\033[K%s: run %d of %d: %d threads, %s", s->experiment->name, s->done + 1,
          s->total, s->params.threads, c->par->name);
  if (c->vps > 0) fprintf(stderr, " on %d VPs", c->vps);
}

static void measure_once(struct sweep *s, struct config *c) {
  show_progress(s, c);
  s->params.vps = c->vps;
  struct bench_outcome outcome =
      bench_child(s->experiment, c->par, &s->params, s->options->timeout);
  if (outcome.verified && !bench_same_answer(outcome.checksum, s->reference)) {
    bench_fail(&outcome, "wrong answer: checksum %.15g, serial run %.15g", outcome.checksum,
               s->reference);
  }
  if (outcome.verified) {
    c->wall[c->good] = outcome.seconds;
    c->cpu[c->good++] = outcome.cpu_seconds;
  } else {
    c->failed++;
    memcpy(c->why, outcome.why, sizeof c->why);
  }
  s->done++;
}

/** @return the median of the pthreads configuration, or 0. */
static double baseline(const struct sweep *s) {
  for (int i = 0; i < s->count; i++) {
    if (s->config[i].par == &par_pthreads) return s->config[i].wall_stats.median;
  }
  return 0;
}

static void print_heading(void) {
  printf("%7s %4s  %-13s %10s %10s %10s %10s %11s\n", "threads", "VPs", "impl", "min ms",
         "median ms", "max ms", "CPU ms", "x pthreads");
}

static void print_config(const struct sweep *s, const struct config *c, double pthreads) {
  char vps[16] = "-";
  if (c->vps > 0) snprintf(vps, sizeof vps, "%d", c->vps);
  printf("%7d %4s  %-13s", s->params.threads, vps, c->par->name);
  if (c->good > 0) {
    printf(" %10.2f %10.2f %10.2f %10.2f", 1e3 * c->wall_stats.min, 1e3 * c->wall_stats.median,
           1e3 * c->wall_stats.max, 1e3 * c->cpu_stats.median);
    if (pthreads > 0) printf(" %11.3f", pthreads / c->wall_stats.median);
  }
  if (c->failed > 0) printf("  FAILED %d of %d: %s", c->failed, s->runs, c->why);
  printf("\n");
}

static json_t *params_json(const struct sweep *s, const struct config *c) {
  const struct bench_problem *p = &s->params.problem;
  json_t *object = json_pack("{s:i}", "threads", s->params.threads);
  if (c->vps > 0) json_object_set_new(object, "vps", json_integer(c->vps));
  if (p->size > 0) json_object_set_new(object, "size", json_integer(p->size));
  if (p->steps > 0) json_object_set_new(object, "steps", json_integer(p->steps));
  if (p->slices > 0) json_object_set_new(object, "slices", json_integer(p->slices));
  if (p->tolerance > 0) json_object_set_new(object, "tolerance", json_real(p->tolerance));
  if (p->schedule != BENCH_NO_SCHEDULE) {
    const char *schedule = p->schedule == BENCH_FIXED ? "fixed" : "dynamic";
    json_object_set_new(object, "schedule", json_string(schedule));
  }
  return object;
}

static void add_rows(const struct sweep *s, const struct config *c, json_t *rows) {
  struct bench_row row = {.impl = c->par->name,
                          .params = params_json(s, c),
                          .metric = "time",
                          .unit = "s",
                          .clock = "wall",
                          .stats = c->wall_stats,
                          .runs = c->good,
                          .verified = c->failed == 0};
  bench_row_add(rows, &row);
  row.params = params_json(s, c);
  row.clock = "cpu";
  row.stats = c->cpu_stats;
  bench_row_add(rows, &row);
}

/** All runs with one number of threads. @return how many failed. */
static int measure_threads(struct sweep *s, json_t *rows) {
  for (int i = 0; i < s->count; i++) s->config[i].good = s->config[i].failed = 0;
  for (int run = 0; run < s->runs; run++) {
    /* Each round starts one further on: nobody always follows the same neighbour's heat. */
    for (int i = 0; i < s->count; i++) measure_once(s, &s->config[(i + run) % s->count]);
  }
  if (s->options->progress) fprintf(stderr, "\r\033[K");

  int failed = 0;
  for (int i = 0; i < s->count; i++) {
    struct config *c = &s->config[i];
    failed += c->failed;
    c->wall_stats = c->cpu_stats = (struct bench_stats){0};
    if (c->good == 0) continue;
    c->wall_stats = bench_stats(c->wall, c->good);
    c->cpu_stats = bench_stats(c->cpu, c->good);
  }
  for (int i = 0; i < s->count; i++) {
    print_config(s, &s->config[i], baseline(s));
    add_rows(s, &s->config[i], rows);
  }
  fflush(stdout);
  return failed;
}

/** The serial run every other is compared with. @return 0, or -1 when it failed itself. */
static int find_reference(struct sweep *s) {
  s->params.threads = 1;
  const struct bench_outcome outcome =
      bench_child(s->experiment, &par_serial, &s->params, s->options->timeout);
  if (!outcome.verified) {
    fprintf(stderr, "mltp-bench: the serial run of %s failed: %s\n", s->experiment->name,
            outcome.why);
    return -1;
  }
  s->reference = outcome.checksum;
  printf("serial, without threads: %.2f ms; x pthreads: speed against it, by medians of %d runs\n",
         1e3 * outcome.seconds, s->runs);
  return 0;
}

/** The problem asked for, the rest from the experiment. */
static struct bench_problem choose_problem(const struct experiment *experiment,
                                           const struct bench_options *options) {
  struct bench_problem p = options->quick ? experiment->quick : experiment->problem;
  const struct bench_problem *asked = &options->problem;
  if (asked->size > 0) p.size = asked->size;
  if (asked->steps > 0) p.steps = asked->steps;
  if (asked->slices > 0) p.slices = asked->slices;
  if (asked->tolerance > 0) p.tolerance = asked->tolerance;
  if (asked->schedule != BENCH_NO_SCHEDULE) p.schedule = asked->schedule;
  return p;
}

int bench_sweep(const struct experiment *experiment, const struct bench_options *options,
                json_t *rows) {
  struct sweep *s = calloc(1, sizeof *s);
  int failed = 1;
  if (s == NULL) goto no_memory;
  s->experiment = experiment;
  s->options = options;
  s->params.problem = choose_problem(experiment, options);
  s->threads = options->threads.count > 0 ? options->threads : experiment->threads;
  s->runs = options->runs > 0 ? options->runs : options->quick ? 3 : experiment->runs;
  if (add_configs(s) != 0) goto no_memory;
  s->total = s->threads.count * s->runs * s->count;
  if (find_reference(s) != 0) goto done;

  failed = 0;
  print_heading();
  for (int t = 0; t < s->threads.count; t++) {
    s->params.threads = s->threads.value[t];
    failed += measure_threads(s, rows);
  }
  goto done;

no_memory:
  fprintf(stderr, "mltp-bench: %s: no memory for the results (ask for fewer --runs)\n",
          experiment->name);
done:
  for (int i = 0; s != NULL && i < s->count; i++) {
    free(s->config[i].wall);
    free(s->config[i].cpu);
  }
  free(s);
  return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file calibrate.c
 * What the performance model (model/) needs to know of this machine, as in section V.A of
 * Anderson, Lazowska and Levy: an atomic operation, the transfer of a cache line between two
 * processors, and a critical section, by processors that have a copy each and by processors that
 * share one.
 *
 * Each processor is a kernel thread pinned to a CPU. The lock is a bare ticket lock: first come
 * first served as the model has it, and nobody gives up the CPU. A run is many windows and counts
 * the shortest. Those of a shared copy are shorter than a time slice: one in which a thread lost
 * its CPU is then longer than the others, although the rest, alone for a while, got on faster.
 */
#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/child.h"
#include "harness/experiment.h"
#include "harness/report.h"
#include "harness/timer.h"

enum {
  WINDOWS = 100,
  PROCESSORS_MAX = 256,
  ELEMENTS = 8,
  LINE = 128, /* two lines of 64 bytes: they are fetched in pairs */
};

enum kind { EXCHANGE, TRANSFER, PRIVATE, SHARED, KINDS };

static const char *const kind_name[KINDS] = {"exchange", "transfer", "private", "shared"};

/** An element of the queue, like a thread's descriptor on the ready queue. */
struct element {
  alignas(LINE) struct element *next; /* [lock] */
  long moves;                         /* [lock] */
};

/** A queue with its lock: what a section works on. */
struct copy {
  alignas(LINE) atomic_uint ticket, served;
  struct element *first, *last; /* [lock] */
  struct element element[ELEMENTS];
};

struct calibration {
  enum kind kind;
  int processors;
  int cpu[PROCESSORS_MAX];
  long work;        /* steps of a loop outside of the section */
  long cycles;      /* in a window */
  atomic_uint zero; /* it is 0, but the compiler cannot know */
  double least;     /* [processor 0] seconds of the shortest window */
  atomic_uint sink;
  alignas(LINE) atomic_int arrived; /* at the window's start or end */
  alignas(LINE) atomic_long turn;   /* whose write the line's next is */
  struct copy copy[PROCESSORS_MAX];
};

/* All processors meet, for the n-th time. */
static void meet(struct calibration *c, int n) {
  atomic_fetch_add(&c->arrived, 1);
  while (atomic_load(&c->arrived) < n * c->processors) continue;
}

static unsigned work(unsigned x, long steps) {
  for (long i = 0; i < steps; i++) x = x * 1664525U + 1013904223U;
  return x;
}

/* Takes the first of the queue and puts it at the end: a thread started, a thread made ready.
 * @return a number that depends on the element */
static unsigned section(struct copy *copy) {
  const unsigned ticket = atomic_fetch_add_explicit(&copy->ticket, 1, memory_order_relaxed);
  while (atomic_load_explicit(&copy->served, memory_order_acquire) != ticket) continue;
  struct element *moved = copy->first;
  copy->first = moved->next;
  moved->next = NULL;
  const unsigned moves = (unsigned)++moved->moves;
  copy->last->next = moved;
  copy->last = moved;
  atomic_store_explicit(&copy->served, ticket + 1, memory_order_release);
  return moves;
}

static unsigned window(struct calibration *c, int index) {
  struct copy *copy = &c->copy[c->kind == SHARED ? 0 : index];
  const unsigned zero = atomic_load(&c->zero);
  unsigned x = (unsigned)index;
  for (long i = 0; i < c->cycles; i++) {
    switch (c->kind) {
      case EXCHANGE: x += (unsigned)atomic_exchange(&c->turn, i); break;
      case TRANSFER:
        while (atomic_load_explicit(&c->turn, memory_order_acquire) != 2 * i + index) continue;
        atomic_store_explicit(&c->turn, 2 * i + index + 1, memory_order_release);
        break;
      default: /* Each waits for the other's result, or the processor would overlap the two. */
        x = work(x, c->work);
        x += section(copy + (x & zero));
    }
  }
  return x;
}

static void processor(void *arg, int index) {
  struct calibration *c = arg;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(c->cpu[index], &set);
  sched_setaffinity(0, sizeof set, &set); /* a CPU of our own set: it cannot be refused */

  unsigned x = 0;
  for (int w = 0; w < WINDOWS; w++) {
    if (index == 0) atomic_store(&c->turn, 0);
    const double start = bench_clock(CLOCK_MONOTONIC); /* before any thread can have begun */
    meet(c, 2 * w + 1);
    x += window(c, index);
    meet(c, 2 * w + 2);
    const double seconds = bench_clock(CLOCK_MONOTONIC) - start;
    if (index == 0 && (w == 0 || seconds < c->least)) c->least = seconds;
  }
  atomic_fetch_add(&c->sink, x); /* or the compiler would leave the work out */
}

/* The CPUs this process may use. @return how many */
static int find_cpus(int cpu[PROCESSORS_MAX]) {
  cpu_set_t set;
  int count = 0;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (int i = 0; i < CPU_SETSIZE && count < PROCESSORS_MAX; i++)
    if (CPU_ISSET(i, &set)) cpu[count++] = i;
  return count;
}

static void init_copy(struct copy *copy) {
  for (int i = 0; i < ELEMENTS; i++) copy->element[i].next = &copy->element[i + 1];
  copy->element[ELEMENTS - 1].next = NULL;
  copy->first = &copy->element[0];
  copy->last = &copy->element[ELEMENTS - 1];
}

/* Each section has moved one element, and none was lost. */
static void verify(const struct calibration *c, struct bench_outcome *outcome) {
  long moves = 0, expected = 0;
  for (int i = 0; i < c->processors; i++) {
    for (int e = 0; e < ELEMENTS; e++) moves += c->copy[i].element[e].moves;
  }
  if (c->kind == PRIVATE || c->kind == SHARED) expected = WINDOWS * c->cycles * (long)c->processors;
  if (moves != expected) bench_fail(outcome, "%ld sections were run, %ld moved", expected, moves);
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  struct calibration *c = aligned_alloc(LINE, sizeof *c);
  if (c == NULL) {
    bench_fail(outcome, "no memory for the copies");
    return;
  }
  memset(c, 0, sizeof *c);
  c->kind = (enum kind)params->problem.size;
  c->processors = params->threads;
  c->work = params->problem.steps;
  c->cycles = (c->kind == SHARED ? 40000 : 400000) / (100 + c->work);
  if (find_cpus(c->cpu) < c->processors) {
    bench_fail(outcome, "there are fewer than %d CPUs", c->processors);
    goto done;
  }
  for (int i = 0; i < c->processors; i++) init_copy(&c->copy[i]);

  const int err = par->run(c->processors, processor, c);
  if (err != 0) {
    bench_fail(outcome, "thread creation failed: %s", strerror(err));
    goto done;
  }
  const double passes = c->kind == TRANSFER ? 2 : 1; /* there and back */
  outcome->seconds = c->least / (double)c->cycles / passes;
  verify(c, outcome);
done:
  free(c);
}

/* All runs of one kind, with their row. @return how many failed */
static int measure_kind(const struct bench_options *options, const struct bench_params *params,
                        json_t *rows) {
  double values[1000]; /* as many as --runs may ask for */
  const enum kind kind = (enum kind)params->problem.size;
  const int runs = options->runs > 0 ? options->runs : options->quick ? 2 : bench_calibrate.runs;
  int good = 0;
  for (int r = 0; r < runs; r++) {
    const struct bench_outcome outcome =
        bench_child(&bench_calibrate, &par_pthreads, params, options->timeout);
    if (outcome.verified)
      values[good++] = 1e9 * outcome.seconds;
    else
      printf("%-10s FAILED: %s\n", kind_name[kind], outcome.why);
  }
  if (good == 0) return runs;
  const struct bench_stats stats = bench_stats(values, good);
  printf("%-10s %10d %8ld %10.2f %10.2f %10.2f\n", kind_name[kind], params->threads,
         params->problem.steps, stats.min, stats.median, stats.max);
  fflush(stdout);
  const struct bench_row row = {.impl = "machine",
                                .params = json_pack("{s:i, s:I}", "processors", params->threads,
                                                    "steps", (json_int_t)params->problem.steps),
                                .metric = kind_name[kind],
                                .unit = "ns",
                                .clock = "wall",
                                .stats = stats,
                                .runs = good,
                                .verified = good == runs};
  bench_row_add(rows, &row);
  return runs - good;
}

static int measure(const struct experiment *experiment, const struct bench_options *options,
                   json_t *rows) {
  static const long steps[] = {0, 50, 200, 800, 3200};
  int failed = 0;
  const int cpus = mltp_cpus() < PROCESSORS_MAX ? mltp_cpus() : PROCESSORS_MAX;
  printf("Minimum, median and maximum of the runs' shortest windows, for one operation.\n");
  printf("%-10s %10s %8s %10s %10s %10s\n", "what", "processors", "steps", "min ns", "median ns",
         "max ns");

  struct bench_params params = {.threads = 1, .problem = {.size = EXCHANGE}};
  failed += measure_kind(options, &params, rows);
  params = (struct bench_params){.threads = 2, .problem = {.size = TRANSFER}};
  if (cpus >= 2) failed += measure_kind(options, &params, rows);
  if (cpus < 2) printf("%-10s skipped: it needs two CPUs\n", kind_name[TRANSFER]);
  for (int kind = PRIVATE; kind <= SHARED; kind++) {
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
      for (int n = 1; n <= cpus; n = n < cpus && 2 * n > cpus ? cpus : 2 * n) {
        params.threads = n;
        params.problem = (struct bench_problem){.size = kind, .steps = steps[s]};
        failed += measure_kind(options, &params, rows);
      }
    }
  }
  (void)experiment;
  return failed;
}

const struct experiment bench_calibrate = {
    .name = "calibrate",
    .shows = "what the performance model must know of this machine",
    .section = "Anderson, Lazowska and Levy V.A",
    .runs = 5,
    .run = run,
    .measure = measure,
};

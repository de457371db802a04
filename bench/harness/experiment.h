/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file experiment.h
 * What an experiment is: one `const struct experiment`, listed in experiments.c.
 *
 * Most experiments give `run`, which performs one run of one implementation, and
 * leave the rest (a child process per run, interleaving, verification, statistics)
 * to bench_sweep(). One that compares other things than the implementations of
 * par.h gives its own `measure` instead.
 */
#ifndef BENCH_EXPERIMENT_H
#define BENCH_EXPERIMENT_H

#include <jansson.h>
#include <stdbool.h>

#include "par.h"

enum { BENCH_LIST_MAX = 32 };

/** A list of numbers from the command line; count 0: not given. */
struct bench_list {
  int count;
  int value[BENCH_LIST_MAX];
};

enum bench_schedule { BENCH_NO_SCHEDULE, BENCH_DYNAMIC, BENCH_FIXED };

/** The size of the problem, and how threads share it. In an experiment 0 means that it has no
 * such thing, in the options that it was not given. */
struct bench_problem {
  long size;        /* points or elements a side */
  long steps;       /* time steps */
  long slices;      /* rectangles under the curve */
  long count;       /* threads created in all, or measurements of one */
  long work_us;     /* what each thread computes, on average */
  double tolerance; /* of the elliptic solver, relative to its right-hand side */
  enum bench_schedule schedule;
};

/** One run of one implementation. */
struct bench_params {
  int threads;
  int vps; /* 0: the implementation has none */
  struct bench_problem problem;
};

/** What one run found. Plain data: it crosses a pipe. */
struct bench_outcome {
  double seconds;     /* wall time of the computation alone */
  double cpu_seconds; /* CPU time of the whole process in that span */
  double checksum;    /* of the answer; compared with a serial run's */
  bool verified;      /* the experiment's own checks hold */
  char why[128];      /* when they do not */
};

/** What the command line asks for. */
struct bench_options {
  struct bench_list threads;
  struct bench_list vps;
  const char *impls;      /* comma-separated names; NULL: the experiment's */
  const char *strategies; /* likewise */
  int runs;               /* 0: the experiment's default */
  int timeout;            /* seconds one run may take */
  bool quick;
  bool probe;    /* switch: the variants of TMPI-2's probe instead */
  bool progress; /* say on stderr what runs */
  struct bench_problem problem;
};

struct experiment {
  const char *name;
  const char *shows;      /* one line for --list */
  const char *section;    /* where it comes from */
  const char *impls;      /* run when --impl is not given */
  const char *strategies; /* NULL: it does not compare any */
  struct bench_list threads;
  int threads_max;       /* 0: PAR_THREADS_MAX */
  struct bench_list vps; /* empty: the CPUs this process may use */
  int runs;
  struct bench_problem problem;
  struct bench_problem quick; /* the same, for --quick */

  /** Performs one run in a fresh process. NULL if measure is given. */
  void (*run)(const struct par *par, const struct bench_params *params,
              struct bench_outcome *outcome);

  /** Does all measuring itself: prints its table and appends JSON rows.
   * NULL: bench_sweep(). @return how many runs failed. */
  int (*measure)(const struct experiment *experiment, const struct bench_options *options,
                 json_t *rows);
};

/** All experiments; ends with NULL. */
extern const struct experiment *const bench_experiments[];

extern const struct experiment bench_pi;
extern const struct experiment bench_matmul;
extern const struct experiment bench_ocean;
extern const struct experiment bench_lifecycle;
extern const struct experiment bench_latency;
extern const struct experiment bench_spin;
extern const struct experiment bench_sim;
extern const struct experiment bench_calibrate;
extern const struct experiment bench_deltas;
extern const struct experiment bench_growth;
extern const struct experiment bench_mpi;
extern const struct experiment bench_mpi_programs;
extern const struct experiment bench_mpi_rma;
extern const struct experiment bench_mpi_files;
extern const struct experiment bench_mpi_wait;
extern const struct experiment bench_mpi_load;
extern const struct experiment bench_mpi_growth;
extern const struct experiment bench_systemc;
extern const struct experiment bench_workload;
extern const struct experiment bench_copies;
extern const struct experiment bench_foreign;
extern const struct experiment bench_io;

/**
 * Measures an experiment's `run` for every number of threads and VPs and every
 * implementation asked for: prints the table, appends JSON rows.
 * @return how many runs failed
 */
int bench_sweep(const struct experiment *experiment, const struct bench_options *options,
                json_t *rows);

/** @return whether --impl names an implementation, or none. */
bool bench_wants(const struct bench_options *options, const char *name);

/** Notes a failed run: verified becomes false, with the reason. */
void bench_fail(struct bench_outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Whether two checksums agree: within 1e-10 relative, and numbers at all. */
bool bench_same_answer(double checksum, double reference);

#endif

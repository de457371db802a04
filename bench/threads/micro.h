/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file micro.h
 * The micro benchmarks: which rows there are, and how one run of a peer is had.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include <limits.h>

#include "harness/experiment.h"

/** What is read off a run. */
enum micro_value {
  MICRO_CPU_NS,
  MICRO_WALL_NS,
  MICRO_RSS_BYTES,
  MICRO_PTE_BYTES,
  MICRO_PEAK_BYTES,   /* in all, not for each operation */
  MICRO_DEPTH,        /* forks on the longest path of a recursive program */
  MICRO_ALIVE,        /* its threads that had begun and not ended, at most */
  MICRO_WALK_NS,      /* what its tree takes without threads, for each thread */
  MICRO_INSTRUCTIONS, /* in user mode, counted by valgrind */
};

/** A peer_row that only ours has; the others run "memory" beside it. */
#define MICRO_PACKED "memory-packed"

/** One row. */
struct micro_row {
  const char *experiment; /* it belongs to; `micro` has all that are in micro_rows */
  const char *metric;     /* of the JSON */
  const char *label;
  const char *peer_row; /* what the peers call it */
  int vps;
  int threads;
  enum micro_value value;
  bool by_threads; /* the row exists for any number of threads; the peers' name says which */
  long ops;        /* exactly this number of operations in a run; 0: as many as fill the time */
};

/** The single operations of every package; ends with a NULL metric. */
extern const struct micro_row micro_rows[];

/** What experiment `switch` has besides; ends with a NULL metric. */
extern const struct micro_row micro_switch_rows[];

/** What `switch --probe` measures, in their place; ends with a NULL metric. */
extern const struct micro_row micro_probe_rows[];

/** What experiment `recursion` has; ends with a NULL metric. threads: the size of the tree. Those
 * of one operation are too long for --quick. */
extern const struct micro_row micro_recursion_rows[];

/** Experiments that are a selection of rows, over the numbers of threads given to them. */
extern const struct experiment bench_micro, bench_switch, bench_forkjoin, bench_fib,
    bench_recursion, bench_mutex, bench_handshake, bench_roundtrip, bench_barrier, bench_memory,
    bench_sleep;

/**
 * The rows of an experiment. Those for any number of threads are there for each number asked
 * for.
 * @param[out] count how many
 * @return the rows, to be freed; NULL without memory
 */
struct micro_row *micro_select(const struct experiment *experiment,
                               const struct bench_options *options, int *count);

/** Does all measuring of an experiment made of rows. @return how many runs failed. */
int micro_measure(const struct experiment *experiment, const struct bench_options *options,
                  json_t *rows);

/** A thread library that is measured, by a program of the same name (peers/). */
struct micro_peer {
  const char *name;
  const char *package; /* Debian's, which it needs; NULL: none */
};

/** All peers, ours first; ends with a NULL name. */
extern const struct micro_peer micro_peers[];

/** How a run of a peer went. */
enum micro_outcome { MICRO_MEASURED, MICRO_ABSENT, MICRO_NOT_OFFERED, MICRO_FAILED };

/** Limits of one run. */
struct micro_limits {
  int ms;      /* length of a measurement */
  int timeout; /* seconds until a run is ended */
};

/** What a run gave. */
struct micro_sample {
  double value; /* per operation */
  int threads;  /* which a peer may have to limit where memory is the question */
};

/**
 * Counts the instructions a peer executes in user mode for one operation of a row, with
 * valgrind: the difference of two runs, so that starting and stopping cancel out. The same
 * each time. A failure is said on stderr.
 * @return MICRO_NOT_OFFERED also where there is no valgrind, or it cannot run the peer
 */
enum micro_outcome micro_count(const struct micro_peer *peer, const struct micro_row *row,
                               const struct micro_limits *limits, struct micro_sample *sample);

/** Writes what the peers call a row, with its number of threads where it has any. */
void micro_peer_row(const struct micro_row *row, char *name, size_t size);

/** Finds a peer's program. @return false: it was not built. */
bool micro_find_program(const char *name, char path[PATH_MAX]);

/**
 * Runs a peer once. A failure is said on stderr.
 * @param[out] sample only when MICRO_MEASURED
 */
enum micro_outcome micro_run(const struct micro_peer *peer, const struct micro_row *row,
                             const struct micro_limits *limits, struct micro_sample *sample);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file micro.h
 * The micro benchmarks: which rows there are, and how one run of a peer is had.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include "experiment.h"

/** What is read off a run. */
enum micro_value { MICRO_CPU_NS, MICRO_WALL_NS, MICRO_RSS_BYTES, MICRO_PTE_BYTES };

/** One row of "the numbers to beat". The figures are data from the reference machine. */
struct micro_row {
  const char *metric; /* of the JSON */
  const char *label;
  const char *peer_row; /* what the peers call it */
  int vps;
  int threads;
  enum micro_value value;
  double target;    /* for us; 0: none was set */
  const char *best; /* the best peer's figure, and whose it is; NULL: not known */
};

/** All rows; ends with a NULL metric. */
extern const struct micro_row micro_rows[];

/** Where the reference figures come from. */
extern const char micro_reference[];

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
 * Runs a peer once. A failure is said on stderr.
 * @param[out] sample only when MICRO_MEASURED
 */
enum micro_outcome micro_run(const struct micro_peer *peer, const struct micro_row *row,
                             const struct micro_limits *limits, struct micro_sample *sample);

extern const struct experiment bench_micro;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trial.h
 * One run of the explored program: with which settings, how it ended, and what it
 * decided. The decisions are written to a file in memory that the program opens by
 * its name under /proc, so there is nothing to clean up.
 */
#ifndef TOOLS_MLTP_TRIAL_H
#define TOOLS_MLTP_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What is run, and within which limits. */
struct program {
  char **argv;
  double timeout;     /**< seconds */
  uint64_t steps_max; /**< scheduling points */
  bool accesses;      /**< its loads and stores are scheduling points, too */
  bool gated;         /**< a pthread program: libmltp-gate is preloaded */
};

/** A choice other than the default one: at a step, the choice-th candidate. */
struct departure {
  uint64_t step;
  unsigned choice;
};

/** A list of them in the order of steps; empty: the default order. */
struct schedule {
  struct departure *departures;
  size_t count;
};

/** A line of the log: at a step, one of count candidates was chosen. */
struct decision {
  struct departure taken;
  unsigned count;
  unsigned long from, to; /* ids of threads */
  char *from_name, *call, *to_name;
};

struct trial {
  char *seed;     /**< MLTP_SEED */
  char *schedule; /**< MLTP_SCHEDULE */
  bool shown;     /**< its output goes where ours goes */

  int status;     /**< of waitpid() */
  bool timed_out; /**< and was killed */
  struct decision *decisions;
  size_t decision_count;
  char *log; /* what the decisions' texts are parts of */

  int pid, pid_fd, log_fd;
  double deadline;
};

/** Runs count trials at the same time and waits for all. Exits when it cannot. */
void trials_run(const struct program *program, struct trial *trials, size_t count);

/** Frees what a trial holds. */
void trial_free(struct trial *trial);

/** @return whether it did not end well. */
bool trial_failed(const struct trial *trial);

/** @return whether both ended in the same way. */
bool trial_same_end(const struct trial *a, const struct trial *b);

/** Says how it ended: "exit status 86 (deadlock)". */
void trial_describe(const struct trial *trial, char *text, size_t size);

/** @return the departures a trial took; the list is the caller's. */
struct schedule trial_schedule(const struct trial *trial);

/** @return the schedule as MLTP_SCHEDULE takes it, the caller's. */
char *schedule_text(const struct schedule *schedule);

/** Ends the program unless the pointer is one. */
void *checked(void *memory);

#endif

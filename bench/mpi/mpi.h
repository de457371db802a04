/* SPDX-License-Identifier: Apache-2.0 */
/** @file mpi.h MPI programs on this library and on others: what is run, and how. */
#ifndef BENCH_MPI_H
#define BENCH_MPI_H

#include <limits.h>
#include <stdbool.h>

enum { MPI_WORDS = 12, MPI_ARGUMENTS = 32, MPI_RANKS_LISTED = 8, MPI_DEGREES = -1 };

/** For which numbers of ranks a way is measured. */
enum mpi_use { MPI_ANY_RANKS, MPI_WITHIN_CPUS, MPI_BEYOND_CPUS };

/** A way to run MPI programs. */
struct mpi_impl {
  const char *name;
  const char *suffix;              /* of the programs built for it; the name of the peer */
  const char *words[MPI_WORDS];    /* the launcher and its options; then -n RANKS PROGRAM ... */
  const char *settings[MPI_WORDS]; /* name and value in turn: of the environment */
  bool ours;                       /* it takes --vps; its launcher is beside this program */
  int ranks_max;                   /* more than that takes minutes, or does not start */
  enum mpi_use use;
};

/** All of them; ends with one without a name. A launcher is looked for beside the programs, then
 * where the shell does. */
extern const struct mpi_impl mpi_impls[];

/** @return the way of a name; NULL: there is none. */
const struct mpi_impl *mpi_impl_of(const char *name);

/** What is measured. */
struct mpi_row {
  const char *experiment, *metric, *program;
  const char *arguments[4];
  const char *key; /* of the program's line; NULL: wall time from start to end */
  const char *unit;
  double scale;                /* the key's unit in the row's */
  int ranks[MPI_RANKS_LISTED]; /* ends with 0; after MPI_DEGREES: for each CPU, as TMPI-2 counts */
  bool one_cpu;                /* all ranks share one CPU, and one VP */
};

/** All of them; ends with one without a metric. */
extern const struct mpi_row mpi_rows[];

/** What became of a run. Over: it was ended when its time was up, which the others may need. */
enum mpi_outcome { MPI_MEASURED, MPI_ABSENT, MPI_FAILED, MPI_OVER };

/** One that was measured. */
struct mpi_sample {
  double value;  /* in the row's unit */
  double cpu_ms; /* CPU time of all its processes, from start to end */
};

/** A program that runs. */
struct mpi_process {
  int pid, output; /* output: readable when it has ended, or is about to */
  double begin;    /* seconds of CLOCK_MONOTONIC */
};

/** What a run is started with; argv ends with NULL and leads to the texts. */
struct mpi_command {
  char launcher[PATH_MAX], program[PATH_MAX], ranks[16], vps[16];
  char *argv[MPI_ARGUMENTS];
  int argc;
};

/** Makes the command of a run. @return false: the program was not built, since the implementation
 * is not installed. */
bool mpi_command(struct mpi_command *command, const struct mpi_impl *impl,
                 const struct mpi_row *row, int ranks, int vps);

/** Sets what an implementation wants in the environment, or takes it out again. */
void mpi_set_environment(const struct mpi_impl *impl, bool set);

/** @return whether a program was built for an implementation, and its launcher is there. */
bool mpi_is_there(const struct mpi_impl *impl, const struct mpi_row *row);

/** Starts a program. @return MPI_MEASURED, MPI_ABSENT or MPI_FAILED. */
enum mpi_outcome mpi_start(const struct mpi_impl *impl, const struct mpi_row *row, int ranks,
                           int vps, struct mpi_process *process);

/** Waits for its end, timeout seconds at most, then ends it. What went wrong is said on stderr. */
enum mpi_outcome mpi_end(const struct mpi_impl *impl, const struct mpi_row *row, int ranks,
                         int timeout, struct mpi_process *process, struct mpi_sample *sample);

/** Runs a program once. What went wrong is said on stderr. */
enum mpi_outcome mpi_run(const struct mpi_impl *impl, const struct mpi_row *row, int ranks, int vps,
                         int timeout, struct mpi_sample *sample);

#endif

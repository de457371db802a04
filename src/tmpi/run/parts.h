/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file parts.h
 * What mpiexec calls MPMD: `tmpirun -n 1 ./app master : -n 3 ./app worker`. The word ":" ends a
 * part; ranks of the first part come first. MPI_APPNUM is the number of a rank's part.
 */
#ifndef TM_RUN_PARTS_H
#define TM_RUN_PARTS_H

#include <stdbool.h>

/** A program with its arguments, and the ranks that run it. */
struct tm_part {
  int ranks;
  int argc;
  char **argv; /* argc of them: the program, then its arguments */
};

/** All parts of a command line, in order. */
struct tm_parts {
  struct tm_part *list;
  int count;
};

/** Cuts the command line behind its first part. @return the words of that one. */
int tm_parts_cut(int argc, char **argv);

/** Appends a part. @return false after a message. */
bool tm_parts_add(struct tm_parts *parts, int ranks, int argc, char **argv);

/** Appends the parts behind the first one, which has `first` words. most: ranks in all.
 * @return false after a message. */
bool tm_parts_add_rest(struct tm_parts *parts, int first, int argc, char **argv, int most,
                       bool (*takes_next)(const char *word));

/** @return how many ranks all parts have. */
int tm_parts_ranks(const struct tm_parts *parts);

/** @return the number of a rank's part. */
int tm_parts_of(const struct tm_parts *parts, int rank);

#endif

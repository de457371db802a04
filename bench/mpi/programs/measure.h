/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file measure.h What programs that repeat one operation have in common.
 *
 * PROGRAM ROW BYTES [BATCHES [MS]]
 *
 * Each batch has as many operations as take MS milliseconds (1), or half of that at least; the
 * shortest of BATCHES (20) counts, so that other programs on the machine disturb little. Rank 0
 * prints a line of JSON: wall time of an operation, CPU time of all processes, and memory of all
 * processes for each rank (proportional, so that what is shared counts once). What every operation
 * brought is checked, by rows where that takes long once in a batch.
 *
 * A message between two ranks that share a kernel thread takes half as long as between two that
 * have one each, and an M:N library may let them come together by chance. A library that does so in
 * some runs would then seem faster than one that uses two CPUs. So of two ranks only batches count
 * in which both had a kernel thread of their own whenever they looked. Before a batch, ranks that
 * share one compute for a while, so that they get two. If they cannot (one VP), every batch counts.
 */
#ifndef BENCH_MPI_MEASURE_H
#define BENCH_MPI_MEASURE_H

#include <mpi.h>
#include <stddef.h>

extern int rank, size, bytes;
extern char *mine, *others;        /**< of as many bytes, or parts of them that the row has */
extern unsigned char round_number; /**< of the operation */
extern int checked;                /**< this operation is: the last of a batch */
extern long wrong;                 /**< answers so far */

enum { PART_FOR_EACH_RANK = -1 };

/** A row: all ranks call its functions. */
struct row {
  const char *name;
  void (*run)(void);    /**< performs its operations; NULL: starting is what counts */
  int parts;            /**< of the buffers; 0: one */
  int operations;       /**< that a run performs; 0: one */
  void (*before)(void); /**< NULL: nothing is to be done */
  void (*after)(void);  /**< likewise */
};

/** The first and the last byte are to have a value. */
static inline void expect(const char *buffer, unsigned char value, int length) {
  if (length > 0)
    wrong += (unsigned char)buffer[0] != value || (unsigned char)buffer[length - 1] != value;
}

/** The program: measures the row that the command line names. @return its status. */
int measure_row(int argc, char **argv, const struct row *rows, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file shared_by_nodes.h
 * The parts of shared_by_nodes.c. Each is called by all ranks.
 */
#ifndef TESTS_MPI_SHARED_BY_NODES_H
#define TESTS_MPI_SHARED_BY_NODES_H

#include <mpi.h>

/** Ranks of the two halves send to each other. */
void partitioned(int rank, int size);

/** The file is one that all nodes see. */
void files(const char *name, int rank, int size);

/** Each node would open a file of its own by the name: that fails. */
void not_one_file(const char *name, int rank, int size);

void windows(int rank, int size);
/** Epochs of locks, in windows of the communicator. */
void shared_locks(MPI_Comm comm, int rank, int size);
/** MPI_Win_lock() returns while another rank holds the lock. */
void deferred_lock(int rank, int size);

/** Ends in a deadlock at a window. what: stuck_lock, stuck_deferred or stuck_start. */
void stuck(const char *what, int rank, int size);

#endif

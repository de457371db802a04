/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of windows of several nodes, which go with the first accesses if they may be deferred. */
#include <string.h>

#include "check.h"
#include "shared_by_nodes.h"

enum { MANY = 40, CELLS = 3000, LONG = 30000 };

static MPI_Win new_window(MPI_Comm comm, int cells, int **memory) {
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof(int) * cells, sizeof(int), MPI_INFO_NULL, comm, (void *)memory,
                   &win);
  memset(*memory, 0, sizeof(int) * (size_t)cells);
  MPI_Barrier(comm);
  return win;
}

static void put(int value, int target, int cell, MPI_Win win) {
  MPI_Put(&value, 1, MPI_INT, target, cell, 1, MPI_INT, win);
  MPI_Win_flush_local(target, win);
}

/* Some write two numbers, one after the other or in one note. The others, which get both in one
 * note, never see the first alone. */
static void whole_epochs(MPI_Comm comm, int rank, int size) {
  int *memory, both[2];
  MPI_Win win = new_window(comm, 2, &memory);
  for (int i = 0; i < MANY; i++) {
    int target = i % 2 == 0 ? 0 : size - 1, value = i * size + rank;
    MPI_Win_lock(rank % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    for (int k = 0; k < 2; k++)
      if (rank % 2 != 0)
        MPI_Get(&both[k], 1, MPI_INT, target, k, 1, MPI_INT, win);
      else if (i % 3 == 0)
        put(value, target, k, win);
      else
        MPI_Put(&value, 1, MPI_INT, target, k, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
    CHECK(rank % 2 == 0 || both[0] == both[1]);
  }
  MPI_Win_free(&win);
}

/* Accesses of an epoch that are one note, several, or too large for notes. */
static void long_epochs(MPI_Comm comm, int rank, int size) {
  int *memory, *got = malloc(sizeof *got * LONG), *data = malloc(sizeof *data * LONG);
  int to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
  static const int parts[] = {1, CELLS, LONG}; /* cells of an access; it may be many of one */
  MPI_Win win = new_window(comm, LONG, &memory);
  for (int i = 0; i < 9; i++) {
    int part = parts[i % 3], cells = part == 1 ? CELLS : part, first = i / 3 == 1;
    for (int k = 0; k < LONG; k++) data[k] = rank * 7 + i + k;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    if (first) MPI_Put(&data[0], 1, MPI_INT, to, 0, 1, MPI_INT, win);
    for (int at = first; at < cells; at += part) {
      int count = part < cells - at ? part : cells - at;
      MPI_Put(&data[at], count, MPI_INT, to, at, count, MPI_INT, win);
    }
    MPI_Win_unlock(to, win);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    for (int at = 0; at < cells; at += part)
      MPI_Get(&got[at], part, MPI_INT, to, at, part, MPI_INT, win);
    MPI_Win_unlock(to, win);
    CHECK(memcmp(got, data, sizeof *got * (size_t)cells) == 0);
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int k = 0; k < cells; k++) CHECK(memory[k] == from * 7 + i + k);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(comm);
  }
  MPI_Win_free(&win);
  free(data);
  free(got);
}

/* Accesses that wait for what they bring, epochs without any, and updates in their order. */
static void short_epochs(MPI_Comm comm, int rank, int size) {
  int *memory, one = 1, before, got = -1, to = (rank + size / 2) % size;
  MPI_Request request;
  MPI_Win win = new_window(comm, size + 1, &memory);
  for (int i = 0; i < MANY; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
    if (i % 2 == 0)
      MPI_Fetch_and_op(&one, &before, MPI_INT, size - 1, size, MPI_SUM, win);
    else
      MPI_Accumulate(&one, 1, MPI_INT, size - 1, size, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(size - 1, win);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    if (i % 3 == 0) MPI_Win_flush(to, win);
    MPI_Win_unlock(to, win);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    MPI_Accumulate(&i, 1, MPI_INT, to, rank, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_unlock(to, win);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    MPI_Rget(&got, 1, MPI_INT, to, rank, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == i);
    MPI_Win_unlock(to, win);
  }
  MPI_Win_lock_all(0, win);
  MPI_Fetch_and_op(&one, &before, MPI_INT, size - 1, size, MPI_NO_OP, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
  MPI_Fetch_and_op(&one, &before, MPI_INT, size - 1, size, MPI_NO_OP, win);
  MPI_Win_unlock_all(win);
  CHECK(before == size * MANY);
  MPI_Win_free(&win);
}

/* All ranks lock two targets in the same order, and complete accesses to them in the order of the
 * calls or the other one. So nobody waits for a rank that waits for it. Targets are on two nodes,
 * on one, or the same one in two windows. */
static void nested(MPI_Comm comm, int rank, int size) {
  int *memory[2], sum = 0, one = 1;
  MPI_Win wins[2] = {new_window(comm, 1, &memory[0]), new_window(comm, 1, &memory[1])};
  for (int i = 0; i < MANY; i++) {
    int targets[2] = {size - 1, i % 3 == 0 ? 0 : size - 2};
    MPI_Win win[2] = {wins[0], wins[0]};
    if (i % 3 == 2) targets[1] = size - 1;
    if (i % 3 == 2) win[1] = wins[1];
    for (int k = 0; k < 2; k++) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, targets[k], 0, win[k]);
      MPI_Accumulate(&one, 1, MPI_INT, targets[k], 0, 1, MPI_INT, MPI_SUM, win[k]);
    }
    for (int k = 0; k < 2; k++) {
      int which = rank % 2 == 0 ? k : 1 - k;
      if (i % 2 == 0) MPI_Win_flush(targets[which], win[which]);
      if (i % 2 != 0) MPI_Win_unlock(targets[which], win[which]);
    }
    for (int k = 0; k < 2 && i % 2 == 0; k++) MPI_Win_unlock(targets[k], win[k]);
  }
  MPI_Barrier(comm);
  for (int k = 0; k < 2; k++) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, wins[k]);
    sum += *memory[k];
    MPI_Win_unlock(rank, wins[k]);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == 2 * size * MANY);
  MPI_Win_free(&wins[1]);
  MPI_Win_free(&wins[0]);
}

void shared_locks(MPI_Comm comm, int rank, int size) {
  whole_epochs(comm, rank, size);
  long_epochs(comm, rank, size);
  short_epochs(comm, rank, size);
  nested(comm, rank, size);
}

/* Time in which an access that did not wait for its lock would come. */
static void pass_time(int rank, int size) {
  for (int i = 0; i < 100; i++) {
    if (rank == 1) MPI_Send(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
}

/* The last rank holds its own lock until rank 0, which has called MPI_Win_lock(), tells it to
 * release it. Until then nothing of the epoch of rank 0 happens, whether its data go in notes or
 * not. */
void deferred_lock(int rank, int size) {
  int *memory, *data = calloc(LONG, sizeof *data);
  MPI_Win win = new_window(MPI_COMM_WORLD, LONG, &memory);
  for (int i = 0; i < LONG; i++) data[i] = size + i;
  for (int cells = 1; cells <= LONG; cells *= 30) {
    memset(memory, 0, sizeof *memory * LONG);
    if (rank == size - 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
      MPI_Send(NULL, 0, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
      MPI_Put(data, cells, MPI_INT, size - 1, 0, cells, MPI_INT, win);
      MPI_Win_unlock(size - 1, win);
    } else if (rank == size - 1) {
      MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    pass_time(rank, size);
    for (int i = 0; i < cells && rank == size - 1; i++) CHECK(memory[i] == 0);
    if (rank == size - 1) MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < cells && rank == size - 1; i++) CHECK(memory[i] == data[i]);
  }
  MPI_Win_free(&win);
  free(data);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one-sided operations take, from rank 0 to rank 1 unless it says otherwise. A put, a get and
 * an accumulate are complete at both sides when they are counted (MPI_Win_flush).
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 64 }; /* operations before a flush */

static MPI_Win window;
static char *part; /* this rank's, in the window */
static long accumulated;

/* ---- windows */

/* All bytes have a value. They are put, not stored: MPICH 4.0 does not show others such stores. */
static void make(int parts, int value) {
  int length = bytes * parts;
  char *values = malloc((size_t)length + 1);
  if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(values, value, (size_t)length);
  MPI_Win_allocate(length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
  MPI_Win_fence(0, window);
  MPI_Put(values, length, MPI_CHAR, rank, 0, length, MPI_CHAR, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  free(values);
}

static void make_window(void) { make(1, 0); }

static void make_open(void) {
  make(MANY, rank);
  MPI_Win_lock_all(0, window);
}

static void make_counters(void) {
  make(1, 0);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < bytes / 8; i++) ((long *)mine)[i] = 1;
}

static void free_window(void) { MPI_Win_free(&window); }

static void close_window(void) {
  MPI_Win_unlock_all(window);
  free_window();
}

/* ---- rows */

/* What the last of a batch has put is there. */
static void read_back(const char *from, int at) {
  if (!checked) return;
  memset(others, 0, (size_t)bytes);
  MPI_Get(others, bytes, MPI_CHAR, 1, at, bytes, MPI_CHAR, window);
  MPI_Win_flush(1, window);
  if (memcmp(others, from, (size_t)bytes) != 0) wrong++;
}

static void put(void) {
  if (rank != 0) return;
  mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Put(mine, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, window);
  MPI_Win_flush(1, window);
  read_back(mine, 0);
}

static void put_many(void) {
  if (rank != 0) return;
  mine[0] = mine[bytes - 1] = (char)round_number;
  for (int i = 0; i < MANY; i++)
    MPI_Put(mine, bytes, MPI_CHAR, 1, (MPI_Aint)i * bytes, bytes, MPI_CHAR, window);
  MPI_Win_flush(1, window);
  read_back(mine, (MANY - 1) * bytes);
}

static void get(void) {
  if (rank != 0) return;
  others[0] = others[bytes - 1] = 0;
  MPI_Get(others, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, window);
  MPI_Win_flush(1, window);
  expect(others, 1, bytes);
}

static void get_many(void) {
  if (rank != 0) return;
  others[0] = others[bytes - 1] = 0;
  for (int i = 0; i < MANY; i++)
    MPI_Get(others + (size_t)i * (size_t)bytes, bytes, MPI_CHAR, 1, (MPI_Aint)i * bytes, bytes,
            MPI_CHAR, window);
  MPI_Win_flush(1, window);
  for (int i = 0; i < MANY; i++) expect(others + (size_t)i * (size_t)bytes, 1, bytes);
}

/* Adds 1 to each number, so each is the number of operations. */
static void accumulate(void) {
  if (rank != 0) return;
  MPI_Accumulate(mine, bytes / 8, MPI_LONG, 1, 0, bytes / 8, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush(1, window);
  accumulated++;
  if (!checked) return;
  MPI_Get(others, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, window);
  MPI_Win_flush(1, window);
  for (int i = 0; i < bytes / 8; i++) wrong += ((long *)others)[i] != accumulated;
}

/* All ranks add to one number of rank 0; what each gets grows. */
static void fetch(void) {
  static long last = -1;
  long one = 1, before = -1;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
  MPI_Win_flush(0, window);
  wrong += before <= last;
  last = before;
}

/* Each rank puts into the next one's part. */
static void fence(void) {
  mine[0] = mine[bytes - 1] = (char)(round_number + rank);
  MPI_Put(mine, bytes, MPI_CHAR, (rank + 1) % size, 0, bytes, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  if (checked) expect(part, (unsigned char)(round_number + (rank + size - 1) % size), bytes);
}

static void make_fenced(void) {
  make_window();
  MPI_Win_fence(0, window);
}

static void free_fenced(void) {
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  free_window();
}

static void lock(void) {
  if (rank != 0) return;
  mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  MPI_Put(mine, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, window);
  MPI_Win_unlock(1, window);
  if (!checked) return;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
  read_back(mine, 0);
  MPI_Win_unlock(1, window);
}

/* Each rank reads what another one's part of a shared window has: numbers from its own on. */
static const long *neighbour;

static void make_shared(void) {
  MPI_Aint length;
  int unit;
  MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
  for (int i = 0; i < bytes / 8; i++) ((long *)part)[i] = rank + i;
  MPI_Win_fence(0, window);
  MPI_Win_shared_query(window, (rank + 1) % size, &length, &unit, &neighbour);
}

static void shared(void) {
  long sum = 0, count = bytes / 8;
  for (long i = 0; i < count; i++) sum += neighbour[i];
  wrong += sum != count * ((rank + 1) % size) + count * (count - 1) / 2;
  __asm__ volatile("" : : : "memory"); /* it is read anew each time */
}

static const struct row rows[] = {
    {.name = "put", .run = put, .before = make_open, .after = close_window},
    {.name = "put-many",
     .run = put_many,
     .operations = MANY,
     .before = make_open,
     .after = close_window},
    {.name = "get", .run = get, .before = make_open, .after = close_window},
    {.name = "get-many",
     .run = get_many,
     .parts = MANY,
     .operations = MANY,
     .before = make_open,
     .after = close_window},
    {.name = "accumulate", .run = accumulate, .before = make_counters, .after = close_window},
    {.name = "fetch", .run = fetch, .before = make_counters, .after = close_window},
    {.name = "fence", .run = fence, .before = make_fenced, .after = free_fenced},
    {.name = "lock", .run = lock, .before = make_window, .after = free_window},
    {.name = "shared", .run = shared, .before = make_shared, .after = free_window},
};

int main(int argc, char **argv) {
  return measure_row(argc, argv, rows, sizeof rows / sizeof rows[0]);
}

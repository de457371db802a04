/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided communication: all kinds of windows and of epochs, on any number of ranks. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { CELLS = 64 };

static int rank, size;

static int next(void) { return (rank + 1) % size; }
static int previous(void) { return (rank + size - 1) % size; }

/* Every rank puts into and gets from its neighbour. */
static void fences(void) {
  int cells[CELLS], got[CELLS];
  MPI_Win win;
  for (int i = 0; i < CELLS; i++) cells[i] = rank * 1000 + i;
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Get(got, CELLS / 2, MPI_INT, next(), CELLS / 2, CELLS / 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < CELLS / 2; i++) CHECK(got[i] == next() * 1000 + CELLS / 2 + i);
  for (int i = 0; i < CELLS; i++) got[i] = -rank - i;
  MPI_Put(got, 4, MPI_INT, next(), 8, 4, MPI_INT, win);
  MPI_Put(got, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int i = 0; i < CELLS; i++) {
    bool written = i >= 8 && i < 12;
    CHECK(cells[i] == (written ? -previous() - (i - 8) : rank * 1000 + i));
  }
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
}

/* A column of the origin becomes a row of the target, and a struct's parts change places. */
static void derived_types(void) {
  double matrix[8][8], other[8][8], column[8] = {0};
  MPI_Datatype down;
  MPI_Win win;
  for (int i = 0; i < 64; i++) matrix[i / 8][i % 8] = other[i / 8][i % 8] = rank * 100 + i;
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &down);
  MPI_Type_commit(&down);
  MPI_Win_create(matrix, sizeof matrix, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Get(column, 8, MPI_DOUBLE, next(), 3, 1, down, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 8; i++) CHECK(column[i] == next() * 100 + i * 8 + 3);
  MPI_Put(column, 8, MPI_DOUBLE, previous(), 5, 1, down, win);
  MPI_Accumulate(&other[0][7], 1, down, previous(), 0, 8, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  int after = (next() + 1) % size;
  for (int i = 1; i < 8; i++) CHECK(matrix[i][5] == after * 100 + i * 8 + 3);
  for (int i = 0; i < 5; i++) CHECK(matrix[0][i] == rank * 100 + i + next() * 100 + i * 8 + 7);
  MPI_Type_free(&down);
  MPI_Win_free(&win);
}

/* Every rank adds to one counter of rank 0 and to one of its own, by each kind of update. */
static void updates(void) {
  enum { TIMES = 100 };
  long *cells, one = 1, old, minus = -1, result[2], both[2] = {1, 2};
  struct {
    double value;
    int index;
  } *best, mine = {rank % 3, rank}, found;
  MPI_Win win, pairs;
  MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win);
  MPI_Win_allocate(sizeof *best, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &best, &pairs);
  best->value = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < TIMES; i++) {
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    CHECK(old >= i && old < (long)size * TIMES);
    MPI_Get_accumulate(both, 2, MPI_LONG, result, 2, MPI_LONG, 0, 2, 2, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    CHECK(result[1] == 2 * result[0]); /* a chunk is combined as a whole */
  }
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Fetch_and_op(NULL, &old, MPI_LONG, 0, 0, MPI_NO_OP, win);
  MPI_Win_flush_local(0, win);
  CHECK(old == (long)size * TIMES);
  MPI_Get(&old, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
  MPI_Win_flush_local(0, win);
  CHECK(old == (long)size * TIMES);
  MPI_Barrier(MPI_COMM_WORLD);
  /* one rank wins */
  long wanted = (long)size * TIMES, winner = -1, sum;
  MPI_Compare_and_swap(&minus, &wanted, &old, MPI_LONG, 0, 0, win);
  MPI_Win_flush_local(0, win);
  winner = old == wanted;
  MPI_Allreduce(&winner, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 1);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, pairs);
  MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, pairs);
  MPI_Win_fence(0, pairs);
  MPI_Get(&found, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, pairs);
  MPI_Win_fence(0, pairs);
  int most = size - 1 < 2 ? size - 1 : 2;
  CHECK(found.value == most && found.index == most);
  MPI_Win_free(&pairs);
  MPI_Win_free(&win);
}

/* All ranks add to the same long rows at a time: in place, at addresses that are not aligned, and
 * with gaps in memory. What was there before has grown when it is fetched again. */
static void long_updates(void) {
  enum { LONG = 2000, TIMES = 5 };
  static long row[LONG], spread[2 * LONG], old[LONG], older[LONG];
  static char odd[1 + LONG * sizeof(long)];
  MPI_Datatype gaps;
  MPI_Win aligned, unaligned;
  for (int i = 0; i < LONG; i++) row[i] = i;
  for (int i = 0; i < 2 * LONG; i++) spread[i] = i % 2 == 0 ? i / 2 : -1;
  MPI_Type_vector(LONG, 1, 2, MPI_LONG, &gaps);
  MPI_Type_commit(&gaps);
  static long sums[LONG];
  MPI_Win_create(sums, sizeof sums, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &aligned);
  MPI_Win_create(odd, sizeof odd, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &unaligned);
  MPI_Win_lock_all(0, aligned);
  MPI_Win_lock_all(0, unaligned);
  for (int n = 0; n < TIMES; n++) {
    MPI_Accumulate(row, LONG, MPI_LONG, 0, 0, LONG, MPI_LONG, MPI_SUM, aligned);
    MPI_Accumulate(spread, 1, gaps, 0, 0, LONG, MPI_LONG, MPI_SUM, aligned);
    MPI_Accumulate(row, LONG, MPI_LONG, 0, 1, LONG, MPI_LONG, MPI_SUM, unaligned);
    MPI_Get_accumulate(row, LONG, MPI_LONG, old, LONG, MPI_LONG, 0, 0, LONG, MPI_LONG, MPI_SUM,
                       aligned);
    MPI_Win_flush_local(0, aligned);
    for (int i = 1; i < LONG; i++) CHECK(old[i] % i == 0 && old[i] > older[i]);
    memcpy(older, old, sizeof old);
  }
  MPI_Win_unlock_all(aligned);
  MPI_Win_unlock_all(unaligned);
  MPI_Win_free(&aligned);
  MPI_Win_free(&unaligned);
  MPI_Type_free(&gaps);
  for (int i = 0; rank == 0 && i < LONG; i++) {
    long there;
    memcpy(&there, odd + 1 + (size_t)i * sizeof there, sizeof there);
    CHECK(sums[i] == 3L * TIMES * size * i && there == (long)TIMES * size * i);
  }
}

/* What is read and written under an exclusive lock is not seen in between. */
static void exclusive_locks(void) {
  enum { TIMES = 50 };
  int *cells, pair[2], zero = 0;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win);
  for (int i = 0; i < TIMES; i++) {
    int target = (rank + i) % size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(pair, 2, MPI_INT, target, 0, 2, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK(pair[0] == pair[1]);
    pair[0]++;
    MPI_Put(pair, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush_local(target, win);
    MPI_Put(pair, 1, MPI_INT, target, 1, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
    if (i % 8 == 0) { /* the gate: a lock of all beside exclusive ones */
      MPI_Win_lock_all(0, win);
      MPI_Get(pair, 2, MPI_INT, next(), 0, 2, MPI_INT, win);
      MPI_Win_unlock_all(win);
      CHECK(pair[0] == pair[1]);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  int own = cells[0], sum;
  MPI_Win_unlock(rank, win);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == TIMES * size);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), MPI_MODE_NOCHECK, win);
  MPI_Put(&zero, 1, MPI_INT, next(), 0, 1, MPI_INT, win);
  MPI_Win_unlock(next(), win);
  MPI_Win_free(&win);
}

/* Even ranks are origins, odd ones targets; then all are both. */
static void posts(void) {
  int cell = -1, neighbors[2] = {previous(), next()}, flag = 0;
  MPI_Group all, near;
  MPI_Win win;
  if (size < 2) return;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int round = 0; round < 20; round++) {
    MPI_Group_incl(all, 1, &neighbors[0], &near);
    MPI_Win_post(near, 0, win);
    MPI_Group_free(&near);
    MPI_Group_incl(all, 1, &neighbors[1], &near);
    MPI_Win_start(near, 0, win);
    MPI_Group_free(&near);
    int value = rank * 100 + round;
    MPI_Put(&value, 1, MPI_INT, next(), 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (round % 2 == 0)
      MPI_Win_wait(win);
    else
      for (flag = 0; !flag;) MPI_Win_test(win, &flag);
    CHECK(cell == previous() * 100 + round);
  }
  int origin = rank % 2 == 0, partner = origin ? rank + 1 : rank - 1;
  if (partner < size) {
    MPI_Group_incl(all, 1, &partner, &near);
    if (origin) {
      MPI_Win_start(near, 0, win);
      MPI_Put(&rank, 1, MPI_INT, partner, 0, 1, MPI_INT, win);
      MPI_Win_complete(win);
    } else {
      MPI_Win_post(near, MPI_MODE_NOSTORE, win);
      MPI_Win_wait(win);
      CHECK(cell == partner);
    }
    MPI_Group_free(&near);
  }
  MPI_Group_free(&all);
  MPI_Win_free(&win);
}

/* Memory of all ranks of a node in one piece, or apart; the others' is used by its address. */
static void shared(void) {
  MPI_Comm node;
  int own, members;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &own);
  MPI_Comm_size(node, &members);
  for (int apart = 0; apart < 2; apart++) {
    int *mine, *other, unit;
    MPI_Aint bytes;
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    MPI_Win_allocate_shared((own + 1) * sizeof(int), sizeof(int), info, node, &mine, &win);
    MPI_Info_free(&info);
    for (int i = 0; i <= own; i++) mine[i] = own;
    MPI_Win_fence(0, win);
    for (int r = 0; r < members; r++) {
      MPI_Win_shared_query(win, r, &bytes, &unit, &other);
      CHECK(bytes == (MPI_Aint)((r + 1) * sizeof(int)) && unit == sizeof(int));
      for (int i = 0; i <= r; i++) CHECK(other[i] == r);
      if (!apart) CHECK(other == mine + (r * (r + 1) - own * (own + 1)) / 2);
      if (apart) CHECK((uintptr_t)other % 64 == 0);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &other);
    CHECK(bytes == sizeof(int));
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
  MPI_Comm_free(&node);
}

/* Memory that is attached later; its addresses are displacements. */
static void dynamic(void) {
  static int first[16], second[16]; /* private to each rank */
  MPI_Aint where[2], *all = malloc((size_t)size * sizeof where);
  MPI_Win win;
  int value = rank + 1;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, first, sizeof first);
  MPI_Win_attach(win, second, sizeof second);
  MPI_Get_address(first, &where[0]);
  MPI_Get_address(second, &where[1]);
  MPI_Allgather(where, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, win);
  MPI_Put(&value, 1, MPI_INT, next(), MPI_Aint_add(all[2 * next()], 12), 1, MPI_INT, win);
  MPI_Put(&value, 1, MPI_INT, next(), all[2 * next() + 1], 1, MPI_INT, win);
  MPI_Win_unlock(next(), win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(first[3] == previous() + 1 && second[0] == previous() + 1);
  MPI_Win_detach(win, first);
  MPI_Win_detach(win, second);
  MPI_Win_free(&win);
  free(all);
}

/* The forms that make requests. */
static void requests(void) {
  int *cells, value = rank, got = -1, old = -1;
  MPI_Request all[4];
  MPI_Win win;
  MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Rput(&value, 1, MPI_INT, next(), 0, 1, MPI_INT, win, &all[0]);
  MPI_Raccumulate(&value, 1, MPI_INT, next(), 1, 1, MPI_INT, MPI_REPLACE, win, &all[1]);
  MPI_Rget_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, next(), 2, 1, MPI_INT, MPI_SUM, win,
                      &all[2]);
  MPI_Rget(&got, 1, MPI_INT, MPI_PROC_NULL, 2, 1, MPI_INT, win, &all[3]);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  CHECK(cells[0] == previous() && cells[1] == previous() && cells[2] == previous() && old == 0);
  MPI_Rget_c(&got, 1, MPI_INT, next(), 0, 1, MPI_INT, win, &all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  CHECK(got == rank && all[0] == MPI_REQUEST_NULL);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static int deleted;

static int delete_attribute(MPI_Win win, int keyval, void *value, void *extra) {
  (void)win, (void)keyval, (void)extra;
  deleted += *(int *)value;
  return MPI_SUCCESS;
}

static void properties(void) {
  int cells[4], keyval, flag, length, weight = 7, *unit, *flavor, *model, *own;
  char name[MPI_MAX_OBJECT_NAME];
  void *base;
  MPI_Aint *bytes;
  MPI_Group world, group;
  MPI_Info info;
  MPI_Win win;
  MPI_Win_create(cells, sizeof cells, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == cells);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
  CHECK(flag && *bytes == sizeof cells);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
  CHECK(flag && *unit == 4);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
  CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
  CHECK(flag && *model == MPI_WIN_UNIFIED);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, &keyval, NULL);
  MPI_Win_get_attr(win, keyval, &own, &flag);
  CHECK(!flag);
  MPI_Win_set_attr(win, keyval, &weight);
  MPI_Win_get_attr(win, keyval, &own, &flag);
  CHECK(flag && *own == 7);
  MPI_Win_delete_attr(win, keyval);
  CHECK(deleted == 7);
  MPI_Win_set_attr(win, keyval, &weight);
  MPI_Win_free_keyval(&keyval);
  MPI_Win_get_name(win, name, &length);
  CHECK(length == 0);
  MPI_Win_set_name(win, "halo");
  MPI_Win_get_name(win, name, &length);
  CHECK(length == 4 && strcmp(name, "halo") == 0);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Win_get_group(win, &group);
  MPI_Group_compare(world, group, &flag);
  CHECK(flag == MPI_IDENT);
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "no_locks", (int)sizeof name - 1, name, &flag);
  CHECK(flag && strcmp(name, "false") == 0);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Info_set(info, "of the program", "kept");
  MPI_Win_set_info(win, info);
  MPI_Win_set_info(win, info);
  MPI_Info_free(&info);
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "no_locks", (int)sizeof name - 1, name, &flag);
  CHECK(flag && strcmp(name, "true") == 0);
  MPI_Info_get(info, "of the program", (int)sizeof name - 1, name, &flag);
  CHECK(flag && strcmp(name, "kept") == 0);
  MPI_Info_free(&info);
  MPI_Win_get_name(MPI_WIN_NULL, name, &length);
  CHECK(length == 12 && strcmp(name, "MPI_WIN_NULL") == 0);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win && MPI_Win_fromint(MPI_Win_toint(win)) == win);
  CHECK(MPI_Win_c2f(MPI_WIN_NULL) == 0x110);
  MPI_Win_free(&win);
  CHECK(deleted == 14);
}

/* Regions that are still attached go with their window; one of shared memory says so. */
static void ends(void) {
  static int memory[2];
  char value[8];
  int *cells, flag;
  MPI_Info info;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < 2; i++) CHECK(MPI_Win_attach(win, &memory[i], sizeof(int)) == MPI_SUCCESS);
  MPI_Win_free(&win);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &cells, &win);
  MPI_Comm_free(&node);
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "alloc_shared_noncontig", (int)sizeof value - 1, value, &flag);
  CHECK(flag && strcmp(value, "false") == 0);
  MPI_Info_free(&info);
  MPI_Win_lock_all(0, win);
  CHECK(MPI_Win_flush_local_all(win) == MPI_SUCCESS);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* A rank that only looks lets the others run. */
static void polling(void) {
  int *cells, one = 1, seen = 0;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win);
  MPI_Win_lock_all(0, win);
  if (rank == size - 1)
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
  else
    while (!seen) {
      MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, 0, MPI_NO_OP, win);
      MPI_Win_flush(0, win);
    }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  fences();
  derived_types();
  updates();
  long_updates();
  exclusive_locks();
  posts();
  shared();
  dynamic();
  requests();
  properties();
  ends();
  polling();
  MPI_Finalize();
  return 0;
}

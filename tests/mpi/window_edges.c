/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of windows: members without memory, regions that touch, accesses that end where the
 * memory does, datatypes that begin before their address, and which of them one may compare. Three
 * ranks. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { CELLS = 8 };

static int rank, size, cells[CELLS], buffer[64];
static MPI_Win win;

static int put(int target, MPI_Aint disp, int count, MPI_Datatype type) {
  return MPI_Put(buffer, 64 / 4, MPI_INT, target, disp, count, type, win);
}

/* Of MPI_PROC_NULL: the first member that has memory; nothing, where none has. */
static void members_without_memory(void) {
  for (int members = 1; members <= size; members++) {
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, rank, &some);
    if (some == MPI_COMM_NULL) continue;
    for (int has = 0; has < 2; has++) {
      MPI_Aint bytes = has && rank == members - 1 ? 4 * members : 0, found = -1;
      int unit = 0, *base = buffer;
      MPI_Win_allocate_shared(bytes, rank + 2, MPI_INFO_NULL, some, &base, &win);
      MPI_Win_shared_query(win, MPI_PROC_NULL, &found, &unit, &base);
      CHECK(found == (has ? 4 * members : 0));
      CHECK(unit == (has ? members + 1 : rank + 2) && (base != NULL) == has);
      MPI_Win_free(&win);
    }
    MPI_Comm_free(&some);
  }
}

/* Memory of windows is zero, and begins with a line; members' memory that is apart shares no line,
 * and what is together has no gap. */
static void fresh_memory(void) {
  enum { LINE = 64 };
  static const int sizes[] = {1, LINE - 1, LINE, LINE + 1, 10 * LINE, 10 * LINE + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int kind = 0; kind < 3; kind++) {
      int bytes = sizes[i], lines = (bytes + LINE - 1) / LINE, sum = 0, unit;
      char *base, *other;
      MPI_Aint found;
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Info_set(info, "alloc_shared_noncontig", kind == 1 ? "true" : "false");
      if (kind == 0)
        MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
      else
        MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
      MPI_Info_free(&info);
      for (int at = 0; at < bytes; at++) sum |= base[at];
      CHECK(sum == 0 && (kind == 2 || (uintptr_t)base % LINE == 0));
      memset(base, rank + 1, (size_t)bytes);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int r = 0; r < size; r++) {
        MPI_Win_shared_query(win, r, &found, &unit, &other);
        CHECK(found == bytes && other[0] == r + 1 && other[bytes - 1] == r + 1);
        ptrdiff_t apart = kind == 1 ? (ptrdiff_t)lines * LINE : bytes;
        if (kind > 0) CHECK(other - base == (r - rank) * apart);
      }
      MPI_Win_free(&win);
    }
}

/* Regions may touch, in any order, and nothing is in one of no bytes. An access may be in several
 * that touch. */
static void regions(void) {
  enum { REGIONS = 4, EACH = 4 };
  static int memory[REGIONS * EACH];
  static const int order[REGIONS] = {1, 0, 3, 2};
  const MPI_Aint bytes = EACH * sizeof(int);
  MPI_Aint address;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < REGIONS; i++)
    EXPECT(MPI_SUCCESS, MPI_Win_attach(win, memory + EACH * order[i], bytes));
  char *second = (char *)(memory + EACH);
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, second, 1));
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, second + bytes - 1, 1));
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, (char *)memory - 1, 2));
  EXPECT(MPI_SUCCESS, MPI_Win_attach(win, second + 1, 0));
  EXPECT(MPI_SUCCESS, MPI_Win_detach(win, second + 1));
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, second + 1));
  MPI_Get_address(memory, &address);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  EXPECT(MPI_SUCCESS, MPI_Get(buffer, 16, MPI_INT, rank, address, 16, MPI_INT, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(buffer, 16, MPI_INT, rank, address + 4, 16, MPI_INT, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(buffer, 16, MPI_INT, rank, address - 4, 16, MPI_INT, win));
  MPI_Win_detach(win, memory + 2 * EACH);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(buffer, 16, MPI_INT, rank, address, 16, MPI_INT, win));
  EXPECT(MPI_SUCCESS, MPI_Get(buffer, 8, MPI_INT, rank, address, 8, MPI_INT, win));
  EXPECT(MPI_SUCCESS, MPI_Get(buffer, 4, MPI_INT, rank, address + 48, 4, MPI_INT, win));
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

static void make_window(MPI_Aint unit) {
  MPI_Win_create(cells, sizeof cells, (int)unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
}

static void free_window(void) {
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
}

/* @return what an access of ints by a datatype gives. */
static int reach(MPI_Aint disp, int count, MPI_Datatype type) {
  return MPI_Get(buffer, count, MPI_INT, (rank + 1) % size, disp, count, type, win);
}

static void reaches(void) {
  MPI_Datatype back, before, behind;
  const int one[] = {1};
  const MPI_Aint minus[] = {-(MPI_Aint)sizeof(int)}, plus[] = {sizeof(int)};
  MPI_Type_create_resized(MPI_INT, 0, minus[0], &back); /* elements descend */
  MPI_Type_create_hindexed(1, one, minus, MPI_INT, &before);
  MPI_Type_create_hindexed(1, one, plus, MPI_INT, &behind);
  MPI_Type_commit(&back);
  MPI_Type_commit(&before);
  MPI_Type_commit(&behind);
  make_window(sizeof(int));
  EXPECT(MPI_SUCCESS, reach(0, CELLS, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, reach(0, CELLS + 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, reach(1, CELLS, MPI_INT));
  EXPECT(MPI_SUCCESS, reach(CELLS - 1, 1, MPI_INT));
  EXPECT(MPI_SUCCESS, reach(CELLS + 5, 0, MPI_INT)); /* no element is anywhere */
  EXPECT(MPI_SUCCESS, reach(2, 3, back));
  EXPECT(MPI_ERR_RMA_RANGE, reach(1, 3, back));
  EXPECT(MPI_SUCCESS, reach(CELLS - 1, CELLS, back));
  EXPECT(MPI_ERR_RMA_RANGE, reach(CELLS, 1, back));
  EXPECT(MPI_SUCCESS, reach(1, 1, before));
  EXPECT(MPI_ERR_RMA_RANGE, reach(0, 1, before));
  EXPECT(MPI_SUCCESS, reach(CELLS, 1, before));
  EXPECT(MPI_SUCCESS, reach(CELLS - 2, 1, behind));
  EXPECT(MPI_ERR_RMA_RANGE, reach(CELLS - 1, 1, behind));
  EXPECT(MPI_ERR_TRUNCATE, put(0, 0, 4, MPI_INT));
  free_window();
  MPI_Type_free(&back);
  MPI_Type_free(&before);
  MPI_Type_free(&behind);
}

/* Bytes, and the largest unit there is. */
static void units(void) {
  void *base;
  MPI_Win other;
  make_window(1);
  EXPECT(MPI_SUCCESS, reach(CELLS * 4 - 4, 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, reach(CELLS * 4 - 3, 1, MPI_INT));
  free_window();
  make_window(INT_MAX);
  EXPECT(MPI_SUCCESS, reach(0, CELLS, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, reach(1, 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, reach((MPI_Aint)1 << 33, 1, MPI_INT)); /* which wraps to a negative */
  free_window();
  const MPI_Aint larger = (MPI_Aint)INT_MAX + 1;
  EXPECT(MPI_ERR_DISP, MPI_Win_create_c(cells, 4, larger, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
  EXPECT(MPI_ERR_DISP, MPI_Win_allocate_c(4, larger, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
}

/* Nothing is done to MPI_PROC_NULL, whatever the rest says. */
static void nobody(void) {
  int old = 7, one = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_create(cells, sizeof cells, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT(MPI_SUCCESS, put(MPI_PROC_NULL, 1000, 1000, MPI_INT));
  EXPECT(MPI_SUCCESS, MPI_Get(&old, 1, MPI_INT, MPI_PROC_NULL, -3, 1, MPI_INT, win));
  EXPECT(MPI_SUCCESS, MPI_Accumulate(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, MPI_PROC_NULL, 0, 1,
                                         MPI_INT, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Fetch_and_op(&one, &old, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Compare_and_swap(&one, &old, &old, MPI_INT, MPI_PROC_NULL, 0, win));
  EXPECT(MPI_SUCCESS, MPI_Rput(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request));
  CHECK(request != MPI_REQUEST_NULL && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  EXPECT(MPI_SUCCESS, MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win));
  EXPECT(MPI_SUCCESS, MPI_Win_flush(MPI_PROC_NULL, win));
  EXPECT(MPI_SUCCESS, MPI_Win_unlock(MPI_PROC_NULL, win));
  CHECK(old == 7);
  MPI_Win_free(&win);
}

/* Integers, logicals and bytes may be compared, and nothing else. */
static void compared(void) {
  static const struct {
    MPI_Datatype type;
    bool can;
  } kinds[] = {{MPI_INT8_T, true},   {MPI_INT16_T, true},   {MPI_INT32_T, true},
               {MPI_INT64_T, true},  {MPI_UINT8_T, true},   {MPI_UINT16_T, true},
               {MPI_UINT32_T, true}, {MPI_UINT64_T, true},  {MPI_C_BOOL, true},
               {MPI_BYTE, true},     {MPI_AINT, true},      {MPI_INTEGER, true},
               {MPI_LOGICAL, true},  {MPI_FLOAT, false},    {MPI_DOUBLE, false},
               {MPI_2INT, false},    {MPI_C_COMPLEX, false}};
  long long new[2] = {1, 1}, same[2] = {0, 0}, other[2] = {5, 5}, old[2];
  memset(cells, 0, sizeof cells);
  make_window(sizeof(int));
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    old[0] = 9;
    if (!kinds[i].can) {
      EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(new, same, old, kinds[i].type, rank, 0, win));
      continue;
    }
    EXPECT(MPI_SUCCESS, MPI_Compare_and_swap(new, other, old, kinds[i].type, rank, 0, win));
    CHECK((old[0] & 0xff) == 0 && cells[0] == 0);
    EXPECT(MPI_SUCCESS, MPI_Compare_and_swap(new, same, old, kinds[i].type, rank, 0, win));
    CHECK((old[0] & 0xff) == 0 && (cells[0] & 0xff) == 1);
    cells[0] = 0;
  }
  free_window();
}

/* Elements with gaps, which do not go into one chunk. */
static void pairs(void) {
  enum { PAIRS = 500 };
  struct pair {
    double value;
    int index;
  };
  static struct pair mine[PAIRS], best[PAIRS], old[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    mine[i] = (struct pair){(rank + i) % size, rank};
    best[i] = (struct pair){-1, 99};
  }
  MPI_Win_create(best, sizeof best, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; to++)
    MPI_Get_accumulate(mine, PAIRS, MPI_DOUBLE_INT, old, PAIRS, MPI_DOUBLE_INT, to, 0, PAIRS,
                       MPI_DOUBLE_INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < PAIRS; i++) {
    CHECK(best[i].value == size - 1 && (best[i].index + i) % size == size - 1);
    CHECK(old[i].value >= -1 && old[i].value < size);
  }
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, old, PAIRS, MPI_DOUBLE_INT, (rank + 1) % size, 0,
                     PAIRS, MPI_DOUBLE_INT, MPI_NO_OP, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < PAIRS; i++) CHECK(old[i].value == size - 1);
  if (rank == 0)
    MPI_Accumulate(mine, PAIRS, MPI_DOUBLE_INT, size - 1, 0, PAIRS, MPI_DOUBLE_INT, MPI_REPLACE,
                   win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int i = 0; rank == size - 1 && i < PAIRS; i++)
    CHECK(best[i].value == i % size && best[i].index == 0);
  MPI_Win_free(&win);
}

/* Parts of no data are no elements. */
static void empty_parts(void) {
  int one = 1;
  MPI_Datatype none, type, other;
  MPI_Type_contiguous(0, MPI_DOUBLE, &none);
  MPI_Type_create_struct(3, (const int[]){1, 1, 1}, (const MPI_Aint[]){0, 0, 4},
                         (const MPI_Datatype[]){none, MPI_INT, none}, &type);
  MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 4},
                         (const MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &other);
  MPI_Type_commit(&none);
  MPI_Type_commit(&type);
  MPI_Type_commit(&other);
  memset(cells, 0, sizeof cells);
  make_window(sizeof(int));
  EXPECT(MPI_SUCCESS, MPI_Accumulate(&one, 1, MPI_INT, rank, 1, 1, type, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Accumulate(&one, 1, type, rank, 1, 1, MPI_INT, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Accumulate(NULL, 0, MPI_FLOAT, rank, 1, 0, other, MPI_SUM, win));
  EXPECT(MPI_SUCCESS, MPI_Accumulate(NULL, 5, none, rank, 1, 7, none, MPI_SUM, win));
  EXPECT(MPI_ERR_TYPE, MPI_Accumulate(cells, 1, other, rank, 1, 1, other, MPI_SUM, win));
  free_window();
  for (int i = 0; i < CELLS; i++) CHECK(cells[i] == (i == 1 ? 2 : 0));
  MPI_Type_free(&none);
  MPI_Type_free(&type);
  MPI_Type_free(&other);
}

/* The holder of an exclusive lock gets another one before a rank that waits for the locks of all,
 * since that rank waits for the first. */
static void holders_pass(void) {
  MPI_Win_create(cells, sizeof cells, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Win_unlock(1, win);
    MPI_Win_unlock(0, win);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
  }
  MPI_Win_free(&win);
}

static void hints(void) {
  static const char *const expected[][2] = {{"no_locks", "false"},
                                            {"accumulate_ordering", "rar,raw,war,waw"},
                                            {"accumulate_ops", "same_op_no_op"},
                                            {"mpi_accumulate_granularity", "0"},
                                            {"same_size", "false"},
                                            {"same_disp_unit", "false"}};
  char value[64];
  int flag, count;
  MPI_Info info;
  make_window(1);
  MPI_Win_get_info(win, &info);
  MPI_Info_get_nkeys(info, &count);
  CHECK(count == 6); /* and none of shared memory */
  for (int i = 0; i < count; i++) {
    MPI_Info_get(info, expected[i][0], sizeof value - 1, value, &flag);
    CHECK(flag && strcmp(value, expected[i][1]) == 0);
  }
  MPI_Info_free(&info);
  free_window();
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  CHECK(size == 3);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  members_without_memory();
  fresh_memory();
  regions();
  reaches();
  units();
  nobody();
  compared();
  pairs();
  empty_parts();
  holders_pass();
  hints();
  MPI_Finalize();
  return 0;
}

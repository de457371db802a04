/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to windows against what can be computed: updates of any length, at any address and by
 * any operation; the edges of memory; regions of dynamic windows; what a window tells. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { ROOM = 20000, SHIFTS = 2 };

static int rank, size, other;

/* ---- updates: as MPI_Reduce_local() does on a copy */

struct kind {
  MPI_Datatype type;
  size_t extent; /* in memory */
  MPI_Op ops[4]; /* MPI_OP_NULL: no more */
};

static const struct kind kinds[] = {
    {MPI_LONG, sizeof(long), {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE}},
    {MPI_INT, sizeof(int), {MPI_SUM, MPI_MIN, MPI_REPLACE, MPI_OP_NULL}},
    {MPI_SIGNED_CHAR, 1, {MPI_BAND, MPI_SUM, MPI_REPLACE, MPI_OP_NULL}},
    {MPI_SHORT_INT, 8, {MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_OP_NULL}}, /* has a gap */
    {MPI_COMPLEX16, 16, {MPI_SUM, MPI_PROD, MPI_REPLACE, MPI_OP_NULL}},
};

/* Small numbers of each type, and the same value in each gap. */
static void fill(const struct kind *kind, char *at, int count, int seed) {
  memset(at, 0, (size_t)count * kind->extent);
  for (int i = 0; i < count; i++) {
    char *element = at + (size_t)i * kind->extent;
    int value = (i * 7 + seed * 13) % 50;
    long wide = value;
    double part = value;
    short narrow = (short)value;
    int index = (i + seed) % 9;
    if (kind->type == MPI_LONG) memcpy(element, &wide, sizeof wide);
    if (kind->type == MPI_INT) memcpy(element, &value, sizeof value);
    if (kind->type == MPI_SIGNED_CHAR) *element = (char)value;
    if (kind->type == MPI_COMPLEX16) memcpy(element, &part, sizeof part);
    if (kind->type != MPI_SHORT_INT) continue;
    memcpy(element, &narrow, sizeof narrow);
    memcpy(element + 4, &index, sizeof index);
  }
}

static void combine(const struct kind *kind, MPI_Op op, const char *in, char *inout, int count) {
  if (op == MPI_REPLACE)
    memcpy(inout, in, (size_t)count * kind->extent);
  else if (op != MPI_NO_OP)
    MPI_Reduce_local(in, inout, count, kind->type, op);
}

/* cells: where the window of the target begins, which the caller reads. */
static void update(const struct kind *kind, MPI_Op op, int count, size_t shift, char *cells,
                   MPI_Win win) {
  static _Alignas(16) char in[ROOM], expected[ROOM], old[ROOM], got[ROOM];
  size_t bytes = (size_t)count * kind->extent;
  char *from = in + shift;
  fill(kind, from, count, 1);
  for (int fetches = 0; fetches < 2; fetches++) {
    memset(cells, 0, ROOM);
    fill(kind, cells + shift, count, 2);
    memcpy(expected, cells, sizeof expected);
    memcpy(old, cells + shift, bytes);
    memset(got, 0, sizeof got);
    combine(kind, op, from, expected + shift, count);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    if (fetches)
      MPI_Get_accumulate(from, count, kind->type, got + shift, count, kind->type, rank,
                         (MPI_Aint)shift, count, kind->type, op, win);
    else if (op != MPI_NO_OP)
      MPI_Accumulate(from, count, kind->type, rank, (MPI_Aint)shift, count, kind->type, op, win);
    MPI_Win_unlock(rank, win);
    CHECK(memcmp(cells, expected, ROOM) == 0);
    if (fetches) CHECK(memcmp(got + shift, old, bytes) == 0 && got[shift + bytes] == 0);
  }
  if (count != 1) return;
  memset(cells, 0, ROOM);
  fill(kind, cells + shift, 1, 2);
  memset(got, 0, sizeof got);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  MPI_Fetch_and_op(from, got, kind->type, rank, (MPI_Aint)shift, op, win);
  MPI_Win_unlock(rank, win);
  CHECK(memcmp(cells, expected, ROOM) == 0 && memcmp(got, old, bytes) == 0);
}

static void updates(void) {
  static _Alignas(16) char cells[ROOM];
  static const int bytes[] = {1, 1000, 1024, 1040, 2040, 4096, 4112, 8192, 8208, 12300};
  MPI_Win win;
  MPI_Win_create(cells, sizeof cells, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (size_t n = 0; n < sizeof bytes / sizeof bytes[0]; n++)
      for (size_t shift = 0; shift < SHIFTS; shift++) {
        const struct kind *kind = &kinds[k];
        int count = bytes[n] / (int)kind->extent;
        if (count == 0) count = 1;
        for (int i = 0; i < 4 && kind->ops[i] != MPI_OP_NULL; i++)
          update(kind, kind->ops[i], count, shift, cells, win);
        update(kind, MPI_NO_OP, count, shift, cells, win);
      }
  MPI_Win_free(&win);
}

/* ---- one element is exchanged if it is what was expected */

static void swaps(void) {
  static const struct {
    MPI_Datatype type;
    size_t bytes;
  } table[] = {{MPI_BYTE, 1},   {MPI_CHAR, 1},    {MPI_SHORT, 2},     {MPI_INT, 4},
               {MPI_LONG, 8},   {MPI_AINT, 8},    {MPI_UINT16_T, 2},  {MPI_UINT64_T, 8},
               {MPI_C_BOOL, 1}, {MPI_LOGICAL, 4}, {MPI_INTEGER16, 16}};
  unsigned char cells[32], expected[32], new[16], compare[16], old[16];
  MPI_Win win;
  MPI_Win_create(cells, sizeof cells, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    for (int same = 0; same < 2; same++) {
      size_t bytes = table[i].bytes;
      memset(cells, 1, sizeof cells);
      memset(expected, 1, sizeof expected);
      memset(new, 0, sizeof new);
      memset(compare, 1, sizeof compare);
      memset(old, 9, sizeof old);
      if (!same) compare[bytes - 1] = 0;
      if (same) memset(expected + 3, 0, bytes);
      MPI_Compare_and_swap(new, compare, old, table[i].type, rank, 3, win);
      CHECK(memcmp(cells, expected, sizeof cells) == 0);
      for (size_t k = 0; k < sizeof old; k++) CHECK(old[k] == (k < bytes ? 1 : 9));
    }
  memset(old, 9, sizeof old); /* of nobody nothing comes */
  MPI_Compare_and_swap(new, compare, old, MPI_INT, MPI_PROC_NULL, 0, win);
  MPI_Fetch_and_op(new, old, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win);
  MPI_Get(old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Get_accumulate(new, 1, MPI_INT, old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win);
  for (size_t k = 0; k < sizeof old; k++) CHECK(old[k] == 9);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(new, compare, old, MPI_FLOAT, rank, 0, win));
  EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(new, compare, old, MPI_SHORT_INT, rank, 0, win));
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

/* ---- the edges of a window: the last byte, and types that begin before their address */

static void edges(void) {
  static int cells[8];
  int values[4] = {1, 2, 3, 4};
  MPI_Datatype before, backwards;
  MPI_Win win;
  MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){-4}, MPI_INT, &before);
  MPI_Type_create_resized(MPI_INT, 0, -4, &backwards);
  MPI_Type_commit(&before);
  MPI_Type_commit(&backwards);
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(values, 1, MPI_INT, other, 7, 1, MPI_INT, win) == MPI_SUCCESS);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(values, 1, MPI_INT, other, 8, 1, MPI_INT, win));
  CHECK(MPI_Put(values, 0, MPI_INT, other, 100, 0, MPI_INT, win) == MPI_SUCCESS); /* nothing */
  CHECK(MPI_Put(values, 1, MPI_INT, other, 1, 1, before, win) == MPI_SUCCESS);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(values, 1, MPI_INT, other, 0, 1, before, win));
  CHECK(MPI_Put(values, 1, MPI_INT, other, 8, 1, before, win) == MPI_SUCCESS);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(values, 1, MPI_INT, other, 9, 1, before, win));
  CHECK(MPI_Put(values, 3, MPI_INT, other, 4, 3, backwards, win) == MPI_SUCCESS);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(values, 3, MPI_INT, other, 1, 3, backwards, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(values, 1, MPI_INT, other, 8, 1, backwards, win));
  EXPECT(MPI_ERR_DISP, MPI_Get(values, 1, MPI_INT, other, -1, 1, MPI_INT, win));
  MPI_Win_fence(0, win);
  static const int expected[8] = {1, 0, 3, 2, 1, 0, 0, 1};
  CHECK(memcmp(cells, expected, sizeof cells) == 0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
  MPI_Type_free(&before);
  MPI_Type_free(&backwards);
}

/* ---- regions: neighbours that touch are as good as one; none may overlap another */

static MPI_Aint address_of(const void *at) {
  MPI_Aint address;
  MPI_Get_address(at, &address);
  return address;
}

static int put_bytes(MPI_Win win, const char *at, int count) {
  static const char zeroes[64];
  return MPI_Put(zeroes, count, MPI_BYTE, rank, address_of(at), count, MPI_BYTE, win);
}

static void regions(void) {
  static char memory[64];
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int order = 0; order < 2; order++) { /* which of them was attached first */
    char *first = memory + (order == 0 ? 8 : 24), *second = memory + (order == 0 ? 24 : 8);
    CHECK(MPI_Win_attach(win, first, 16) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, second, 16) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, memory + 48, 8) == MPI_SUCCESS);
    CHECK(put_bytes(win, memory + 8, 32) == MPI_SUCCESS);
    CHECK(put_bytes(win, memory + 20, 8) == MPI_SUCCESS);
    CHECK(put_bytes(win, memory + 48, 8) == MPI_SUCCESS);
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 7, 2));
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 7, 1));
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 39, 2));
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 40, 1));
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 32, 24));
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 56, 1));
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, memory, 9));
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, memory + 39, 4));
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, memory, 64));
    CHECK(MPI_Win_attach(win, memory, 8) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, memory + 40, 8) == MPI_SUCCESS);
    CHECK(put_bytes(win, memory, 56) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(win, memory + 24) == MPI_SUCCESS);
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 8, 17));
    CHECK(put_bytes(win, memory + 8, 16) == MPI_SUCCESS);
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory + 24));
    CHECK(MPI_Win_attach(win, memory + 60, 0) == MPI_SUCCESS); /* of nothing */
    CHECK(MPI_Win_detach(win, memory + 60) == MPI_SUCCESS);
    for (int i = 0; i < 64; i += 8)
      if (i == 0 || i == 8 || i == 40 || i == 48)
        CHECK(MPI_Win_detach(win, memory + i) == MPI_SUCCESS);
    EXPECT(MPI_ERR_RMA_RANGE, put_bytes(win, memory + 8, 1));
  }
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

/* ---- what a window tells */

static void is_hint(MPI_Info info, const char *key, const char *expected) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  CHECK(flag == (expected != NULL) && (expected == NULL || strcmp(value, expected) == 0));
}

static void listed(void) {
  static const char *const hints[][2] = {{"no_locks", "false"},
                                         {"accumulate_ordering", "rar,raw,war,waw"},
                                         {"accumulate_ops", "same_op_no_op"},
                                         {"mpi_accumulate_granularity", "0"},
                                         {"same_size", "false"},
                                         {"same_disp_unit", "false"}};
  char name[MPI_MAX_OBJECT_NAME], given[2 * MPI_MAX_OBJECT_NAME];
  int cells[4], *base, *flavor, flag, count, length;
  MPI_Info info;
  for (int kind = 0; kind < 4; kind++) {
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                  MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win win;
    bool can_share = kind == 1 || kind == 2;
    if (kind == 0) MPI_Win_create(cells, sizeof cells, 4, MPI_INFO_NULL, world, &win);
    if (kind == 1) MPI_Win_allocate(sizeof cells, 4, MPI_INFO_NULL, world, &base, &win);
    if (kind == 2) MPI_Win_allocate_shared(sizeof cells, 4, MPI_INFO_NULL, world, &base, &win);
    if (kind == 3) MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
    if (can_share) CHECK((uintptr_t)base % 16 == 0 && base[0] == 0 && base[3] == 0);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag == 1 && *flavor == flavors[kind]);
    MPI_Win_get_info(win, &info);
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 6 + can_share);
    for (int i = 0; i < 6; i++) is_hint(info, hints[i][0], hints[i][1]);
    is_hint(info, "alloc_shared_noncontig", can_share ? "false" : NULL);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Info_set(info, "same_size", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    is_hint(info, "alloc_shared_noncontig", "true");
    is_hint(info, "same_size", "true");
    is_hint(info, "same_disp_unit", "false");
    MPI_Info_free(&info);
    memset(given, 'w', sizeof given - 1);
    given[sizeof given - 1] = '\0';
    MPI_Win_set_name(win, given);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
    MPI_Win_free(&win);
  }
}

/* Of nobody in particular a query means the first rank that has memory. */
static void queried(void) {
  for (int owner = 0; owner <= size; owner++) {
    int *base, *found, unit = -1;
    MPI_Aint bytes = -1;
    MPI_Win win;
    MPI_Win_allocate_shared(rank == owner ? 8 : 0, rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                            &win);
    if (rank == owner) base[0] = 77;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &found);
    if (owner < size)
      CHECK(bytes == 8 && unit == owner + 1 && found[0] == 77);
    else
      CHECK(bytes == 0 && found == NULL && unit == rank + 1);
    MPI_Win_shared_query(win, other, &bytes, &unit, &found);
    CHECK(bytes == (other == owner ? 8 : 0) && unit == other + 1);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  other = (rank + 1) % size;
  updates();
  swaps();
  edges();
  regions();
  listed();
  queried();
  MPI_Finalize();
  return 0;
}

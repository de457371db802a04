/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong use of windows: each call returns the standard's class of error, and no memory of another
 * rank changes. Two ranks. */
#include <stdint.h>

#include "check.h"

enum { CELLS = 8 };

static int rank, size, cells[CELLS], buffer[64];
static MPI_Win win;
static MPI_Request request;
static const MPI_Win bad_win = (MPI_Win)7;
static const MPI_Datatype bad_type = (MPI_Datatype)7;

static int put(int target, MPI_Aint disp, int count, MPI_Datatype type) {
  return MPI_Put(buffer, count, type, target, disp, count, type, win);
}

static int add(int count, MPI_Datatype from, MPI_Datatype to, MPI_Op op) {
  return MPI_Accumulate(buffer, count, from, 0, 0, count, to, op, win);
}

/* Handles and arguments of calls that make windows. No rank waits for another. */
static void making(void) {
  static double no_object[2];
  void *base;
  MPI_Win new;
  EXPECT(MPI_ERR_WIN, MPI_Win_fence(0, bad_win));
  EXPECT(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
  EXPECT(MPI_ERR_WIN, MPI_Win_free(&(MPI_Win){MPI_WIN_NULL}));
  EXPECT(MPI_ERR_WIN, MPI_Win_sync((MPI_Win)no_object));
  EXPECT(MPI_ERR_WIN, MPI_Win_sync((MPI_Win)0x7ff0000000000010));
  EXPECT(MPI_ERR_COMM, MPI_Win_create(cells, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &new));
  EXPECT(MPI_ERR_SIZE, MPI_Win_create(cells, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &new));
  EXPECT(MPI_ERR_DISP, MPI_Win_create(cells, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &new));
  EXPECT(MPI_ERR_INFO, MPI_Win_create(cells, 4, 1, (MPI_Info)7, MPI_COMM_WORLD, &new));
  EXPECT(MPI_ERR_SIZE, MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &new));
  EXPECT(MPI_ERR_DISP, MPI_Win_allocate_shared(4, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &new));
  EXPECT(MPI_ERR_INFO, MPI_Win_create_dynamic((MPI_Info)7, MPI_COMM_WORLD, &new));
  EXPECT(MPI_ERR_ARG, MPI_Win_create_errhandler(NULL, &(MPI_Errhandler){0}));
}

/* In an epoch of a fence. Rank 1's cells keep their values. */
static void accesses(void) {
  MPI_Datatype uncommitted, mixed;
  MPI_Op own;
  long wide[2];
  EXPECT(MPI_ERR_RMA_SYNC, put(1, 0, 1, MPI_INT)); /* no epoch yet */
  MPI_Win_fence(0, win);
  EXPECT(MPI_ERR_RANK, put(size, 0, 1, MPI_INT));
  EXPECT(MPI_ERR_RANK, put(MPI_ANY_SOURCE, 0, 1, MPI_INT));
  EXPECT(MPI_ERR_COUNT, put(1, 0, -1, MPI_INT));
  EXPECT(MPI_ERR_COUNT, put(1, 0, -1, bad_type)); /* what is wrong first */
  EXPECT(MPI_ERR_TYPE, put(1, 0, 1, MPI_DATATYPE_NULL));
  EXPECT(MPI_ERR_TYPE, put(1, 0, 1, bad_type));
  EXPECT(MPI_ERR_DISP, put(1, -1, 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, put(1, CELLS, 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, put(1, CELLS - 1, 2, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, put(1, INT64_MAX / 2, 1, MPI_INT));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get_c(buffer, 1, MPI_INT, 1, 0, (MPI_Count)1 << 61, MPI_INT, win));
  const MPI_Count all = (MPI_Count)1 << 61, many = all + 1; /* 0 and 8 bytes, if they wrapped */
  const MPI_Datatype eight = MPI_INT64_T;
  EXPECT(MPI_ERR_COUNT, MPI_Put_c(buffer, all, eight, 1, 0, all, eight, win));
  EXPECT(MPI_ERR_COUNT, MPI_Put_c(buffer, many, eight, 1, 0, 1, eight, win));
  EXPECT(MPI_ERR_COUNT, MPI_Get_c(buffer, 1, eight, 1, 0, many, eight, win));
  EXPECT(MPI_ERR_COUNT, MPI_Get_c(buffer, many, eight, 1, 0, 1, eight, win));
  EXPECT(MPI_ERR_COUNT, MPI_Accumulate_c(buffer, many, eight, 1, 0, 1, eight, MPI_SUM, win));
  EXPECT(MPI_ERR_COUNT, MPI_Get_accumulate_c(buffer, 1, eight, buffer + 8, many, eight, 1, 0, 1,
                                             eight, MPI_SUM, win));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Put(buffer, 2, MPI_INT, 1, 0, 1, MPI_INT, win));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Get(buffer, 1, MPI_INT, 1, 0, 2, MPI_INT, win));
  EXPECT(MPI_ERR_RMA_SYNC,
         MPI_Rput(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request)); /* not passive */
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  EXPECT(MPI_ERR_TYPE, put(1, 0, 1, uncommitted));
  MPI_Type_free(&uncommitted);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){MPI_INT, MPI_FLOAT},
                         &mixed);
  MPI_Type_commit(&mixed);
  MPI_Op_create((MPI_User_function *)1, 1, &own);
  EXPECT(MPI_ERR_TYPE, add(1, mixed, mixed, MPI_SUM));
  EXPECT(MPI_ERR_TYPE, add(1, MPI_INT, MPI_FLOAT, MPI_SUM));
  EXPECT(MPI_ERR_OP, add(1, MPI_INT, MPI_INT, own));
  EXPECT(MPI_ERR_OP, add(1, MPI_INT, MPI_INT, MPI_OP_NULL));
  EXPECT(MPI_ERR_OP, add(1, MPI_INT, MPI_INT, MPI_NO_OP));
  EXPECT(MPI_ERR_OP, add(1, MPI_FLOAT, MPI_FLOAT, MPI_BAND));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Accumulate(buffer, 2, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  EXPECT(MPI_ERR_TRUNCATE,
         MPI_Get_accumulate(buffer, 1, MPI_INT, wide, 2, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  EXPECT(MPI_ERR_TRUNCATE,
         MPI_Get_accumulate(NULL, 0, MPI_INT, wide, 2, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win));
  EXPECT(MPI_ERR_TYPE, MPI_Get_accumulate(buffer, 1, MPI_INT, wide, 1, MPI_FLOAT, 0, 0, 1, MPI_INT,
                                          MPI_SUM, win));
  EXPECT(MPI_ERR_TYPE, MPI_Fetch_and_op(wide, wide, mixed, 0, 0, MPI_SUM, win));
  EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(wide, wide, wide, MPI_DOUBLE, 0, 0, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(wide, wide, MPI_LONG, 0, CELLS - 1, MPI_SUM, win));
  MPI_Type_free(&mixed);
  MPI_Op_free(&own);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int i = 0; i < CELLS; i++) CHECK(cells[i] == i);
}

static void epochs(void) {
  MPI_Group all, self;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(MPI_COMM_SELF, &self);
  EXPECT(MPI_ERR_ASSERT, MPI_Win_fence(1, win));
  EXPECT(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, 0, 0, win));
  EXPECT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &(int){0}));
  EXPECT(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
  EXPECT(MPI_ERR_GROUP, MPI_Win_post((MPI_Group)7, 0, win));
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)); /* twice */
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, put(1, 0, 1, MPI_INT)); /* another target */
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  MPI_Win_unlock(0, win);
  MPI_Win_lock_all(0, win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  MPI_Win_unlock_all(win);
  MPI_Win_post(self, 0, win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
  MPI_Win_start(self, 0, win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, put(1 - rank, 0, 1, MPI_INT)); /* not in the group */
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Win_fence(0, win);
  MPI_Put(buffer, 1, MPI_INT, rank, 0, 0, MPI_INT, win); /* fails: but the epoch is in use */
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Group_free(&all);
  MPI_Group_free(&self);
}

/* Each call takes some of the assertions. */
static void assertions(void) {
  static const int bits[] = {MPI_MODE_NOCHECK,   MPI_MODE_NOSTORE,   MPI_MODE_NOPUT,
                             MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED, 1};
  MPI_Group self;
  MPI_Comm_group(MPI_COMM_SELF, &self);
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    int bit = bits[i], checks = bit == MPI_MODE_NOCHECK ? MPI_SUCCESS : MPI_ERR_ASSERT;
    int of_fence = bit == 1 || bit == MPI_MODE_NOCHECK ? MPI_ERR_ASSERT : MPI_SUCCESS;
    int of_post = bit == 1 || bit == MPI_MODE_NOPRECEDE || bit == MPI_MODE_NOSUCCEED
                      ? MPI_ERR_ASSERT
                      : MPI_SUCCESS;
    EXPECT(of_fence, MPI_Win_fence(bit, win));
    EXPECT(checks, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, bit, win));
    if (checks == MPI_SUCCESS) EXPECT(MPI_SUCCESS, MPI_Win_unlock(rank, win));
    EXPECT(checks, MPI_Win_lock_all(bit, win));
    if (checks == MPI_SUCCESS) EXPECT(MPI_SUCCESS, MPI_Win_unlock_all(win));
    EXPECT(of_post, MPI_Win_post(self, bit, win));
    if (of_post != MPI_SUCCESS) EXPECT(MPI_SUCCESS, MPI_Win_post(self, 0, win));
    EXPECT(checks, MPI_Win_start(self, bit, win));
    if (checks != MPI_SUCCESS) EXPECT(MPI_SUCCESS, MPI_Win_start(self, 0, win));
    EXPECT(MPI_SUCCESS, MPI_Win_complete(win));
    EXPECT(MPI_SUCCESS, MPI_Win_wait(win));
  }
  MPI_Group_free(&self);
}

/* Rank 0 has an access epoch, and rank 1 an exposure epoch, which the one of rank 0 ends. */
static void one_of_two_epochs(void) {
  int flag = 7;
  MPI_Group world, other;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, (int[]){1 - rank}, &other);
  if (rank == 0)
    MPI_Win_start(other, 0, win);
  else
    MPI_Win_post(other, 0, win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  if (rank == 0) {
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    EXPECT(MPI_ERR_RMA_SYNC, put(0, 0, 1, MPI_INT)); /* the caller is no target */
    EXPECT(MPI_SUCCESS, put(1, 0, 0, MPI_INT));
  } else {
    EXPECT(MPI_ERR_RMA_SYNC, put(0, 0, 1, MPI_INT));
    EXPECT(MPI_SUCCESS, MPI_Win_test(win, &flag));
    CHECK(flag == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_SUCCESS, rank == 0 ? MPI_Win_complete(win) : MPI_Win_wait(win));
  EXPECT(MPI_ERR_RMA_SYNC, rank == 0 ? MPI_Win_complete(win) : MPI_Win_wait(win));
  EXPECT(MPI_SUCCESS, MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  MPI_Group_free(&other);
  MPI_Group_free(&world);
}

static void kinds(void) {
  static int memory[CELLS];
  MPI_Aint bytes, address;
  int *base, unit, keyval;
  MPI_Win dynamic;
  EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory, 4));
  EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, memory));
  EXPECT(MPI_ERR_RANK, MPI_Win_shared_query(win, size, &bytes, &unit, &base));
  EXPECT(MPI_ERR_INFO, MPI_Win_set_info(win, MPI_INFO_NULL));
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Win_set_errhandler(win, MPI_ERRHANDLER_NULL));
  EXPECT(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, NULL));
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  EXPECT(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, keyval, NULL)); /* one of communicators */
  MPI_Comm_free_keyval(&keyval);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(dynamic, 0, &bytes, &unit, &base));
  EXPECT(MPI_ERR_SIZE, MPI_Win_attach(dynamic, memory, -1));
  MPI_Win_attach(dynamic, memory, sizeof memory);
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, memory + 1, 4));
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, memory + 1));
  MPI_Get_address(memory, &address);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, dynamic);
  EXPECT(MPI_ERR_RMA_RANGE,
         MPI_Put(buffer, 1, MPI_INT, rank, address + (MPI_Aint)sizeof memory, 1, MPI_INT, dynamic));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(buffer, 1, MPI_INT, rank, address - 2, 1, MPI_INT, dynamic));
  EXPECT(MPI_SUCCESS, MPI_Put(buffer, 1, MPI_INT, rank, address, 1, MPI_INT, dynamic));
  MPI_Win_detach(dynamic, memory);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(buffer, 1, MPI_INT, rank, address, 1, MPI_INT, dynamic));
  MPI_Win_unlock(rank, dynamic);
  MPI_Win_free(&dynamic);
}

static int refuse_to_delete(MPI_Win of, int keyval, void *value, void *extra) {
  (void)of, (void)keyval, (void)extra;
  return *(const int *)value;
}

/* The delete function has the last word. */
static void attributes(void) {
  int refuses = MPI_ERR_OTHER, allows = MPI_SUCCESS, keyval;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, refuse_to_delete, &keyval, NULL);
  MPI_Win_set_attr(win, keyval, &refuses);
  EXPECT(MPI_ERR_OTHER, MPI_Win_delete_attr(win, keyval));
  EXPECT(MPI_ERR_OTHER, MPI_Win_set_attr(win, keyval, &allows));
  refuses = MPI_SUCCESS;
  EXPECT(MPI_SUCCESS, MPI_Win_set_attr(win, keyval, &allows));
  EXPECT(MPI_SUCCESS, MPI_Win_delete_attr(win, keyval));
  refuses = MPI_ERR_OTHER;
  MPI_Win_set_attr(win, keyval, &refuses);
  EXPECT(MPI_ERR_OTHER, MPI_Win_free(&win)); /* and is there yet */
  EXPECT(MPI_SUCCESS, MPI_Win_sync(win));
  refuses = MPI_SUCCESS;
  EXPECT(MPI_SUCCESS, MPI_Win_delete_attr(win, keyval));
  MPI_Win_free_keyval(&keyval);
}

/* A window of one rank: no other is a member. */
static void groups_of_others(void) {
  MPI_Group all;
  MPI_Win own;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &own);
  MPI_Win_set_errhandler(own, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_GROUP, MPI_Win_post(all, 0, own));
  EXPECT(MPI_ERR_GROUP, MPI_Win_start(all, 0, own));
  MPI_Group_free(&all);
  MPI_Win_free(&own);
}

static int handled;

static void handle(MPI_Win *on, int *code, ...) {
  CHECK(*on == win && *code == MPI_ERR_RMA_SYNC);
  handled++;
}

static void handlers(void) {
  MPI_Errhandler own, got;
  MPI_Win_create_errhandler(handle, &own);
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(MPI_COMM_WORLD, own));
  MPI_Win_set_errhandler(win, own);
  MPI_Win_get_errhandler(win, &got);
  CHECK(got == own);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&own);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
  MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC);
  CHECK(handled == 2);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_Win_call_errhandler(win, -1));
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  CHECK(size == 2);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int i = 0; i < CELLS; i++) cells[i] = i;
  making();
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  accesses();
  epochs();
  assertions();
  one_of_two_epochs();
  kinds();
  attributes();
  groups_of_others();
  handlers();
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of handles (src/tmpi/fortran/handles.c) where memory is short, where blocks are full, and
 * where another thread comes first. mpi.handles explores the same with ranks. Tests are in this
 * order: a handle has its number for good.
 */
#include "core/internal/locks.h"
#include "counted_blocks.h"
#include "tmpi/error/errors.h"
#include "tmpi/fortran/handles.h"
#include "tmpi/mailbox/mailbox.h"
#include "traced_calls.h"

enum { PREDEFINED = 0x1000, FIRST_BLOCK = 1024, MANY = 8 * FIRST_BLOCK };

static int locks, locked; /* how often the lock was taken; it is */
static void *other;       /* another thread converts this one before the lock is taken */

void mti_lock(uint32_t *lock) {
  void *first = other;
  other = NULL;
  if (first != NULL) tm_handle_number("another thread", first);
  assert_int_equal(*lock, 0);
  *lock = 1;
  locks++;
  locked++;
}

void mti_unlock(uint32_t *lock) {
  assert_int_equal(*lock, 1);
  *lock = 0;
  locked--;
}

int tm_fail_code(struct tm_comm *comm, const char *call, int code) {
  assert_int_equal(locked, 0); /* an error handler may convert handles */
  note("%s:%d,%d", call, comm == NULL, code == MPI_ERR_NO_MEM);
  return code;
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  note("%s:%d,%s", call, comm == NULL, format);
  return code;
}

static char objects[MANY][16]; /* their addresses are handles */

static int number_of(int object) { return tm_handle_number("call", objects[object]); }

static void a_predefined_handle_is_its_number(void **state) {
  static const int numbers[] = {0, 1, 0x101, PREDEFINED - 1};
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    void *handle = (void *)(intptr_t)numbers[i];
    assert_int_equal(tm_handle_number("call", handle), numbers[i]);
    assert_int_equal(tm_handle_number_of_request("call", handle), numbers[i]);
    assert_ptr_equal(tm_handle_of(numbers[i]), handle);
  }
  assert_int_equal(locks, 0);
}

static void a_number_that_no_conversion_gave_has_no_handle(void **state) {
  (void)state;
  assert_null(tm_handle_of(PREDEFINED));
  assert_null(tm_handle_of(-1));
  assert_null(tm_handle_of(INT32_MIN));
}

static void without_memory_there_is_no_number(void **state) {
  (void)state;
  for (int before = 0; before < 2; before++) {
    allocations_left = before;
    assert_int_equal(number_of(0), 0);
    check_trace("call:1,1 ");
    assert_int_equal(blocks, 0);
  }
  allocations_left = -1;
  assert_null(tm_handle_of(PREDEFINED));
}

static void numbers_follow_each_other(void **state) {
  (void)state;
  for (int i = 0; i < FIRST_BLOCK; i++) assert_int_equal(number_of(i), PREDEFINED + i);
  assert_int_equal(blocks, 2);
  assert_null(tm_handle_of(PREDEFINED + FIRST_BLOCK));
}

static void a_full_block_is_followed_by_a_larger_one(void **state) {
  (void)state;
  for (int before = 0; before < 2; before++) {
    allocations_left = before;
    assert_int_equal(number_of(FIRST_BLOCK), 0);
    check_trace("call:1,1 ");
    assert_int_equal(blocks, 2);
  }
  allocations_left = -1;
  for (int i = FIRST_BLOCK; i < 3 * FIRST_BLOCK; i++)
    assert_int_equal(number_of(i), PREDEFINED + i);
  assert_int_equal(blocks, 4); /* the smaller table stays: another thread may read it */
  for (int i = 3 * FIRST_BLOCK; i < MANY; i++) assert_int_equal(number_of(i), PREDEFINED + i);
  assert_int_equal(blocks, 8);
}

static void a_handle_keeps_its_number_and_takes_no_lock(void **state) {
  (void)state;
  locks = 0;
  for (int i = 0; i < MANY; i++) {
    assert_int_equal(number_of(i), PREDEFINED + i);
    assert_ptr_equal(tm_handle_of(PREDEFINED + i), objects[i]);
  }
  assert_int_equal(locks, 0);
}

static void two_threads_give_a_handle_one_number(void **state) {
  static char late[16], later[16];
  (void)state;
  other = late;
  assert_int_equal(tm_handle_number("call", late), PREDEFINED + MANY);
  assert_int_equal(tm_handle_number("call", later), PREDEFINED + MANY + 1);
  assert_ptr_equal(tm_handle_of(PREDEFINED + MANY), late);
}

static void a_request_has_its_number_with_it(void **state) {
  static struct tm_request request;
  (void)state;
  locks = 0;
  int number = tm_handle_number_of_request("call", (MPI_Request)&request);
  assert_int_equal(number, PREDEFINED + MANY + 2);
  assert_int_equal(request.handle, number);
  assert_ptr_equal(tm_handle_of(number), &request);
  assert_int_equal(locks, 1);
  request.handle = 5; /* no table is asked */
  assert_int_equal(tm_handle_number_of_request("call", (MPI_Request)&request), 5);
}

static void a_status_is_copied_and_to_be_ignored_is_none(void **state) {
  MPI_Status status = {.MPI_SOURCE = 3, .MPI_TAG = 4, .MPI_ERROR = 5}, back = {0};
  MPI_Fint numbers[MPI_F_STATUS_SIZE] = {0};
  (void)state;
  assert_int_equal(PMPI_Status_c2f(&status, numbers), MPI_SUCCESS);
  assert_int_equal(PMPI_Status_f2c(numbers, &back), MPI_SUCCESS);
  assert_memory_equal(&back, &status, sizeof status);
  numbers[0] = -7;
  assert_int_equal(PMPI_Status_c2f(MPI_STATUS_IGNORE, numbers), MPI_ERR_ARG);
  assert_int_equal(numbers[0], -7);
  check_trace("MPI_Status_c2f:1,MPI_STATUS_IGNORE is no status ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_predefined_handle_is_its_number),
      cmocka_unit_test(a_number_that_no_conversion_gave_has_no_handle),
      cmocka_unit_test(without_memory_there_is_no_number),
      cmocka_unit_test(numbers_follow_each_other),
      cmocka_unit_test(a_full_block_is_followed_by_a_larger_one),
      cmocka_unit_test(a_handle_keeps_its_number_and_takes_no_lock),
      cmocka_unit_test(two_threads_give_a_handle_one_number),
      cmocka_unit_test(a_request_has_its_number_with_it),
      cmocka_unit_test(a_status_is_copied_and_to_be_ignored_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

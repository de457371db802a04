/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests between VPs' caches, slabs and libc's allocator, one by one (src/tmpi/mailbox/
 * request_pool.c): how many go at a time, which slabs are kept, and what there is without memory.
 * request_pool.c lets threads take and free them at once. The tests follow each other: what one
 * leaves the next one finds.
 */
#include <malloc.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/mailbox/request_pool.h"

enum {
  BATCH = 64, /* between a cache and the slabs */
  KEPT = 8,   /* empty slabs */
  SLABS = 12,
  ALL = SLABS * TM_SLAB_REQUESTS,
  NO_VP = -1
};

static struct tm_request *all[ALL];
static int vp;

int mltp_vp(void) { return vp; }

static uint32_t cached(void) { return tm_request_caches[vp].count; }

static void take(int first, int count) {
  for (int i = first; i < first + count; i++) {
    all[i] = tm_request_new();
    assert_non_null(all[i]);
  }
}

static void give(int first, int count) {
  for (int i = first; i < first + count; i++) tm_request_free(all[i]);
}

/* Requests of another VP's cache, or of a thread without VP, go to their slabs. */
static void give_to_slabs(int first, int count) {
  vp = NO_VP;
  give(first, count);
  vp = 0;
}

static void a_slab_is_given_out_in_the_order_of_addresses(void **state) {
  (void)state;
  take(0, TM_SLAB_REQUESTS);
  assert_int_equal(blocks, 1);
  for (int i = 0; i < TM_SLAB_REQUESTS; i++) {
    assert_ptr_equal(all[i], all[0] + i);
    assert_true((uintptr_t)all[i] % TM_LINE == 0 && all[i]->number == i + 1);
    assert_true(all[i]->magic == 0 && all[i]->handle == 0);
  }
  assert_int_equal(cached(), 0);
  take(TM_SLAB_REQUESTS, 1);
  assert_int_equal(blocks, 2);
  assert_int_equal(cached(), TM_SLAB_REQUESTS - 1);
  take(TM_SLAB_REQUESTS + 1, TM_SLAB_REQUESTS - 1);
}

static void a_slab_with_one_free_request_gives_it_out(void **state) {
  (void)state;
  struct tm_request *const one = all[3], *const other = all[TM_SLAB_REQUESTS + 5];
  for (int round = 0; round < 2; round++) {
    give_to_slabs(3, 1);
    give_to_slabs(TM_SLAB_REQUESTS + 5, 1);
    take(3, 1);
    assert_int_equal(cached(), 1); /* a batch takes both */
    take(TM_SLAB_REQUESTS + 5, 1);
    assert_true((all[3] == one && all[TM_SLAB_REQUESTS + 5] == other) ||
                (all[3] == other && all[TM_SLAB_REQUESTS + 5] == one));
    assert_int_equal(blocks, 2);
  }
}

static void the_last_one_freed_is_the_next_one(void **state) {
  (void)state;
  struct tm_request *const first = all[0], *const second = all[1];
  give(0, 2);
  assert_int_equal(cached(), 2);
  take(0, 2);
  assert_true(all[0] == second && all[1] == first);
}

/* The slabs of a job that has used many requests. */
static void a_full_cache_hands_over_a_batch(void **state) {
  (void)state;
  take(2 * TM_SLAB_REQUESTS, ALL - 2 * TM_SLAB_REQUESTS);
  assert_int_equal(blocks, SLABS);
  give(0, TM_REQUEST_CACHE_MAX);
  assert_int_equal(cached(), TM_REQUEST_CACHE_MAX);
  give(TM_REQUEST_CACHE_MAX, 1);
  assert_int_equal(cached(), TM_REQUEST_CACHE_MAX - BATCH + 1);
  vp = 1; /* another VP takes a batch */
  take(0, 1);
  assert_int_equal(cached(), BATCH - 1);
  assert_int_equal(blocks, SLABS);
  take(1, BATCH - 1);
  vp = 0;
  take(BATCH, TM_REQUEST_CACHE_MAX - BATCH + 1);
  assert_int_equal(cached(), 0);
  assert_int_equal(blocks, SLABS);
}

static void a_few_empty_slabs_are_kept(void **state) {
  (void)state;
  give_to_slabs(0, ALL);
  assert_int_equal(blocks, KEPT);
  /* One of them is used again, and is empty again. */
  for (int round = 0; round < 3; round++) {
    take(0, 1);
    assert_int_equal(cached(), BATCH - 1);
    take(1, BATCH - 1);
    give_to_slabs(0, BATCH);
    assert_int_equal(blocks, KEPT);
  }
  take(0, KEPT * TM_SLAB_REQUESTS); /* none is lost, and none given out twice */
  assert_int_equal(blocks, KEPT);
  for (int i = 0; i < KEPT * TM_SLAB_REQUESTS; i++) {
    assert_int_not_equal(all[i]->magic, 1);
    all[i]->magic = 1;
  }
  take(KEPT * TM_SLAB_REQUESTS, 1);
  assert_int_equal(blocks, KEPT + 1);
  take(KEPT * TM_SLAB_REQUESTS + 1, TM_SLAB_REQUESTS - 1);
  give_to_slabs(0, (KEPT + 1) * TM_SLAB_REQUESTS);
  assert_int_equal(blocks, KEPT);
}

/* In any order: slabs of the middle of the list go, too. */
static void slabs_become_empty_in_any_order(void **state) {
  (void)state;
  take(0, ALL);
  assert_int_equal(blocks, SLABS);
  for (int i = 0; i < TM_SLAB_REQUESTS; i++)
    for (int slab = 0; slab < SLABS; slab++)
      give_to_slabs((slab * 5 + 2) % SLABS * TM_SLAB_REQUESTS + i, 1);
  assert_int_equal(blocks, KEPT);
  take(0, KEPT * TM_SLAB_REQUESTS);
  assert_int_equal(blocks, KEPT);
  give_to_slabs(0, KEPT * TM_SLAB_REQUESTS);
}

static void a_thread_without_a_cache_asks_libc(void **state) {
  (void)state;
  static const int others[] = {NO_VP, TM_REQUEST_CACHES};
  for (int i = 0; i < 2; i++) {
    vp = others[i];
    struct tm_request *request = tm_request_new_of(TM_COLLECTIVE);
    assert_int_equal(blocks, KEPT + 1);
    assert_true(request->number == 0 && request->handle == 0 && request->kind == TM_COLLECTIVE);
    vp = i; /* a thread with a cache may free it */
    tm_request_free(request);
    assert_int_equal(blocks, KEPT);
    assert_int_equal(cached(), 0);
  }
  vp = 0;
}

static void a_request_keeps_its_place_and_its_number_for_fortran(void **state) {
  (void)state;
  struct tm_request *request = tm_request_new();
  uint8_t number = request->number;
  request->handle = 77;
  request->tag = request->active = 1;
  tm_request_free(request);
  assert_int_equal(request->magic, 0);
  assert_ptr_equal(tm_request_new_of(TM_RECV), request);
  assert_true(request->magic == TM_REQUEST_MAGIC && request->kind == TM_RECV);
  assert_true(request->number == number && request->handle == 77);
  assert_true(request->tag == 0 && !request->active);
  tm_request_free(request);
  tm_request_free(NULL);
}

static void without_memory_there_is_no_request(void **state) {
  (void)state;
  take(0, KEPT * TM_SLAB_REQUESTS);
  memory_is_out = true;
  assert_null(tm_request_new());
  assert_null(tm_request_new_of(TM_SEND));
  vp = NO_VP;
  assert_null(tm_request_new());
  assert_null(tm_request_new_of(TM_SEND));
  memory_is_out = false;
  assert_int_equal(blocks, KEPT);
}

int main(void) {
  mallopt(M_PERTURB, 165); /* what is not set is not 0 by chance */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slab_is_given_out_in_the_order_of_addresses),
      cmocka_unit_test(a_slab_with_one_free_request_gives_it_out),
      cmocka_unit_test(the_last_one_freed_is_the_next_one),
      cmocka_unit_test(a_full_cache_hands_over_a_batch),
      cmocka_unit_test(a_few_empty_slabs_are_kept),
      cmocka_unit_test(slabs_become_empty_in_any_order),
      cmocka_unit_test(a_thread_without_a_cache_asks_libc),
      cmocka_unit_test(a_request_keeps_its_place_and_its_number_for_fortran),
      cmocka_unit_test(without_memory_there_is_no_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

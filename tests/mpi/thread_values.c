/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-specific values of ranks' threads (src/tmpi/run/keys.c), call by call, as POSIX has them.
 * One thread plays two ranks and a pthread of the first one.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum { KEYS = PTHREAD_KEYS_MAX, ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

typedef int create_function(pthread_key_t *, void (*)(void *));
typedef int delete_function(pthread_key_t);
typedef int set_function(pthread_key_t, const void *);
typedef void *get_function(pthread_key_t);

static create_function *create;
static delete_function *delete_key;
static set_function *set;
static get_function *get;

static struct tm_process processes[40], *ranks = processes; /* those of the test: two */
static struct tm_process *caller;
static char one, two, three;

struct tm_process *tm_process_here(void) { return caller; }

static int start(void **state) {
  (void)state;
  ranks += 2; /* a rank keeps its keys until the end */
  blocks = 0;
  caller = &ranks[0];
  memory_is_out = false;
  allocations_left = -1;
  trace[0] = '\0';
  return 0;
}

static pthread_key_t made(void (*destructor)(void *)) {
  pthread_key_t key;
  assert_int_equal(create(&key, destructor), 0);
  return key;
}

/* ---- keys and values */

static void test_a_value_is_that_of_its_key(void **state) {
  (void)state;
  pthread_key_t first = made(NULL), second = made(NULL);
  assert_int_not_equal(first, second);
  assert_null(get(first));
  assert_int_equal(set(first, &one), 0);
  assert_null(get(second));
  assert_int_equal(set(second, &two), 0);
  assert_ptr_equal(get(first), &one);
  assert_ptr_equal(get(second), &two);
  assert_int_equal(set(first, NULL), 0);
  assert_null(get(first));
}

static void test_a_rank_has_as_many_keys_as_a_process(void **state) {
  (void)state;
  pthread_key_t key;
  for (int i = 0; i < KEYS; i++) {
    assert_int_equal(made(NULL), i);
    assert_int_equal(set((pthread_key_t)i, &ranks[i % 2]), 0);
  }
  assert_int_equal(create(&key, NULL), EAGAIN);
  for (int i = 0; i < KEYS; i++) assert_ptr_equal(get((pthread_key_t)i), &ranks[i % 2]);
  assert_int_equal(delete_key(KEYS - 1), 0);
  assert_int_equal(made(NULL), KEYS - 1);
}

/* The next key may have its number, and has no value of it. */
static void test_a_key_that_is_deleted_takes_its_values_along(void **state) {
  (void)state;
  pthread_key_t key = made(NULL);
  assert_int_equal(set(key, &one), 0);
  assert_int_equal(delete_key(key), 0);
  assert_int_equal(delete_key(key), EINVAL);
  assert_int_equal(made(NULL), key);
  assert_null(get(key));
  assert_int_equal(set(key, &two), 0);
  assert_ptr_equal(get(key), &two);
}

static void test_numbers_that_are_no_keys(void **state) {
  (void)state;
  assert_int_equal(set(0, &one), EINVAL); /* before there is any */
  assert_null(get(0));
  assert_int_equal(delete_key(0), EINVAL);
  made(NULL);
  assert_int_equal(set(KEYS, &one), EINVAL);
  assert_null(get(KEYS));
  assert_int_equal(delete_key(KEYS), EINVAL);
  assert_int_equal(set((pthread_key_t)-1, &one), EINVAL);
}

static void test_keys_of_ranks_are_their_own(void **state) {
  (void)state;
  pthread_key_t key = made(NULL);
  assert_int_equal(set(key, &one), 0);
  caller = &ranks[1];
  assert_null(get(key));
  assert_int_equal(made(NULL), key);
  assert_null(get(key));
  assert_int_equal(set(key, &two), 0);
  caller = &ranks[0];
  assert_ptr_equal(get(key), &one);
}

/* Keys of libc would be taken for a rank's. */
static void test_a_thread_of_no_rank_has_no_keys(void **state) {
  (void)state;
  pthread_key_t key = made(NULL), another = 77;
  caller = NULL;
  assert_int_equal(create(&another, NULL), EAGAIN);
  assert_int_equal(another, 77);
  assert_int_equal(set(key, &one), EINVAL);
  assert_null(get(key));
  assert_int_equal(delete_key(key), EINVAL);
  tm_values_end();
}

static void test_no_memory(void **state) {
  (void)state;
  pthread_key_t key = 77;
  memory_is_out = true;
  assert_int_equal(create(&key, NULL), ENOMEM);
  assert_null(ranks[0].keys);
  assert_false(tm_values_start());
  memory_is_out = false;
  key = made(NULL);
  memory_is_out = true;
  assert_int_equal(made(NULL), key + 1); /* the rank has its keys already */
  assert_int_equal(set(key, &one), ENOMEM);
  assert_null(get(key));
  memory_is_out = false;
  assert_int_equal(set(key, &one), 0);
  memory_is_out = true;
  assert_int_equal(set(key, &two), 0); /* the values are there already */
  assert_ptr_equal(get(key), &two);
}

/* Another thread of the rank may make them at the same moment. */
static void test_a_rank_makes_its_keys_once(void **state) {
  (void)state;
  pthread_key_t key = made(NULL);
  int before = blocks;
  assert_int_equal(made(NULL), key + 1);
  assert_int_equal(blocks, before);
}

/* ---- threads */

static void test_a_pthread_has_values_of_its_own(void **state) {
  (void)state;
  pthread_key_t key = made(NULL);
  assert_int_equal(set(key, &one), 0);
  int before = blocks;
  assert_true(tm_values_start());
  assert_null(get(key));
  assert_int_equal(set(key, &two), 0);
  assert_int_equal(set(KEYS - 1, &three), 0);
  assert_ptr_equal(get(key), &two);
  tm_values_end();
  assert_int_equal(blocks, before);
  assert_ptr_equal(get(key), &one);
}

/* A handler of the rank's own thread has interrupted the pthread. */
static void test_values_are_exchanged(void **state) {
  (void)state;
  pthread_key_t key = made(NULL);
  assert_int_equal(set(key, &one), 0);
  assert_true(tm_values_start());
  assert_int_equal(set(key, &two), 0);
  struct tm_values *before = tm_values_exchange(NULL);
  assert_non_null(before);
  assert_ptr_equal(get(key), &one);
  assert_null(tm_values_exchange(before));
  assert_ptr_equal(get(key), &two);
  tm_values_end();
}

/* ---- destructors */

static void destroy(void *value) {
  int place = 0;
  while (place < KEYS && get((pthread_key_t)place) != value) place++;
  note("%s%s", value == &one ? "one" : value == &two ? "two" : "three", place < KEYS ? "!" : "");
}

static void test_destructors_get_the_values(void **state) {
  (void)state;
  pthread_key_t first = made(destroy), second = made(destroy), unset = made(destroy),
                plain = made(NULL), deleted = made(destroy);
  (void)unset;
  assert_true(tm_values_start());
  assert_int_equal(set(second, &two), 0);
  assert_int_equal(set(first, &one), 0);
  assert_int_equal(set(plain, &three), 0);
  assert_int_equal(set(deleted, &three), 0);
  assert_int_equal(delete_key(deleted), 0);
  tm_values_end();
  check_trace("one two "); /* each once, and the value is gone by then */
}

static pthread_key_t again;

static void set_again(void *value) {
  note("again");
  assert_int_equal(set(again, value), 0);
}

static void set_once_more(void *value) {
  note("once");
  if (value == &one) assert_int_equal(set(again, &two), 0);
}

/* As often as libc calls them. */
static void test_destructors_may_set_values_anew(void **state) {
  (void)state;
  again = made(set_once_more);
  assert_true(tm_values_start());
  assert_int_equal(set(again, &one), 0);
  tm_values_end();
  check_trace("once once ");
  again = made(set_again);
  assert_true(tm_values_start());
  assert_int_equal(set(again, &one), 0);
  tm_values_end();
  assert_int_equal(strlen(trace), ROUNDS * strlen("again "));
}

/* A pthread without values frees what it has; a rank's own thread leaves its values to its keys. */
static void test_ends_of_threads(void **state) {
  (void)state;
  int before = blocks;
  assert_true(tm_values_start());
  tm_values_end(); /* the rank has no keys yet */
  assert_int_equal(blocks, before);
  pthread_key_t key = made(destroy);
  assert_int_equal(set(key, &one), 0);
  before = blocks;
  tm_values_end();
  check_trace("one ");
  assert_int_equal(blocks, before);
  assert_null(get(key));
}

static void find_functions(void) {
  const struct tm_override *table = tm_override_keys;
  create = (create_function *)overridden(table, "pthread_key_create");
  delete_key = (delete_function *)overridden(table, "pthread_key_delete");
  set = (set_function *)overridden(table, "pthread_setspecific");
  get = (get_function *)overridden(table, "pthread_getspecific");
  assert_ptr_equal(overridden(table, "tss_create"), (tm_any *)create);
  assert_ptr_equal(overridden(table, "tss_delete"), (tm_any *)delete_key);
  assert_ptr_equal(overridden(table, "tss_set"), (tm_any *)set);
  assert_ptr_equal(overridden(table, "tss_get"), (tm_any *)get);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_value_is_that_of_its_key, start),
      cmocka_unit_test_setup(test_a_rank_has_as_many_keys_as_a_process, start),
      cmocka_unit_test_setup(test_a_key_that_is_deleted_takes_its_values_along, start),
      cmocka_unit_test_setup(test_numbers_that_are_no_keys, start),
      cmocka_unit_test_setup(test_keys_of_ranks_are_their_own, start),
      cmocka_unit_test_setup(test_a_thread_of_no_rank_has_no_keys, start),
      cmocka_unit_test_setup(test_no_memory, start),
      cmocka_unit_test_setup(test_a_rank_makes_its_keys_once, start),
      cmocka_unit_test_setup(test_a_pthread_has_values_of_its_own, start),
      cmocka_unit_test_setup(test_values_are_exchanged, start),
      cmocka_unit_test_setup(test_destructors_get_the_values, start),
      cmocka_unit_test_setup(test_destructors_may_set_values_anew, start),
      cmocka_unit_test_setup(test_ends_of_threads, start),
  };
  find_functions();
  return cmocka_run_group_tests(tests, NULL, NULL);
}

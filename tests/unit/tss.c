/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-specific values: they follow the thread, and are destroyed with it. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/support.h"

enum { KEYS = 40 };

struct keys {
  mltp_tss_t key[KEYS];
  atomic_int next;
};

static void *set_and_look(void *p0) {
  struct keys *keys = p0;
  intptr_t mine = atomic_fetch_add(&keys->next, 1) + 1;
  for (int i = 0; i < KEYS; i++) CHECK(mltp_tss_get(keys->key[i]) == NULL);
  for (intptr_t i = 0; i < KEYS; i++)
    CHECK_EQUAL(mltp_tss_set(keys->key[i], (void *)(mine + i)), 0);
  for (int round = 0; round < 10; round++) {
    for (intptr_t i = 0; i < KEYS; i++) CHECK(mltp_tss_get(keys->key[i]) == (void *)(mine + i));
    mltp_yield();
    if (round % 4 == 0) mltp_sleep(10000);
  }
  CHECK_EQUAL(mltp_tss_set(keys->key[0], NULL), 0);
  CHECK(mltp_tss_get(keys->key[0]) == NULL);
  return NULL;
}

static void mltp_tss_get_is_what_this_thread_has_set(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct keys keys = {.next = 0};
    for (int i = 0; i < KEYS; i++) CHECK_EQUAL(mltp_tss_create(&keys.key[i], NULL), 0);
    workers_run(12, (enum kind)kind, set_and_look, &keys);
    for (int i = 0; i < KEYS; i++) CHECK_EQUAL(mltp_tss_delete(keys.key[i]), 0);
  }
}

/* ------------------------------------------------------------- destructors */

static mltp_tss_t witness, other;
static atomic_int destroyed;
static mltp_sem_t blocked_for;

/* Runs in the thread itself, may block there, and finds its own value gone. */
static void block_and_count(void *value) {
  CHECK(value == mltp_self());
  CHECK(mltp_tss_get(witness) == NULL);
  CHECK(mltp_tss_get(other) == &other); /* it has no destructor, so nothing clears it */
  mltp_sem_wait(&blocked_for);
  mltp_yield();
  CHECK(value == mltp_self());
  atomic_fetch_add(&destroyed, 1);
}

static void *set_own_handle(void *p0) {
  mltp_tss_set(witness, mltp_self());
  mltp_tss_set(other, &other);
  if (p0 != NULL) mltp_exit(NULL);
  return NULL;
}

static void destructors_run_at_the_end_of_a_thread(void) {
  enum { COUNT = 6 };
  CHECK_EQUAL(mltp_tss_create(&witness, block_and_count), 0);
  CHECK_EQUAL(mltp_tss_create(&other, NULL), 0);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int by_exit = 0; by_exit < 2 && (!by_exit || kind < FOREIGN); by_exit++) {
      check_case("%s%s", kind_names[kind], by_exit ? ", mltp_exit" : "");
      struct worker workers[COUNT];
      mltp_sem_init(&blocked_for, 0, "destructors");
      atomic_store(&destroyed, 0);
      for (int i = 0; i < COUNT; i++)
        worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                     set_own_handle, by_exit ? &by_exit : NULL);
      for (int i = 0; i < COUNT; i++) mltp_sem_post(&blocked_for);
      for (int i = 0; i < COUNT; i++) worker_join(&workers[i]);
      CHECK_EQUAL(atomic_load(&destroyed), COUNT);
      CHECK_EQUAL(mltp_sem_destroy(&blocked_for), 0);
    }
  }
  CHECK_EQUAL(mltp_tss_delete(witness), 0);
  CHECK_EQUAL(mltp_tss_delete(other), 0);
}

static void set_again(void *value) {
  atomic_fetch_add(&destroyed, 1);
  CHECK_EQUAL(mltp_tss_set(witness, value), 0);
}

static void *set_once(void *p0) {
  CHECK_EQUAL(mltp_tss_set(witness, p0), 0);
  return NULL;
}

static void destructors_that_set_again_run_four_times(void) {
  CHECK_EQUAL(mltp_tss_create(&witness, set_again), 0);
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    atomic_store(&destroyed, 0);
    workers_run(1, (enum kind)kind, set_once, &witness);
    CHECK_EQUAL(atomic_load(&destroyed), MLTP_TSS_DTOR_ITERATIONS);
  }
  CHECK_EQUAL(mltp_tss_delete(witness), 0);
}

/* A destructor may need room for more values than the thread had. */
static void set_a_late_key(void *value) {
  atomic_fetch_add(&destroyed, 1);
  if (value != &other) CHECK_EQUAL(mltp_tss_set(other, &other), 0);
}

static void destructors_may_set_other_keys(void) {
  mltp_tss_t between[64];
  atomic_store(&destroyed, 0);
  CHECK_EQUAL(mltp_tss_create(&witness, set_a_late_key), 0);
  for (int i = 0; i < 64; i++) CHECK_EQUAL(mltp_tss_create(&between[i], NULL), 0);
  CHECK_EQUAL(mltp_tss_create(&other, set_a_late_key), 0);
  workers_run(1, UNBOUND, set_once, &witness);
  CHECK_EQUAL(atomic_load(&destroyed), 2);
  for (int i = 0; i < 64; i++) CHECK_EQUAL(mltp_tss_delete(between[i]), 0);
  CHECK_EQUAL(mltp_tss_delete(witness), 0);
  CHECK_EQUAL(mltp_tss_delete(other), 0);
}

enum { SPREAD = 200 };

static mltp_tss_t spread[SPREAD];
static atomic_int spread_destroyed[SPREAD];

static void count_spread(void *value) { atomic_fetch_add((atomic_int *)value, 1); }

/* In an order in which many have the same place in a small table. */
static void *set_spread(void *p0) {
  (void)p0;
  for (int i = 0; i < SPREAD; i++) {
    int at = i * 8 % SPREAD + i * 8 / SPREAD;
    CHECK(mltp_tss_get(spread[at]) == NULL);
    CHECK_EQUAL(mltp_tss_set(spread[at], &spread_destroyed[at]), 0);
  }
  for (int i = 0; i < SPREAD; i++) CHECK(mltp_tss_get(spread[i]) == &spread_destroyed[i]);
  return NULL;
}

/* Makes the table grow while it is walked. */
static void set_all_spread(void *value) {
  (void)value;
  set_spread(NULL);
}

static void check_spread(mltp_userf_t *func, void *arg) {
  for (int i = 0; i < SPREAD; i++) {
    CHECK_EQUAL(mltp_tss_create(&spread[i], count_spread), 0);
    atomic_store(&spread_destroyed[i], 0);
  }
  workers_run(1, UNBOUND, func, arg);
  for (int i = 0; i < SPREAD; i++) {
    CHECK_EQUAL(atomic_load(&spread_destroyed[i]), 1);
    CHECK_EQUAL(mltp_tss_delete(spread[i]), 0);
  }
}

static void values_of_many_keys_are_distinct(void) { check_spread(set_spread, NULL); }

static void a_destructor_may_set_many_keys(void) {
  CHECK_EQUAL(mltp_tss_create(&witness, set_all_spread), 0);
  check_spread(set_once, &witness);
  CHECK_EQUAL(mltp_tss_delete(witness), 0);
}

static void *add_one(void *p0) {
  atomic_fetch_add(&destroyed, 1);
  return p0;
}

static void start_a_thread(void *value) {
  CHECK(value == &witness);
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  CHECK_EQUAL(mltp_create(NULL, &attr, add_one, NULL), 0);
}

static void destructors_of_main_run_in_finalize(void) {
  CHECK_EQUAL(mltp_tss_create(&witness, start_a_thread), 0); /* keys need no runtime */
  for (int round = 0; round < 2; round++) {                  /* and outlive one */
    atomic_store(&destroyed, 0);
    CHECK_EQUAL(mltp_init(0), 0);
    CHECK(mltp_tss_get(witness) == NULL);
    CHECK_EQUAL(mltp_tss_set(witness, &witness), 0);
    CHECK_EQUAL(mltp_finalize(), 0);
    CHECK_EQUAL(atomic_load(&destroyed), 1); /* finalize waited for that thread */
  }
  CHECK_EQUAL(mltp_tss_delete(witness), 0);
}

/* ------------------------------------------------------------- deleted keys */

static void *live_through_deletion(void *p0) {
  mltp_tss_t old, new;
  (void)p0;
  CHECK_EQUAL(mltp_tss_create(&old, set_again), 0);
  CHECK_EQUAL(mltp_tss_set(old, &old), 0);
  CHECK_EQUAL(mltp_tss_delete(old), 0);
  CHECK_EQUAL(mltp_tss_create(&new, NULL), 0);
  CHECK_EQUAL((uint32_t)old, (uint32_t)new); /* the same place */
  CHECK(mltp_tss_get(new) == NULL);
  CHECK_EQUAL(mltp_tss_set(new, &new), 0);
  CHECK(mltp_tss_get(new) == &new);
  CHECK(mltp_tss_get(old) == NULL);
  CHECK_EQUAL(mltp_tss_delete(new), 0);
  CHECK_EQUAL(mltp_tss_create(&witness, set_again), 0); /* the value of new is in its place */
  CHECK(mltp_tss_get(witness) == NULL);
  return NULL;
}

static void deleted_keys_are_not_seen_through_new_ones(void) {
  atomic_store(&destroyed, 0);
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(1, (enum kind)kind, live_through_deletion, NULL);
    CHECK_EQUAL(mltp_tss_delete(witness), 0);
  }
  CHECK_EQUAL(atomic_load(&destroyed), 0); /* a deleted key's value meets no destructor */
}

static void mltp_tss_create_ends_at_keys_max(void) {
  static mltp_tss_t keys[MLTP_TSS_MAX];
  mltp_tss_t more = 0;
  for (int i = 0; i < MLTP_TSS_MAX; i++) CHECK_EQUAL(mltp_tss_create(&keys[i], NULL), 0);
  CHECK_EQUAL(mltp_tss_create(&more, NULL), EAGAIN);
  CHECK_EQUAL(mltp_tss_set(keys[MLTP_TSS_MAX - 1], &more), 0);
  CHECK(mltp_tss_get(keys[MLTP_TSS_MAX - 1]) == &more);
  for (int i = 0; i < MLTP_TSS_MAX; i++) CHECK_EQUAL(mltp_tss_delete(keys[i]), 0);
}

/* A number that no call returned is no key, whatever there is beside the table. */
static void numbers_that_are_no_keys_are_refused(void) {
  static const mltp_tss_t odd = (mltp_tss_t)1 << 32;
  static const mltp_tss_t numbers[] = {0, odd + MLTP_TSS_MAX, odd + UINT32_MAX, 2 * odd};
  mltp_tss_t live = 0;
  setenv("MLTP_MISUSE", "error", 1);
  CHECK_EQUAL(mltp_init(0), 0);
  CHECK_EQUAL(mltp_tss_create(&live, NULL), 0);
  CHECK_EQUAL(mltp_tss_set(live, &live), 0);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    check_case("%zu", i);
    CHECK_EQUAL(mltp_tss_set(numbers[i], &live), EINVAL);
    CHECK_EQUAL(mltp_tss_delete(numbers[i]), EINVAL);
    CHECK(mltp_tss_get(numbers[i]) == NULL);
  }
  CHECK(mltp_tss_get(live) == &live);
  CHECK_EQUAL(mltp_tss_delete(live), 0);
  CHECK_EQUAL(mltp_tss_delete(live), EINVAL);
  CHECK_EQUAL(mltp_tss_set(live, NULL), EINVAL);
  CHECK_EQUAL(mltp_finalize(), 0);
  unsetenv("MLTP_MISUSE");
}

/* ------------------------------------------------------------------ memory */

static void *set_all(void *p0) {
  const struct keys *keys = p0;
  for (int i = 0; i < KEYS; i++) CHECK_EQUAL(mltp_tss_set(keys->key[i], p0), 0);
  return NULL;
}

/* Tables that grew, too. What libc keeps for its threads does not grow with ours; a sanitizer's
 * allocator counts nothing here. */
static void ended_threads_give_their_values_back(void) {
  enum { WARM_UP = 100, MOST = 512 /* bytes a thread, of tables of twice as much */ };
  const int threads = scaled(2000);
  struct keys keys = {.next = 0};
  size_t before = 0;
  for (int i = 0; i < KEYS; i++) CHECK_EQUAL(mltp_tss_create(&keys.key[i], NULL), 0);
  for (int i = 0; i < WARM_UP + threads; i++) {
    if (i == WARM_UP) before = mallinfo2().uordblks;
    CHECK_EQUAL(mltp_join(spawn(set_all, &keys), NULL), 0);
  }
  size_t after = mallinfo2().uordblks;
  CHECK(after < before + (size_t)threads * MOST);
  for (int i = 0; i < KEYS; i++) CHECK_EQUAL(mltp_tss_delete(keys.key[i]), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_tss_get_is_what_this_thread_has_set),
      TEST(destructors_run_at_the_end_of_a_thread),
      TEST(destructors_that_set_again_run_four_times),
      TEST(destructors_may_set_other_keys),
      TEST(values_of_many_keys_are_distinct),
      TEST(a_destructor_may_set_many_keys),
      TEST_BARE(destructors_of_main_run_in_finalize),
      TEST(deleted_keys_are_not_seen_through_new_ones),
      TEST(mltp_tss_create_ends_at_keys_max),
      TEST_BARE(numbers_that_are_no_keys_are_refused),
      TEST(ended_threads_give_their_values_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of a node that starts ranks for another one, step by step
 * (src/tmpi/comm/spawn_service.c): what it prepares, answers and gives back, and when it ends. The
 * service has a stack of its own, and runs where the test lets it, until it parks.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "core/internal/park.h"
#include "internal_locks.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

enum { LEADER = 5, ASKER = 900 };

struct tm_job tm_job;
static ucontext_t test, service;
static alignas(16) char stack[65536];
static void *(*body)(void *);
static bool no_thread, in_service, has_service, is_parked, is_ready, refuses, has_no_memory,
    has_world;
static void (*meanwhile)(void); /* what others do while the end waits */
static struct tm_world world;
static char *data;

/* ---- threads */

static void run_body(void) {
  in_service = true;
  assert_null(body(NULL));
  in_service = false;
  note("ended");
}

int mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*function)(void *), void *of) {
  assert_true(of == NULL && attr->name != NULL && !has_service);
  if (no_thread) return ENOMEM;
  *thread = (mltp_t *)&service;
  body = function;
  has_service = is_ready = true;
  getcontext(&service);
  service.uc_stack.ss_sp = stack;
  service.uc_stack.ss_size = sizeof stack;
  service.uc_link = &test;
  makecontext(&service, run_body, 0);
  return 0;
}

/* Lets the service run until it parks. */
static void run(void) {
  assert_true(is_ready && !in_service && locked == 0);
  is_ready = false;
  swapcontext(&test, &service);
}

mltp_t *mltp_self(void) { return in_service ? (mltp_t *)&service : (mltp_t *)&test; }

void mti_park_unlock(uint32_t *lock, const char *text) {
  assert_non_null(text);
  mti_unlock(lock);
  if (!in_service) { /* the end */
    note("waits");
    void (*others)(void) = meanwhile;
    meanwhile = NULL;
    others();
    return;
  }
  is_parked = true;
  in_service = false;
  swapcontext(&service, &test);
  in_service = true;
}

void mti_resume(struct mltp_thread *t) {
  if (t != (void *)&service) {
    assert_ptr_equal(t, &test);
    note("resumes the end");
    return;
  }
  assert_true(is_parked && !is_ready);
  is_parked = false;
  is_ready = true;
}

int mltp_join(mltp_t *thread, void **result) {
  assert_true((void *)thread == &service && result == NULL);
  run();
  note("joined");
  return 0;
}

/* ---- what the service calls */

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory != NULL && memory == data) {
    note("frees");
    data = NULL;
  }
  __real_free(memory);
}

bool tm_order_read(struct tm_order *order, const char *from) {
  assert_ptr_equal(from, data);
  *order = (struct tm_order){.spawn.world = has_no_memory || !has_world ? NULL : &world};
  return !has_no_memory;
}

void tm_order_drop(struct tm_order *order) {
  assert_non_null(order);
  note("drops");
}

void tm_world_drop(struct tm_world *dropped) {
  assert_ptr_equal(dropped, &world);
  note("drops world");
}

static bool prepare(struct tm_spawn *spawn) {
  note("prepares");
  strcpy(spawn->why, refuses ? "no room" : "");
  return !refuses;
}

static void finish(struct tm_spawn *spawn, bool go) {
  assert_true(spawn->world == NULL || spawn->world == &world);
  note(go ? "starts" : "forgets");
}

static const struct tm_spawner spawner = {.prepare = prepare, .finish = finish};

void tm_spawn_answer(enum tm_spawn_answer answer, const char *why, int leader, uint64_t asker,
                     bool inside) {
  assert_true(leader == LEADER && !inside && locked == 0);
  note("%s%s to %d", answer == TM_SPAWN_DONE ? "done" : "refused: ", why, (int)asker);
}

/* ---- tests, one after the other: a process has one service, which ends */

static bool give_order(void) {
  data = malloc(1);
  bool taken = tm_spawn_service_order(data, LEADER, ASKER);
  if (!taken) __real_free(data);
  return taken;
}

static void one_node_has_no_service(void **state) {
  (void)state;
  assert_null(tm_job_spawner());
  assert_true(tm_job_on_spawn(&spawner));
  assert_ptr_equal(tm_job_spawner(), &spawner);
  assert_false(has_service);
  assert_true(tm_spawn_service_end());
}

static void the_service_waits_for_an_order(void **state) {
  static int nodes[1];
  (void)state;
  tm_job.spawned_on = nodes;
  no_thread = true;
  assert_false(tm_job_on_spawn(&spawner));
  no_thread = false;
  assert_true(tm_job_on_spawn(&spawner));
  assert_true(has_service);
  run();
  assert_true(is_parked);
  assert_false(tm_spawn_service_decide(true, ASKER)); /* on nothing */
  assert_true(is_parked);
  check_trace("");
}

static void ranks_are_prepared_and_started(void **state) {
  (void)state;
  has_world = true;
  assert_true(give_order());
  run();
  check_trace("prepares done to 900 ");
  assert_true(is_parked && tm_spawn_service_decide(true, ASKER + 1));
  run();
  check_trace("starts frees drops done to 901 ");
  assert_true(is_parked);
  assert_false(tm_spawn_service_decide(true, ASKER));
}

static void ranks_are_prepared_and_forgotten(void **state) {
  (void)state;
  assert_true(give_order());
  run();
  check_trace("prepares done to 900 ");
  assert_true(tm_spawn_service_decide(false, ASKER));
  run();
  check_trace("forgets drops world frees drops done to 900 ");
}

static void a_node_says_why_it_starts_none(void **state) {
  (void)state;
  refuses = true;
  has_world = false;
  assert_true(give_order());
  run();
  check_trace("prepares refused: no room to 900 ");
  assert_true(tm_spawn_service_decide(false, ASKER));
  run();
  check_trace("forgets frees drops done to 900 ");
  refuses = false;
  has_no_memory = true;
  assert_true(give_order());
  run();
  check_trace("refused: no memory for more ranks (fewer ranks) to 900 ");
  assert_true(tm_spawn_service_decide(false, ASKER));
  run();
  check_trace("frees drops done to 900 ");
  has_no_memory = false;
  assert_true(is_parked);
}

static void decide_and_rest(void) {
  tm_spawn_service_decide(true, ASKER);
  run();
}

/* Ranks that an order still brings have to end, too. */
static void the_end_waits_for_an_order(void **state) {
  (void)state;
  assert_true(give_order());
  run();
  check_trace("prepares done to 900 ");
  meanwhile = decide_and_rest;
  assert_false(tm_spawn_service_end());
  check_trace("waits starts frees drops resumes the end done to 900 ");
}

static void the_service_ends_and_takes_no_order(void **state) {
  (void)state;
  assert_true(tm_spawn_service_end());
  check_trace("ended joined ");
  assert_false(give_order());
  assert_false(tm_spawn_service_decide(true, ASKER));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_node_has_no_service),
      cmocka_unit_test(the_service_waits_for_an_order),
      cmocka_unit_test(ranks_are_prepared_and_started),
      cmocka_unit_test(ranks_are_prepared_and_forgotten),
      cmocka_unit_test(a_node_says_why_it_starts_none),
      cmocka_unit_test(the_end_waits_for_an_order),
      cmocka_unit_test(the_service_ends_and_takes_no_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

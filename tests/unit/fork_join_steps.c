/* SPDX-License-Identifier: Apache-2.0 */
/* Joins that run a thread (src/core/life/fork_join.h): which thread gets a joiner's turn, on a VP
 * that nobody runs. Queues are written as 's' for a thread that has started, 'f' for a fresh one,
 * and 'i' for a joiner that was interrupted. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/life/fork_join.c"

#include "support/noted.h"
#include "support/vp_stage.h"

enum {
  THREADS = 80,
  CHECK_TICK = 3 * MT_TICKS_PER_CHECK,               /* others have their turn */
  FRESH_TICK = CHECKS_PER_FRESH * MT_TICKS_PER_CHECK /* fresh ones, too */
};

static struct mltp_thread threads[THREADS], joiner;
static bool check_says, prepare_says;

bool __wrap_mt_check(struct mt_vp *vp);
bool __wrap_mt_check(struct mt_vp *vp) {
  CHECK(vp == &vps[0]);
  note("check");
  return check_says;
}

struct mltp_thread *__wrap_mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t);
struct mltp_thread *__wrap_mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t) {
  for (const struct mltp_thread *at = vp->runq.head; at != NULL; at = at->next) CHECK(at != t);
  note("stack");
  return t;
}

bool __wrap_mt_prepare(struct mt_vp *vp, struct mltp_thread *t);
bool __wrap_mt_prepare(struct mt_vp *vp, struct mltp_thread *t) {
  CHECK(vp == &vps[0] && t == &threads[0]);
  note("prepare");
  return prepare_says;
}

static void add(char kind, int i) {
  threads[i] = (struct mltp_thread){.special = kind == 'f'   ? MT_FRESH
                                               : kind == 'i' ? MT_INTERRUPTED
                                                             : 0};
  mt_runq_push(&vps[0], &threads[i]);
}

/* A VP with these threads in its queue, before the scheduling point of that number. */
static void stage_queue(uint32_t tick, const char *kinds) {
  stage(1, 1, 1);
  mt_options.backend = MT_BACKEND_NATIVE;
  mt_options.probe = MT_PROBE_EAGER;
  joiner = (struct mltp_thread){.vp = &vps[0]};
  for (int i = 0; kinds[i] != '\0'; i++) add(kinds[i], i);
  vps[0].points.tick = tick - 1;
  vps[0].points.check_at = tick + MT_TICKS_PER_CHECK;
  vps[0].paths.fresh_at = now;
  check_says = prepare_says = true;
  trace[0] = '\0';
}

/* The same with a number of threads of one kind between two others. */
static void stage_long(uint32_t tick, char first, char second, char between, int count) {
  char kinds[THREADS + 1] = {first, second};
  size_t used = strlen(kinds);
  memset(kinds + used, between, (size_t)count);
  kinds[used + (size_t)count] = '\0';
  stage_queue(tick, kinds);
}

/* @return the number of the thread that gets the turn; -1: the joiner continues; -2: the idle
 * context. */
static int chosen(void) {
  const struct mltp_thread *t = choose(&vps[0], &joiner);
  return t == NULL ? -1 : t == &vps[0].idle ? -2 : (int)(t - threads);
}

/* Checks the queue, as digits; 'j' is the joiner. */
static void check_queue(const char *expected) {
  char found[THREADS + 2];
  int length = 0;
  for (const struct mltp_thread *t = vps[0].runq.head; t != NULL; t = t->next)
    found[length++] = t == &joiner ? 'j' : (char)('0' + (t - threads));
  found[length] = '\0';
  CHECK_TEXT(found, expected);
  CHECK_EQUAL(vps[0].runq.length, length);
}

/* ---- started threads */

static void started_threads_have_turns_at_checks(void) {
  stage_queue(CHECK_TICK - 1, "ssf");
  CHECK_EQUAL(chosen(), -1);
  check_queue("012");
  CHECK_EQUAL(chosen(), 1); /* the last that became ready */
  check_queue("j02");
  TRACE("");
  CHECK_EQUAL(vps[0].points.tick, CHECK_TICK);
  CHECK_EQUAL(joiner.special, 0);
  CHECK_EQUAL(vps[0].paths.interrupted, 0);
  CHECK_EQUAL(chosen(), -1);
  stage_queue(CHECK_TICK, "si");
  CHECK_EQUAL(chosen(), 0);
  stage_queue(CHECK_TICK, "fif");
  CHECK_EQUAL(chosen(), -1);
  check_queue("012");
  stage_queue(CHECK_TICK, "");
  CHECK_EQUAL(chosen(), -1);
  check_queue("");
}

static void a_joiner_looks_at_few_entries(void) {
  stage_long(CHECK_TICK, 'f', 's', 'f', ENTRIES_MAX - 1);
  CHECK_EQUAL(chosen(), 1);
  stage_long(CHECK_TICK, 'f', 's', 'f', ENTRIES_MAX);
  CHECK_EQUAL(chosen(), -1);
  stage_long(CHECK_TICK, 's', 'f', 'f', ENTRIES_MAX); /* and at the first */
  CHECK_EQUAL(chosen(), 0);
  stage_long(FRESH_TICK, 's', 's', 's', ENTRIES_MAX - 3);
  add('f', ENTRIES_MAX - 1);
  vps[0].paths.fresh_at = 0;
  CHECK_EQUAL(chosen(), ENTRIES_MAX - 1);
  stage_long(FRESH_TICK, 's', 's', 's', ENTRIES_MAX - 2);
  add('f', ENTRIES_MAX);
  vps[0].paths.fresh_at = 0;
  CHECK_EQUAL(chosen(), ENTRIES_MAX - 1); /* it started */
}

/* ---- fresh threads */

static void the_oldest_fresh_thread_has_a_turn_after_a_time(void) {
  static const struct {
    int interrupted, doubled;
  } rows[] = {{0, 0}, {-3, 0}, {1, 1}, {2, 2}, {16, 16}, {17, 16}, {40, 16}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int late = 0; late < 2; late++) {
      check_case("%d paths, %s", rows[i].interrupted, late ? "late" : "early");
      stage_queue(FRESH_TICK, "sfsf");
      now += FRESH_NS << 20;
      vps[0].paths.interrupted = rows[i].interrupted;
      const uint64_t before = now - (FRESH_NS << rows[i].doubled) + (late ? 0 : 1);
      vps[0].paths.fresh_at = before;
      CHECK_EQUAL(chosen(), late ? 1 : 2);
      TRACE(late ? "stack" : "");
      check_queue(late ? "j023" : "j013");
      CHECK_EQUAL(vps[0].paths.fresh_turn, late);
      CHECK_EQUAL(vps[0].paths.fresh_at, late ? now : before);
      CHECK_EQUAL(vps[0].paths.interrupted, rows[i].interrupted);
      CHECK_EQUAL(joiner.special, 0);
    }
  for (uint32_t checks = 1; checks < CHECKS_PER_FRESH; checks++) {
    stage_queue(FRESH_TICK + checks * MT_TICKS_PER_CHECK, "sf");
    vps[0].paths.fresh_at = 0;
    CHECK_EQUAL(chosen(), 0); /* the clock is read seldom */
    CHECK_EQUAL(vps[0].paths.fresh_at, 0);
  }
  stage_queue(FRESH_TICK, "is"); /* an interrupted joiner is the start of a path, too */
  vps[0].paths.fresh_at = 0;
  CHECK_EQUAL(chosen(), 0);
}

/* The path that a fresh thread has begun is interrupted, and the VP comes back to the first. */
static void a_path_that_began_so_is_interrupted(void) {
  stage_queue(CHECK_TICK, "sf");
  vps[0].paths.fresh_turn = true;
  CHECK_EQUAL(chosen(), 0);
  check_queue("1j");
  CHECK_EQUAL(joiner.special, MT_INTERRUPTED);
  CHECK_EQUAL(vps[0].paths.interrupted, 1);
  CHECK(!vps[0].paths.fresh_turn);
  stage_queue(CHECK_TICK, "f"); /* there is nothing to come back to */
  vps[0].paths.fresh_turn = true;
  CHECK_EQUAL(chosen(), -1);
  check_queue("0");
  CHECK_EQUAL(joiner.special, 0);
  CHECK_EQUAL(vps[0].paths.interrupted, 0);
  CHECK(!vps[0].paths.fresh_turn);
}

/* ---- what a VP does at intervals */

static void the_idle_context_runs_when_it_has_to(void) {
  stage_queue(CHECK_TICK, "s");
  vps[0].points.check_at = CHECK_TICK;
  CHECK_EQUAL(chosen(), 0);
  TRACE("check");
  stage_queue(CHECK_TICK, "s");
  vps[0].points.check_at = CHECK_TICK;
  check_says = false;
  CHECK_EQUAL(chosen(), -2);
  TRACE("check");
  check_queue("j0");
}

/* ---- which threads a join runs */

static void a_join_runs_a_fresh_thread_of_its_own_queue(void) {
  stage_queue(1, "fs");
  CHECK(take_fresh(&joiner, &threads[0]) == &vps[0]);
  check_queue("1");
  CHECK_EQUAL(vps[0].runq.inside, 0);
  stage_queue(1, "fs");
  threads[0].joiner = &threads[1];
  CHECK(take_fresh(&joiner, &threads[0]) == NULL);
  threads[0].joiner = NULL;
  threads[0].detached = MT_MADE_DETACHED;
  CHECK(take_fresh(&joiner, &threads[0]) == NULL);
  CHECK(take_fresh(&joiner, &threads[1]) == NULL); /* it has started */
  threads[0].detached = MT_JOINABLE;
  mt_set_where(&threads[0], MT_READY, 1); /* another VP's */
  CHECK(take_fresh(&joiner, &threads[0]) == NULL);
  mt_set_where(&threads[0], MT_PARKED, 0);
  CHECK(take_fresh(&joiner, &threads[0]) == NULL);
  check_queue("01");
  CHECK_EQUAL(vps[0].runq.inside, 0);
}

static void other_joins_wait(void) {
  stage_queue(1, "f");
  joiner.vp = NULL; /* it is bound */
  CHECK(!mt_join_runs(&joiner, &threads[0], NULL));
  stage_queue(1, "f");
  mt_options.backend = MT_BACKEND_UCONTEXT;
  CHECK(!mt_join_runs(&joiner, &threads[0], NULL));
  stage_queue(1, "f");
  mt_det_on = true;
  CHECK(!mt_join_runs(&joiner, &threads[0], NULL));
  mt_det_on = false;
  check_queue("0");
  TRACE("");
  prepare_says = false; /* it waits for a stack */
  CHECK(!mt_join_runs(&joiner, &threads[0], NULL));
  TRACE("prepare");
  CHECK(joiner.joining == NULL && threads[0].joiner == NULL && threads[0].called == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(started_threads_have_turns_at_checks),
      TEST_BARE(a_joiner_looks_at_few_entries),
      TEST_BARE(the_oldest_fresh_thread_has_a_turn_after_a_time),
      TEST_BARE(a_path_that_began_so_is_interrupted),
      TEST_BARE(the_idle_context_runs_when_it_has_to),
      TEST_BARE(a_join_runs_a_fresh_thread_of_its_own_queue),
      TEST_BARE(other_joins_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a rank waits on its processor (src/tmpi/match/rank_wait.c): for how long, for which thread,
 * and how often it looks at what has come from other nodes. The core, and the transport, are this
 * test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tmpi/match/rank_wait.h"
#include "traced_calls.h"

enum { SPIN_NS = 700, LOOKS = 65 };

struct tm_job tm_job;
static struct tm_rank ranks[4];
static char threads[4];
static bool is_alone, nears; /* the caller has a VP; a poll finds something */
static int polls, looks_left;

/* ---- the rest of the library */

bool mti_is_only_ready(void) { return is_alone; }

/* @return whether it has ended after some looks. */
static bool look(bool (*ended)(const void *), const void *what) {
  for (int i = 0; i < LOOKS; i++)
    if (ended(what)) return true;
  return false;
}

bool mti_spin_alone(bool (*ended)(const void *), const void *what, bool *nearer) {
  bool has = look(ended, what);
  note("alone%s", nearer == NULL ? "" : *nearer ? "-nearer" : "-far");
  return has;
}

bool mti_spin_until(bool (*ended)(const void *), const void *what, const struct mltp_thread *waker,
                    uint64_t blindly_ns) {
  bool has = look(ended, what);
  int which = waker != NULL ? (int)((const char *)waker - threads) : -1;
  note("until%d-%d", which, (int)blindly_ns);
  return has;
}

static bool poll(int looks) {
  polls += looks;
  return nears;
}

static const struct tm_transport transport = {.poll = poll};

static bool has_ended(const void *what) {
  assert_ptr_equal(what, &looks_left);
  return looks_left-- == 0;
}

static void start(int local) {
  tm_job = (struct tm_job){.size = 4,
                           .first_size = 4,
                           .local = local,
                           .here = 1,
                           .vp_count = 1,
                           .ranks = ranks,
                           .far = local < 4 ? &transport : NULL};
  for (int i = 0; i < 4; i++)
    ranks[i] = (struct tm_rank){.number = i, .thread = (struct mltp_thread *)&threads[i]};
  is_alone = nears = false;
}

/* Waits for an end after `looks` looks. */
static bool spins(int looks, const struct tm_rank *waker) {
  polls = 0;
  looks_left = looks;
  return tm_spin(has_ended, &looks_left, waker);
}

/* ---- tests */

static void on_one_node(void **state) {
  (void)state;
  start(4);
  tm_job.spin_ns = SPIN_NS;
  for (int alone = 0; alone < 2; alone++) {
    is_alone = alone != 0;
    tm_job.wait = TM_WAIT_SPIN;
    assert_true(spins(3, &ranks[2]));
    check_trace("until2-700 ");
    assert_false(spins(LOOKS, NULL));
    check_trace("until-1-700 ");
    tm_job.wait = TM_WAIT_CONSCIOUS;
    assert_true(spins(3, &ranks[2]));
    check_trace(is_alone ? "alone " : "until2-0 ");
    assert_false(spins(LOOKS, NULL));
    check_trace(is_alone ? "alone " : "until-1-0 ");
  }
  tm_job.here = 2; /* more ranks than VPs */
  spins(0, NULL);
  check_trace("until-1-0 ");
}

/* A waiter for a rank of its own node seldom polls; one for another node does at each look. */
static void on_several_nodes(void **state) {
  (void)state;
  static const struct {
    int local, waker, polls;
    bool far;
  } rows[] = {{2, 1, 1 + LOOKS / 16, false}, /* of this node */
              {2, 2, 4 * LOOKS, true},       /* of another one */
              {2, -1, LOOKS, false},         /* any */
              {1, -1, 4 * LOOKS, true},      /* any, which is of another node */
              {1, 0, 1 + LOOKS / 16, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int alone = 0; alone < 2; alone++) {
      char expected[20];
      const struct tm_rank *waker = rows[i].waker >= 0 ? &ranks[rows[i].waker] : NULL;
      start(rows[i].local);
      tm_job.wait = TM_WAIT_CONSCIOUS;
      is_alone = alone != 0;
      if (is_alone)
        snprintf(expected, sizeof expected, "alone%s ", rows[i].far ? "-far" : "");
      else
        snprintf(expected, sizeof expected, "until%d-0 ", rows[i].waker);
      assert_false(spins(LOOKS, waker));
      assert_int_equal(polls, rows[i].polls);
      check_trace(expected);
      assert_true(spins(0, waker)); /* what is there needs no poll */
      assert_int_equal(polls, 0);
      check_trace(expected);
    }
}

static void the_end_may_come_by_a_poll(void **state) {
  (void)state;
  start(2);
  tm_job.wait = TM_WAIT_CONSCIOUS;
  is_alone = nears = true;
  assert_true(spins(1, &ranks[2])); /* the look after the first poll finds it */
  assert_int_equal(polls, 4);
  check_trace("alone-nearer ");
  assert_false(spins(2 * LOOKS, &ranks[2]));
  check_trace("alone-nearer ");
  assert_true(spins(1, &ranks[1]));
  assert_int_equal(polls, 1);
  check_trace("alone ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_one_node),
      cmocka_unit_test(on_several_nodes),
      cmocka_unit_test(the_end_may_come_by_a_poll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

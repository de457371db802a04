/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in the lot: in which order they end, and how (played.h). */
#include "played.h"

/* ---- the lot */

static char objects[1 << 16];

static const void *object_in_slot(uint32_t slot) {
  for (size_t i = 0; i < sizeof objects; i++)
    if (gt_slot_of(&objects[i]) == slot) return &objects[i];
  CHECK(false);
  return NULL;
}

/* Another object whose waiters are in the same slot. */
static const void *neighbour_of(const void *key) {
  for (size_t i = 0; i < sizeof objects; i++)
    if (&objects[i] != key && gt_slot_of(&objects[i]) == gt_slot_of(key)) return &objects[i];
  CHECK(false);
  return NULL;
}

static void park(int i, const void *key, enum gt_why why) {
  t[i].state = GT_PARKED;
  t[i].key = key;
  t[i].why = why;
  t[i].cancellable = true;
  t[i].result = -1;
  gt_lot_enter(key);
  gt_queue_push(gt_queue_of(key), &t[i], false);
}

static void wakes_are_counted_and_in_order(void) {
  const void *one = &objects[0], *other = neighbour_of(one);
  begin(MANY, MANY);
  EQUAL(gt_has_waiters(one), false);
  gt_lot_enter(one);
  CHECK(gt_has_waiters(one) && gt_has_waiters(other));
  gt_lot_leave(one);
  EQUAL(gt_has_waiters(one), false);
  for (int i = 0; i < 6; i++) park(i, i % 2 == 0 ? one : other, GT_WHY_SEM);
  gt_lock(&gt_me);
  EQUAL(gt_lot_count(one), 3);
  EQUAL(gt_lot_count(other), 3);
  EQUAL(gt_lot_wake(one, 2), 2);
  check_queue(gt_queue_of(one), "1345");
  check_list(gt_gate.runs, "20");
  EQUAL(t[0].result, 0);
  CHECK(!t[0].cancellable && t[1].cancellable);
  EQUAL(gt_waiters[gt_slot_of(one)], 4);
  EQUAL(gt_lot_count(one), 1);
  EQUAL(gt_lot_count(other), 3);
  EQUAL(gt_lot_wake(other, 0), 0);
  EQUAL(gt_lot_wake(other, INT_MAX), 3);
  check_queue(gt_queue_of(one), "4");
  gt_lot_end(&t[4], ETIMEDOUT);
  EQUAL(t[4].result, ETIMEDOUT);
  EQUAL(t[4].state, GT_RUNS);
  EQUAL(gt_waiters[gt_slot_of(one)], 0);
  EQUAL(gt_lot_wake(one, INT_MAX), 0);
  park(7, one, GT_WHY_MUTEX);
  park(8, other, GT_WHY_SEM);
  park(9, object_in_slot(0), GT_WHY_SEM);
  park(10, object_in_slot(GT_SLOTS - 1), GT_WHY_SEM);
  gt_lot_repost();
  check_queue(gt_queue_of(one), "7");
  EQUAL(t[9].state, GT_RUNS);
  EQUAL(t[10].state, GT_RUNS);
  gt_unlock(&gt_me);
  park(0, one, GT_WHY_MUTEX);
  gt_lot_lock_and_wake(&gt_me, one, 1);
  check_queue(gt_queue_of(one), "0");
  CHECK(lock == 0);
}

static const void *waits_for = &objects[0];
static enum gt_why why = GT_WHY_COND;

static void someone_wakes(void) {
  EQUAL(gt_me.state, GT_PARKED);
  EQUAL(gt_me.why, why);
  CHECK(gt_me.key == waits_for && gt_me.result == 0);
  gt_lot_lock_and_wake(&t[0], waits_for, 1);
}

static void wakes_at_the_second_interruption(void) {
  if (others.sleeps == 2) someone_wakes();
}

static int wait_in_the_lot(const struct gt_limit *limit, bool first) {
  others.sleeps = 0;
  gt_lock(&gt_me);
  gt_lot_enter(waits_for);
  int result = gt_lot_wait(&gt_me, waits_for, why, limit, first);
  EQUAL(gt_me.state, GT_RUNS);
  EQUAL(gt_me.why, GT_WHY_NOTHING);
  EQUAL(gt_me.open, 1);
  CHECK(lock == 0);
  return result;
}

static void waits_end_as_their_limits_allow(void) {
  struct timespec until = {5, 0};
  begin(1, 1);
  caller_runs();
  park(3, waits_for, GT_WHY_COND);
  others.meanwhile = someone_wakes;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = &until, .clock = CLOCK_REALTIME}, true), 0);
  CHECK(others.until == &until && others.clock == CLOCK_REALTIME);
  EQUAL(gt_me.asked_for, 1); /* its priority */
  EQUAL(gt_me.deadline, UINT64_MAX);
  check_queue(gt_queue_of(waits_for), "3"); /* the caller was before it */
  gt_queue_take(gt_queue_of(waits_for), &t[3]);
  gt_lot_leave(waits_for);

  others.meanwhile = NULL;
  others.sleep_error = ETIMEDOUT;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = &until}, false), ETIMEDOUT);
  CHECK(!gt_has_waiters(waits_for));
  others.sleep_error = EINTR;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.interruptible = true}, false), EINTR);
  EQUAL(others.sleeps, 1);
  others.meanwhile = wakes_at_the_second_interruption;
  EQUAL(wait_in_the_lot(&(struct gt_limit){0}, false), 0);
  EQUAL(others.sleeps, 2);
  others.meanwhile = someone_wakes; /* at the same moment as the time is over */
  others.sleep_error = ETIMEDOUT;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = &until}, false), 0);

  gt_seeded = others.picks = true; /* its clock is the seed's */
  others.sleep_error = 0;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = &until, .clock = CLOCK_MONOTONIC}, false), 0);
  CHECK(others.until == NULL);
  EQUAL(gt_me.deadline, 5 + CLOCK_MONOTONIC);
}

static bool cancellable_then;

static void note_cancellable(void) {
  cancellable_then = gt_me.cancellable;
  someone_wakes();
}

static void cancellations_end_waits(void) {
  for (int i = 0; i < 4; i++) {
    begin(1, 1);
    caller_runs();
    others.meanwhile = note_cancellable;
    gt_me.cancelled = i % 2;
    EQUAL(wait_in_the_lot(&(struct gt_limit){.cancellable = i >= 2}, false), 0);
    EQUAL(cancellable_then, i == 2);
    CHECK(!gt_me.cancellable);
  }
}

/* ---- handlers of signals that interrupt a wait, and make calls */

/* What a handler's first call does. It has a permit then, as other threads that run. */
static void handler_calls(void) {
  gt_lot_quit(&gt_me);
  EQUAL(gt_me.state, GT_RUNS);
  EQUAL(gt_me.why, GT_WHY_NOTHING);
  EQUAL(gt_me.open, 1);
  CHECK(lock == 0 && !gt_me.locked);
}

static void handler_calls_while_it_waits(void) {
  EQUAL(gt_me.state, GT_PARKED);
  handler_calls();
  EQUAL(gt_lot_count(waits_for), 1); /* t[3] waits on */
}

static void a_wait_that_a_handler_left_is_tried_again(void) {
  static const struct {
    int sleep_error;
    bool interruptible;
    int result;
  } cases[] = {
      {0, false, EAGAIN}, {EINTR, false, EAGAIN}, {EINTR, true, EINTR}, {ETIMEDOUT, true, EAGAIN}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(1, 1);
    caller_runs();
    park(3, waits_for, GT_WHY_COND);
    others.meanwhile = handler_calls_while_it_waits;
    others.sleep_error = cases[i].sleep_error;
    const struct gt_limit limit = {.interruptible = cases[i].interruptible};
    EQUAL(wait_in_the_lot(&limit, false), cases[i].result);
    EQUAL(others.sleeps, 1);
    EQUAL(t[3].state, GT_PARKED);
  }
}

static void the_other_gives_its_permit_up(void) {
  EQUAL(gt_me.state, GT_READY);
  gt_lock(&t[5]);
  gt_release(&t[5], GT_PARKED);
  gt_unlock(&t[5]);
}

static void handler_calls_while_another_has_the_permit(void) {
  EQUAL(t[5].state, GT_RUNS);
  others.meanwhile = the_other_gives_its_permit_up;
  handler_calls();
  EQUAL(others.sleeps, 2);
}

static void a_handler_waits_for_a_permit(void) {
  begin(1, 1);
  caller_runs();
  make_ready(5, 5);
  others.meanwhile = handler_calls_while_another_has_the_permit;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = NULL}, false), EAGAIN);
}

static void someone_wakes_it_before_the_handler(void) {
  someone_wakes();
  EQUAL(gt_me.state, GT_RUNS);
  handler_calls();
}

/* A handler that does not return would keep the wake-up from the others. */
static void a_handler_hands_a_wake_up_on(void) {
  static const struct {
    enum gt_why why;
    bool takes_turns;
  } cases[] = {{GT_WHY_MUTEX, true},    {GT_WHY_COND, true},  {GT_WHY_SEM, true},
               {GT_WHY_SPIN, true},     {GT_WHY_WORD, true},  {GT_WHY_ONCE, false},
               {GT_WHY_BARRIER, false}, {GT_WHY_JOIN, false}, {GT_WHY_SLEEP, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(1, 1);
    caller_runs();
    why = cases[i].why;
    others.meanwhile = someone_wakes_it_before_the_handler;
    gt_lock(&gt_me); /* it is the first */
    gt_lot_enter(waits_for);
    park(3, waits_for, why);
    park(4, waits_for, why);
    EQUAL(gt_lot_wait(&gt_me, waits_for, why, &(struct gt_limit){.until = NULL}, true), 0);
    EQUAL(t[3].state, cases[i].takes_turns ? GT_READY : GT_PARKED);
    EQUAL(t[4].state, GT_PARKED);
  }
  why = GT_WHY_COND;
}

static void handler_waits_for_another(void) {
  void (*outer)(void) = others.meanwhile;
  const void *key = waits_for;
  int error = others.sleep_error;
  waits_for = &objects[1];
  others.meanwhile = someone_wakes;
  others.sleep_error = 0;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = NULL}, false), 0);
  waits_for = key;
  others.meanwhile = outer;
  others.sleep_error = error;
}

static void handler_calls_and_waits(void) {
  handler_calls();
  handler_waits_for_another();
}

static void someone_wakes_it_and_the_handler_waits(void) {
  someone_wakes();
  handler_calls_and_waits();
}

/* How the handler's wait ended is not taken for how its own ended. */
static void a_handler_waits_itself(void) {
  begin(1, 1);
  caller_runs();
  others.meanwhile = handler_calls_and_waits;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = NULL}, false), EAGAIN);
  others.meanwhile = someone_wakes_it_and_the_handler_waits;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.until = NULL}, false), 0);
  others.sleep_error = EINTR;
  EQUAL(wait_in_the_lot(&(struct gt_limit){.interruptible = true}, false), EINTR);
}

int main(void) {
  wakes_are_counted_and_in_order();
  waits_end_as_their_limits_allow();
  cancellations_end_waits();
  a_wait_that_a_handler_left_is_tried_again();
  a_handler_waits_for_a_permit();
  a_handler_hands_a_wake_up_on();
  a_handler_waits_itself();
}

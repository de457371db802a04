/* SPDX-License-Identifier: Apache-2.0 */
/* What calls do first, calls that block, the lock, and the child of a fork (played.h). */
#include "played.h"

/* ---- what a call does first */

static void others_give_the_permit_back(void) {
  for (int i = 0; i < MANY; i++)
    if (t[i].state == GT_RUNS && t[i].counted) {
      CHECK(gt_me.state == GT_READY);
      gt_lock(&t[i]);
      gt_release(&t[i], GT_PARKED);
      gt_unlock(&t[i]);
      return;
    }
  CHECK(false);
}

static bool gave_way_then;

static void note_and_give_back(void) {
  gave_way_then = gt_me.gave_way;
  others_give_the_permit_back();
}

/* @return whether the caller let others run. */
static bool attends(void) {
  others.meanwhile = note_and_give_back;
  others.sleeps = 0;
  gt_attend(&gt_me, "call");
  EQUAL(gt_me.state, GT_RUNS);
  EQUAL(gt_me.wake, GT_CLAIMED);
  EQUAL(gt_me.open, 1);
  CHECK(!gt_me.gave_way && !gt_me.locked && lock == 0 && !gt_gate.due);
  return others.sleeps > 0;
}

static void calls_give_way_when_asked(void) {
  begin(1, 1);
  caller_runs();
  gt_gate.due = true;
  CHECK(!attends()); /* nobody is ready */
  make_ready(0, 0);
  CHECK(!attends()); /* nobody has asked */
  gt_gate.due = true;
  CHECK(attends() && gave_way_then);
  EQUAL(t[0].state, GT_PARKED);

  begin(2, 2); /* permits became fewer */
  caller_runs();
  make_ready(0, 0);
  gt_gate.permits = 1;
  gt_gate.extra = 1;
  CHECK(!attends());
  gt_gate.extra = 0;
  CHECK(attends() && gave_way_then);

  begin(2, 2); /* a thread without a permit has none to give */
  caller_runs();
  make_ready(0, 1);
  gt_gate.permits = 0;
  gt_me.counted = false;
  gt_gate.running--;
  CHECK(!attends());

  begin(1, 1); /* one that runs besides has had some time */
  gt_gate.extra = 1;
  make_ready(0, 0);
  others.cpu_ns = 1000;
  caller_runs();
  CHECK(gt_me.besides);
  EQUAL(gt_me.grace, 201000);
  others.cpu_ns = gt_me.grace - 1;
  CHECK(!attends());
  others.cpu_ns++;
  gt_gate.permits = 2;
  CHECK(!attends());
  gt_gate.permits = 1;
  CHECK(attends() && gave_way_then);

  begin(1, 1); /* one that was caught waits, and it gives nothing */
  caller_runs();
  gt_lock(&gt_me);
  gt_catch(&gt_me);
  gt_make_ready(&t[0]);
  gt_unlock(&gt_me);
  EQUAL(gt_me.open, 0);
  t[0].away = 0;
  CHECK(attends() && !gave_way_then);
  EQUAL(gt_gate.caught, 0);

  begin(2, 2); /* a permit is free: the ready thread has it */
  caller_runs();
  gt_lock(&gt_me);
  push(&t[0], false);
  gt_unlock(&gt_me);
  CHECK(!attends());
  EQUAL(t[0].state, GT_RUNS);

  begin(1, 1); /* the seed says what happens, while one thread runs */
  caller_runs();
  gt_seeded = true;
  CHECK(!attends());
  EQUAL(others.seed_points, 1);
  gt_gate.running = gt_gate.permits = 2;
  CHECK(!attends());
  EQUAL(others.seed_points, 1);
}

/* The monitor lets others run beside a thread that stays. */
static void a_thread_that_has_spun_leaves_soon(void) {
  static const struct {
    uint64_t helped_turn, since;
    bool counted, helped;
  } cases[] = {{1, HELPED_NS - 1, true, true},
               {0, 0, true, false},
               {1, HELPED_NS, true, false},
               {1, 0, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(2, 2);
    gt_gate.helped_at = 0;
    gt_gate.helped = false;
    gt_gate.turns = 0;
    caller_runs();
    EQUAL(gt_me.turn, 1);
    gt_me.counted = cases[i].counted;
    gt_gate.helped_at = 100;
    others.now = gt_gate.helped_at + cases[i].since;
    gt_gate.helped_turn = cases[i].helped_turn;
    gt_leave(&gt_me);
    EQUAL(gt_gate.helped, cases[i].helped);
  }
  gt_gate.helped_at = 0;
}

static void permits_follow_the_grant(void) {
  begin(2, 2);
  gt_aside_allowed = true;
  caller_runs();
  make_ready(0, 0);
  gt_lock(&t[9]);
  gt_begin(&t[9]);
  gt_unlock(&t[9]);
  EQUAL(gt_gate.early, 1);
  granted = 1;
  CHECK(!attends()); /* it is no program of mltpd's */
  EQUAL(gt_gate.permits, 2);
  gt_gate.joined = true;
  gt_gate.extra = 10;
  CHECK(!attends());
  EQUAL(gt_gate.permits, 1);
  EQUAL(others.asides_ended, 1);
  EQUAL(gt_gate.early, 0);
  EQUAL(gt_gate.running, 3);
  CHECK(!attends());
  EQUAL(others.asides_ended, 1); /* nothing has changed */
  granted = 3;
  CHECK(!attends());
  EQUAL(gt_gate.permits, 2); /* no more than it can use */
  granted = 2;
  CHECK(!attends());
  EQUAL(gt_gate.permits, 2);

  begin(2, 2); /* a call gives way at once when the grant became smaller */
  gt_gate.joined = true;
  granted = mt_client_view.seen = 2;
  caller_runs();
  make_ready(0, 0);
  granted = 1;
  CHECK(attends());
  granted = 2; /* and a thread that becomes ready has the permit that came */
  make_ready(1, 1);
  EQUAL(t[1].state, GT_RUNS);
}

static void a_yield_lets_all_others_run(void) {
  begin(1, 1);
  caller_runs();
  others.meanwhile = note_and_give_back;
  CHECK(!gt_yield(&gt_me));
  make_ready(0, 0);
  gt_me.priority = 1;
  CHECK(!gt_yield(&gt_me)); /* the kernel looks for others */
  gt_me.priority = 0;
  CHECK(gt_yield(&gt_me) && gave_way_then);
  EQUAL(others.sleeps, 1);
  EQUAL(gt_me.state, GT_RUNS);
  EQUAL(others.seed_yields, 0);
  make_ready(1, 1);
  gt_seeded = true;
  others.picks = true;
  CHECK(gt_yield(&gt_me));
  EQUAL(others.seed_yields, 1);
}

static void a_switch_is_to_one_of_the_queue(void) {
  begin(1, 1);
  caller_runs();
  make_ready(0, 2);
  gt_lock(&gt_me);
  gt_switch(&gt_me, &t[1]);
  EQUAL(t[1].state, GT_RUNS);
  EQUAL(gt_me.state, GT_READY);
  EQUAL(gt_me.wake, GT_NO_PERMIT);
  check_queue(&gt_gate.queue, "-02");
  check_list(gt_gate.runs, "1");
  check_counts(1, 3, 3);
  gt_unlock(&gt_me);
}

static void calls_that_block_give_the_permit_up(void) {
  begin(1, 1);
  caller_runs();
  make_ready(0, 0);
  gt_leave(&gt_me);
  EQUAL(gt_me.state, GT_CALL);
  EQUAL(gt_me.open, 0);
  EQUAL(t[0].state, GT_RUNS);
  t[0].away = 0;
  others.meanwhile = others_give_the_permit_back;
  struct gt_thread *me = &gt_me;
  errno = ERANGE;
  gt_returned(&me);
  EQUAL(errno, ERANGE);
  EQUAL(others.sleeps, 1);
  EQUAL(others.clock, CLOCK_MONOTONIC);
  CHECK(others.until == NULL);
  EQUAL(gt_me.sleeps, 0);
  EQUAL(gt_me.away, 0);
  EQUAL(gt_me.state, GT_RUNS);
  gt_return(&gt_me); /* it is back already */
  check_counts(1, 0, 0);
  me = NULL;
  gt_returned(&me);
  gt_lock(&gt_me); /* caught before it woke: the next call tells */
  gt_release(&gt_me, GT_CALL);
  gt_release(&gt_me, GT_READY);
  gt_catch(&gt_me);
  gt_unlock(&gt_me);
  gt_await_permit(&gt_me);
  EQUAL(gt_me.open, 0);
  EQUAL(gt_me.wake, GT_CLAIMED);
  gt_await_permit(&gt_me); /* it has claimed it */
  EQUAL(others.sleeps, 1);
}

/* ---- the lock */

static void what_is_due_is_done_without_the_lock(void) {
  begin(1, 1);
  caller_runs();
  EQUAL(gt_gate.attend, 0);
  CHECK(!gt_me.locked);
  gt_lock(&gt_me);
  CHECK(gt_me.locked && gt_me.open == 0 && lock == 1);
  gt_unlock(&gt_me);
  CHECK(!gt_me.locked && gt_me.open == 1 && lock == 0);
  EQUAL(others.monitor_wakes + others.rings, 0);
  others.takes_monitor = true;
  gt_gate.joined = others.rings_back = true;
  make_ready(0, 0);
  EQUAL(others.monitor_wakes, 1);
  EQUAL(others.rings, 1);
  others.takes_monitor = others.rings_back = false;
  make_ready(1, 1);
  EQUAL(others.monitor_wakes, 1);
  EQUAL(others.rings, 1);
  static const struct {
    bool seeded, due;
    int permits, attend;
  } cases[] = {
      {false, false, 1, 0}, {true, false, 1, 1}, {false, true, 1, 1}, {false, false, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    gt_lock(&gt_me);
    gt_seeded = cases[i].seeded;
    gt_gate.due = cases[i].due;
    gt_gate.permits = cases[i].permits;
    gt_unlock(&gt_me);
    EQUAL(gt_gate.attend, cases[i].attend);
  }
}

static void handlers_that_interrupt_the_gate(void) {
  static char semaphore, mutex;
  uint32_t mark = 0, *had = gt_mark;
  begin(2, 2);
  caller_runs();
  gt_mark = &mark; /* this is a child that the gate has not seen begin */
  gt_lock(&gt_me);
  EQUAL(others.children, 1);
  gt_forget_later(&gt_me); /* a handler forks */
  EQUAL(lock, 0);
  mt_ilock_lock(&lock);
  gt_unlock(&gt_me);
  EQUAL(others.children, 2);
  CHECK(!gt_me.forked);
  gt_lock(&gt_me);
  gt_unlock(&gt_me);
  EQUAL(others.children, 2);
  gt_mark = had;
  const struct {
    void *key;
    enum gt_why why;
  } waits[] = {{&semaphore, GT_WHY_SEM}, {&mutex, GT_WHY_MUTEX}};
  for (int i = 0; i < 2; i++) {
    t[i].state = GT_PARKED;
    t[i].key = waits[i].key;
    t[i].why = waits[i].why;
    gt_lot_enter(waits[i].key);
    gt_queue_push(gt_queue_of(waits[i].key), &t[i], false);
  }
  gt_lock(&gt_me); /* a handler posts a semaphore: its waiters look again */
  gt_me.reposted = true;
  EQUAL(others.handlers, 0);
  gt_me.put_off = true; /* another one waits */
  gt_unlock(&gt_me);
  EQUAL(others.handlers, 1);
  CHECK(!gt_me.reposted && !gt_me.locked && lock == 0);
  EQUAL(t[0].state, GT_RUNS);
  EQUAL(t[1].state, GT_PARKED);
  EQUAL(gt_has_waiters(&semaphore), gt_slot_of(&semaphore) == gt_slot_of(&mutex));
  CHECK(gt_has_waiters(&mutex));
}

static void a_child_has_one_thread(void) {
  begin(2, 2);
  gt_aside_allowed = true;
  caller_runs();
  make_ready(0, 4);
  gt_gate.extra = gt_gate.caught = gt_gate.early = 2;
  gt_gate.due = gt_gate.helped = true;
  gt_gate.helped_at = 7;
  gt_gate.stray = &t[9];
  gt_me.state = GT_PARKED;
  gt_me.wake = GT_NO_PERMIT;
  gt_me.counted = false;
  gt_me.open = 0;
  gt_me.locked = gt_me.early = true;
  gt_me.lent = gt_me.asked_for = 1;
  lock = 1;
  due.count = 3;
  gt_slots[3].first = &t[0];
  gt_slots[GT_SLOTS - 1].last = &t[0];
  gt_waiters[0] = gt_waiters[GT_SLOTS - 1] = 1;
  gt_forget(&gt_me);
  EQUAL(lock, 0);
  EQUAL(due.count, 0);
  check_counts(1, 0, 0);
  EQUAL(gt_gate.extra + gt_gate.caught + gt_gate.early, 0);
  CHECK(!gt_gate.due && !gt_gate.helped && gt_gate.helped_at == 0 && gt_gate.stray == NULL);
  check_queue(&gt_gate.queue, "");
  check_list(gt_gate.runs, "-");
  EQUAL(gt_me.state, GT_RUNS);
  EQUAL(gt_me.wake, GT_CLAIMED);
  EQUAL(gt_me.open, 1);
  CHECK(gt_me.counted && !gt_me.locked && !gt_me.early && gt_me.lent == 0 && gt_me.asked_for == 0);
  for (int i = 0; i < GT_SLOTS; i++)
    CHECK(gt_slots[i].first == NULL && gt_slots[i].last == NULL && gt_waiters[i] == 0);
}

int main(void) {
  calls_give_way_when_asked();
  a_thread_that_has_spun_leaves_soon();
  permits_follow_the_grant();
  a_yield_lets_all_others_run();
  a_switch_is_to_one_of_the_queue();
  calls_that_block_give_the_permit_up();
  what_is_due_is_done_without_the_lock();
  handlers_that_interrupt_the_gate();
  a_child_has_one_thread();
}

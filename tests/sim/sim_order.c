/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, deltas and time: which thread runs when. */
#include <stdbool.h>

#include "sim/log.h"

static mltp_sim_event_t a = MLTP_SIM_EVENT_INIT("a"), b = MLTP_SIM_EVENT_INIT("b");

/* ---- children */

static void word(void *arg) { say(arg); }

static void parent_of_two(void *arg) {
  PAR(CHILD(word, "x"), CHILD(word, "y"));
  say(arg);
}

static void family(void *arg) {
  (void)arg;
  PAR(CHILD(parent_of_two, "first"), CHILD(word, "between"), CHILD(parent_of_two, "second"));
  mltp_sim_par(NULL, 0);
  say("end");
}

/* The first one's children come after all that were ready before. */
static void children_are_last_in_the_queue(void) {
  expect(family, "between x y x y first second end");
}

static void count_up(void *arg) { ++*(int *)arg; }

static void forty(void *arg) {
  mltp_sim_child_t children[40];
  for (int i = 0; i < 40; i++) children[i] = (mltp_sim_child_t){count_up, (int *)arg + i, NULL};
  mltp_sim_par(children, 40);
}

static void many_children_all_run(void) {
  int counts[40] = {0};
  CHECK_EQUAL(mltp_sim_run(forty, counts), 0);
  for (int i = 0; i < 40; i++) CHECK_EQUAL(counts[i], 1);
}

/* ---- events */

static void waiter(void *arg) {
  mltp_sim_wait(&a);
  log_at(arg);
}

static void notifier(void *arg) {
  mltp_sim_notify(&a);
  log_at(arg);
}

static void wait_after_notify(void *arg) {
  (void)arg;
  PAR(CHILD(notifier, "n"), CHILD(waiter, "w1"), CHILD(waiter, "w2"));
}

/* What was notified reaches all that wait when the delta ends. */
static void notify_before_wait_is_heard(void) { expect(wait_after_notify, "n@0 w1@0 w2@0"); }

static void late_waiter(void *arg) {
  mltp_sim_waitfor(1);
  waiter(arg);
}

static void notify_twice(void *arg) {
  mltp_sim_notify(&a);
  mltp_sim_waitfor(2);
  notifier(arg);
}

static void unheard(void *arg) {
  (void)arg;
  PAR(CHILD(late_waiter, "w"), CHILD(notify_twice, "n"));
}

static void unheard_events_are_lost(void) { expect(unheard, "n@2 w@2"); }

static void wait_either(void *arg) {
  (void)arg;
  for (int i = 0; i < 2; i++) {
    size_t which = mltp_sim_wait_any((mltp_sim_event_t *[]){&a, &b}, 2);
    log_at(which == 0 ? "a" : "b");
  }
}

static void notify_b_then_both(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_notify(&b);
  mltp_sim_waitfor(1);
  mltp_sim_notify(&b);
  mltp_sim_notify(&a);
  mltp_sim_waitfor(1);
  say("end");
}

static void either(void *arg) {
  (void)arg;
  PAR(CHILD(wait_either, 0), CHILD(notify_b_then_both, 0));
}

static void one_of_several_wakes_once(void) { expect(either, "b@1 b@2 end"); }

static void wait_both(void *arg) {
  (void)arg;
  mltp_sim_wait_all(NULL, 0);
  mltp_sim_wait_all((mltp_sim_event_t *[]){&a, &b}, 2);
  log_at("both");
}

static void notify_apart(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_notify(&b);
  mltp_sim_waitfor(1);
  mltp_sim_notify(&b);
  log_at("not yet");
  mltp_sim_waitfor(1);
  mltp_sim_notify(&a);
}

static void both(void *arg) {
  (void)arg;
  PAR(CHILD(wait_both, 0), CHILD(notify_apart, 0));
}

static void all_of_several_may_come_apart(void) { expect(both, "not yet@2 both@3"); }

static void wake_one_then_two(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_notify_one(&a);
  mltp_sim_waitfor(1);
  mltp_sim_notify_one(&a);
  mltp_sim_notify_one(&a);
  mltp_sim_waitfor(1);
  mltp_sim_notify_one(&a);
  mltp_sim_notify(&a);
}

static void five_wait(void *arg) {
  (void)arg;
  PAR(CHILD(waiter, "1"), CHILD(waiter, "2"), CHILD(waiter, "3"), CHILD(waiter, "4"),
      CHILD(waiter, "5"), CHILD(wake_one_then_two, 0));
}

static void notify_one_wakes_the_longest_waiting(void) { expect(five_wait, "1@1 2@2 3@2 4@3 5@3"); }

static void wait_for_twenty(void *arg) {
  mltp_sim_event_t events[20], *list[20];
  for (int i = 0; i < 20; i++) {
    events[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT("one of twenty");
    list[i] = &events[i];
  }
  mltp_sim_notify(&events[17]);
  (void)arg;
  if (mltp_sim_wait_any(list, 20) == 17) say("17");
}

static void long_lists_are_possible(void) { expect(wait_for_twenty, "17"); }

/* ---- time */

static void sleeper(void *arg) {
  const char *times = arg;
  for (; *times != '\0'; times++) {
    mltp_sim_waitfor((mltp_sim_time_t)(*times - '0'));
    log_at((char[]){*times, '\0'});
  }
}

static void sleepers(void *arg) {
  (void)arg;
  PAR(CHILD(sleeper, "33"), CHILD(sleeper, "24"), CHILD(sleeper, "6"), CHILD(sleeper, "1110"));
}

/* At one time in the order of the calls; waiting for nothing is a delta. */
static void time_moves_to_the_next_in_order(void) {
  expect(sleepers, "1@1 2@2 1@2 3@3 1@3 0@3 6@6 4@6 3@6");
}

/* Many that sleep, again and again: the order is that of a list in which the first is looked for.
 */
enum { SLEEPERS = 150, SLEEPS = 4, TRAPPED_AT = 31 };

static struct due {
  mltp_sim_time_t at;
  int call, slept; /* number of its call; calls so far */
} due[SLEEPERS];

static int woken[SLEEPERS * SLEEPS], woken_count;

/* Even, so that a trap comes at a time of its own. */
static mltp_sim_time_t length_of(int sleeper, int number) {
  return 2 * (mltp_sim_time_t)(1 + (sleeper * 7919 + number * 104729) % 23);
}

static void sleep_often(void *arg) {
  int which = (int)((struct due *)arg - due);
  for (int i = 0; i < SLEEPS; i++) {
    mltp_sim_waitfor(length_of(which, i));
    mltp_sim_ordered();
    woken[woken_count++] = which;
  }
}

static void put_to_bed(int from, int step) {
  mltp_sim_child_t children[SLEEPERS];
  size_t count = 0;
  for (int i = from; i < SLEEPERS; i += step)
    children[count++] = (mltp_sim_child_t){sleep_often, &due[i], NULL};
  mltp_sim_par(children, count);
}

static void all_sleep(void *arg) {
  (void)arg;
  put_to_bed(0, 1);
}

/* @return the next that wakes up; -1: all are done. Those of which the number is odd end at a time.
 */
static int next_of(mltp_sim_time_t odd_until) {
  int first = -1;
  for (int i = 0; i < SLEEPERS; i++) {
    if (due[i].slept == SLEEPS || (i % 2 == 1 && due[i].at > odd_until)) continue;
    if (first < 0 || due[i].at < due[first].at ||
        (due[i].at == due[first].at && due[i].call < due[first].call))
      first = i;
  }
  return first;
}

static void check_order(mltp_sim_time_t odd_until, bool apart) {
  int calls = 2 * SLEEPERS, count = 0;
  for (int i = 0; i < SLEEPERS; i++)
    due[i] = (struct due){length_of(i, 0), apart ? i % 2 * SLEEPERS + i : i, 0};
  for (int next; (next = next_of(odd_until)) >= 0; count++) {
    CHECK_EQUAL(woken[count], next);
    due[next].slept++;
    if (due[next].slept < SLEEPS) due[next].at += length_of(next, due[next].slept);
    due[next].call = calls++;
  }
  CHECK_EQUAL(woken_count, count);
}

/* apart: the even ones call first. */
static void run_sleepers(void (*model)(void *), mltp_sim_time_t odd_until, bool apart) {
  for (int i = 0; i < VPS_TRIED; i++) {
    check_case("%d VPs", vps_tried[i]);
    woken_count = 0;
    CHECK_EQUAL(mltp_sim_set_vps(vps_tried[i]), 0);
    CHECK_EQUAL(mltp_sim_run(model, NULL), 0);
    check_order(odd_until, apart);
  }
  mltp_sim_set_vps(1);
}

static void odd_ones_sleep(void *arg) {
  (void)arg;
  put_to_bed(1, 2);
}

static void even_ones_sleep(void *arg) {
  (void)arg;
  put_to_bed(0, 2);
}

static void nothing_more(void *arg) { (void)arg; }

static void odd_ones_are_trapped(void *arg) {
  const mltp_sim_child_t body = {odd_ones_sleep, arg, "odd"};
  const mltp_sim_handler_t handler = {&a, 0, nothing_more, NULL};
  CHECK_EQUAL(mltp_sim_try(&body, &handler, 1), 0);
  CHECK_EQUAL(mltp_sim_now(), TRAPPED_AT);
}

static void trap_odd_ones(void *arg) {
  (void)arg;
  mltp_sim_waitfor(TRAPPED_AT);
  mltp_sim_notify(&a);
}

static void half_are_trapped(void *arg) {
  (void)arg;
  PAR(CHILD(odd_ones_are_trapped, 0), CHILD(trap_odd_ones, 0), CHILD(even_ones_sleep, 0));
}

static void many_sleepers_wake_in_order(void) {
  run_sleepers(all_sleep, UINT64_MAX, false);
  run_sleepers(half_are_trapped, TRAPPED_AT, true);
}

static void deltas(void *arg) {
  (void)arg;
  uint64_t before = mltp_sim_deltas();
  mltp_sim_notify(&a);
  mltp_sim_wait(&a);
  CHECK_EQUAL(mltp_sim_deltas() - before, 1);
  CHECK_EQUAL(mltp_sim_now(), 0);
}

static void a_delta_takes_no_time(void) { CHECK_EQUAL(mltp_sim_run(deltas, NULL), 0); }

/* ---- buffered variables */

static int value = 1, next_value;
static mltp_sim_buffered_t buffered = MLTP_SIM_BUFFERED_INIT(value, next_value);

static void write_it(void *arg) {
  (void)arg;
  *(int *)mltp_sim_write(&buffered) = value + 1;
  say(value == 1 ? "old" : "new");
}

static void write_and_wait(void *arg) {
  value = 1;
  PAR(CHILD(write_it, 0), CHILD(write_it, 0));
  mltp_sim_waitfor(0);
  say(value == 2 ? "changed" : "unchanged");
  write_it(arg);
}

static void a_buffered_variable_changes_with_the_delta(void) {
  expect(write_and_wait, "old old changed new");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(children_are_last_in_the_queue),
      TEST(many_children_all_run),
      TEST(notify_before_wait_is_heard),
      TEST(unheard_events_are_lost),
      TEST(one_of_several_wakes_once),
      TEST(all_of_several_may_come_apart),
      TEST(notify_one_wakes_the_longest_waiting),
      TEST(long_lists_are_possible),
      TEST(time_moves_to_the_next_in_order),
      TEST(many_sleepers_wake_in_order),
      TEST(a_delta_takes_no_time),
      TEST(a_buffered_variable_changes_with_the_delta),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

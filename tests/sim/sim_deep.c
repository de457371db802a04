/* SPDX-License-Identifier: Apache-2.0 */
/* Parents and try blocks nested far deeper than one stack holds. */
#include "sim/log.h"

enum { DEPTH_MAX = 10000 };

static mltp_sim_event_t stops[DEPTH_MAX], all = MLTP_SIM_EVENT_INIT("all");
static int depth, reached, ended, handled, interrupts;

/* On the kernel backend each simulated thread has a kernel thread of its own. */
static int depth_here(void) { return on_kernel_backend() ? 50 : scaled(DEPTH_MAX); }

static void *level(int number) { return (void *)(intptr_t)number; }

/* ---- parents */

static void parent(void *arg) {
  int number = (int)(intptr_t)arg;
  if (number < depth)
    PAR(CHILD(parent, level(number + 1)));
  else
    mltp_sim_waitfor(1);
  mltp_sim_ordered();
  reached++;
}

static void parents(void *arg) {
  reached = 0;
  depth = depth_here();
  parent(arg);
  CHECK_EQUAL(reached, depth + 1);
}

static void parents_nest_deeper_than_a_stack(void) { expect(parents, ""); }

/* ---- try blocks */

static void count_handler(void *arg) {
  (void)arg;
  handled++;
}

static void tries(void *arg) {
  int number = (int)(intptr_t)arg;
  if (number == depth) {
    mltp_sim_waitfor(10);
    return;
  }
  const mltp_sim_child_t body = {tries, level(number + 1), "inner"};
  const mltp_sim_handler_t handlers[] = {{&stops[number], 0, count_handler, NULL},
                                         {&all, interrupts, count_handler, NULL}};
  mltp_sim_try(&body, handlers, 2);
  mltp_sim_ordered();
  ended++;
}

static void stop_in_the_middle(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_notify(&stops[depth / 2]);
}

static void stop_all(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_notify(&all);
}

static void nest(void (*stop)(void *)) {
  handled = ended = 0;
  depth = depth_here() / 10;
  for (int i = 0; i < depth; i++) stops[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT("stop");
  PAR(CHILD(tries, level(0)), CHILD(stop, NULL));
}

/* Those outside of the one that was trapped end as usual, those inside never do. */
static void trap_one(void *arg) {
  (void)arg;
  nest(stop_in_the_middle);
  CHECK_EQUAL(handled, 1);
  CHECK_EQUAL(ended, depth / 2 + 1);
}

static void trap_the_outermost(void *arg) {
  (void)arg;
  nest(stop_all);
  CHECK_EQUAL(handled, 1);
  CHECK_EQUAL(ended, 1);
}

/* It suspends the others, which do not listen then. */
static void interrupt_the_outermost(void *arg) {
  (void)arg;
  interrupts = 1;
  nest(stop_all);
  interrupts = 0;
  CHECK_EQUAL(handled, 1);
  CHECK_EQUAL(ended, depth);
}

static void a_trap_ends_what_is_within(void) { expect(trap_one, ""); }

static void of_nested_traps_the_outermost_counts(void) { expect(trap_the_outermost, ""); }

static void of_nested_interrupts_the_outermost_counts(void) { expect(interrupt_the_outermost, ""); }

/* ---- many at once, at two depths */

static void wait_long(void *arg) {
  (void)arg;
  mltp_sim_waitfor(10);
}

static void listen(void *arg) {
  const mltp_sim_child_t body = {wait_long, arg, "body"};
  const mltp_sim_handler_t handlers[] = {{&all, 0, count_handler, NULL}};
  mltp_sim_try(&body, handlers, 1);
}

/* At depth 1; the scope around it listens to another event. */
static void listen_deeper(void *arg) {
  const mltp_sim_child_t body = {listen, arg, "deeper"};
  const mltp_sim_handler_t handlers[] = {{&stops[0], 0, count_handler, NULL}};
  mltp_sim_try(&body, handlers, 1);
}

static void many(void *arg) {
  enum { EACH = 20 };
  mltp_sim_child_t children[2 * EACH + 1] = {{stop_all, arg, "stop"}};
  for (int i = 0; i < EACH; i++) {
    children[1 + 2 * i] = (mltp_sim_child_t){listen_deeper, arg, "deep"};
    children[2 + 2 * i] = (mltp_sim_child_t){listen, arg, "flat"};
  }
  handled = 0;
  mltp_sim_par(children, 2 * EACH + 1);
  CHECK_EQUAL(handled, 2 * EACH);
  CHECK_EQUAL(mltp_sim_now(), 1);
}

static void all_that_listen_are_trapped(void) { expect(many, ""); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(parents_nest_deeper_than_a_stack),     TEST(a_trap_ends_what_is_within),
      TEST(of_nested_traps_the_outermost_counts), TEST(of_nested_interrupts_the_outermost_counts),
      TEST(all_that_listen_are_trapped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

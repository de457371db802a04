/* SPDX-License-Identifier: Apache-2.0 */
/* Try blocks: traps end what runs in them, interrupts suspend it. */
#include "sim/log.h"

static mltp_sim_event_t stop = MLTP_SIM_EVENT_INIT("stop"), knock = MLTP_SIM_EVENT_INIT("knock"),
                        never = MLTP_SIM_EVENT_INIT("never");

static void word(void *arg) { log_at(arg); }

static void tick(void *arg) {
  (void)arg;
  for (;;) {
    mltp_sim_waitfor(2);
    log_at("tick");
  }
}

static void wait_for_ever(void *arg) {
  (void)arg;
  mltp_sim_wait_any((mltp_sim_event_t *[]){&never, &knock}, 2);
  say("never");
}

static void family(void *arg) {
  PAR(CHILD(tick, arg), CHILD(wait_for_ever, arg));
  say("not reached");
}

static void grandparents(void *arg) { PAR(CHILD(family, arg), CHILD(family, arg)); }

static void user(void *arg) {
  (void)arg;
  mltp_sim_waitfor(5);
  mltp_sim_notify(&stop);
}

static size_t try_with(void (*body)(void *), const mltp_sim_handler_t *handlers, size_t count) {
  const mltp_sim_child_t child = {body, NULL, "body"};
  return mltp_sim_try(&child, handlers, count);
}

/* ---- traps */

static void trapped(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&never, 0, word, "no"}, {&stop, 0, word, "trap"}};
  CHECK_EQUAL(try_with(grandparents, handlers, 2), 1);
  log_at("after");
}

static void trap_model(void *arg) { PAR(CHILD(trapped, arg), CHILD(user, arg)); }

static void a_trap_ends_a_whole_family(void) {
  expect(trap_model, "tick@2 tick@2 tick@4 tick@4 trap@5 after@5");
}

static void quick(void *arg) {
  (void)arg;
  say("quick");
}

static void untouched(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, word, "no"}};
  CHECK_EQUAL(try_with(quick, handlers, 1), 1);
  CHECK_EQUAL(try_with(quick, NULL, 0), 0);
  mltp_sim_notify(&stop); /* nobody listens any more */
  mltp_sim_waitfor(1);
  say("end");
}

static void a_body_may_end_by_itself(void) { expect(untouched, "quick quick end"); }

static void end_at_once(void *arg) {
  (void)arg;
  mltp_sim_notify(&stop);
}

static void race(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, word, "no"}};
  CHECK_EQUAL(try_with(end_at_once, handlers, 1), 1);
}

static void a_body_that_has_ended_is_not_trapped(void) { expect(race, ""); }

static void inner(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, word, "inner"}};
  try_with(tick, handlers, 1);
  say("not reached");
}

static void outer(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, word, "outer"}};
  try_with(inner, handlers, 1);
}

static void nested_model(void *arg) { PAR(CHILD(outer, arg), CHILD(user, arg)); }

static void the_outermost_trap_is_first(void) { expect(nested_model, "tick@2 tick@4 outer@5"); }

enum { MANY = 20 };

static void widely_trapped(void *arg) {
  (void)arg;
  mltp_sim_handler_t handlers[MANY];
  for (int i = 0; i < MANY - 1; i++) handlers[i] = (mltp_sim_handler_t){&never, 0, word, "no"};
  handlers[MANY - 1] = (mltp_sim_handler_t){&stop, 0, word, "last"};
  CHECK_EQUAL(try_with(tick, handlers, MANY), MANY - 1);
}

static void wide_model(void *arg) { PAR(CHILD(widely_trapped, arg), CHILD(user, arg)); }

static void a_try_block_may_have_many_handlers(void) { expect(wide_model, "tick@2 tick@4 last@5"); }

/* ---- interrupts */

static void pause(void *arg) {
  log_at(arg);
  mltp_sim_waitfor(5);
  log_at("on");
}

static void interrupted(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&knock, 1, pause, "off"}, {&stop, 0, word, "trap"}};
  CHECK_EQUAL(try_with(tick, handlers, 2), 1);
}

static void knocker(void *arg) {
  (void)arg;
  mltp_sim_waitfor(3);
  mltp_sim_notify(&knock);
  mltp_sim_waitfor(1);
  mltp_sim_notify(&stop); /* unheard: a handler runs */
  mltp_sim_waitfor(7);
  mltp_sim_notify(&stop);
}

static void interrupt_model(void *arg) { PAR(CHILD(interrupted, arg), CHILD(knocker, arg)); }

/* The tick that was due at 4 comes at 8, when the handler has ended. */
static void an_interrupt_suspends(void) {
  expect(interrupt_model, "tick@2 off@3 on@8 tick@8 tick@10 trap@11");
}

static void stop_both(void *arg) {
  (void)arg;
  mltp_sim_waitfor(3);
  mltp_sim_notify(&knock);
  mltp_sim_notify(&stop);
}

static void outer_of_interrupted(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, word, "outer"}};
  try_with(interrupted, handlers, 1);
}

static void both_model(void *arg) { PAR(CHILD(outer_of_interrupted, arg), CHILD(stop_both, arg)); }

static void a_trap_ends_who_was_to_handle_an_interrupt(void) {
  expect(both_model, "tick@2 outer@3");
}

/* ---- and again */

static void trap_once(void *arg) {
  (void)arg;
  const mltp_sim_handler_t handlers[] = {{&stop, 0, quick, NULL}};
  try_with(grandparents, handlers, 1);
}

static void trap_often(void *arg) {
  for (int i = 0; i < scaled(100); i++) {
    PAR(CHILD(trap_once, arg), CHILD(user, arg));
    sim_log[0] = '\0';
  }
}

static void hosts_are_used_again(void) { expect(trap_often, ""); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_trap_ends_a_whole_family),
      TEST(a_body_may_end_by_itself),
      TEST(a_body_that_has_ended_is_not_trapped),
      TEST(the_outermost_trap_is_first),
      TEST(a_try_block_may_have_many_handlers),
      TEST(an_interrupt_suspends),
      TEST(a_trap_ends_who_was_to_handle_an_interrupt),
      TEST(hosts_are_used_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

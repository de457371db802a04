/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of the transport between nodes, step by step: when it serves, sleeps and polls, when
 * it leaves messages to ranks and VPs that poll, when the transport is at rest, and the end of a
 * job.
 */
#include <pthread.h>
#include <string.h>

#include "node_transport.h"

/* ---- the thread */

/* What it does until it sleeps for the last time: it has slept `times` times before that. */
static void check_served(int times, const char *expected) {
  sleeps = times;
  if (setjmp(served) == 0) serve(NULL);
  check_events(expected);
}

#define SERVED "(.arm ) poll " /* nothing has come */

static void the_thread_sleeps_while_nothing_comes(void **state) {
  (void)state;
  check_served(0, "bystander watch " SERVED);
  brings = 3;
  check_served(0, "bystander watch (....) " SERVED);
  brings = STEPS + 4;
  check_served(0,
               "bystander watch (................) (.....) " SERVED); /* ranks want the lock, too */
  arms = UCS_ERR_BUSY; /* something has come meanwhile */
  check_served(0, "bystander watch (.arm ) " SERVED);
}

static uint64_t step_ns;
static int pays;      /* looks that find something, from: */
static int pays_from; /* number of the sleep */
static bool slow;     /* the next sleep lasts */

static void take_time(void) {
  static bool found;
  now += step_ns;
  found = pays_from <= 0 && pays > 0 && !found;
  if (!found) return;
  brings = 1;
  pays--;
}

static void sleep_for_a_while(void) {
  pays_from--;
  now += slow ? POLL_NS : POLL_NS - 1;
  slow = false;
}

static void add(char *to, const char *text, int times) {
  for (int i = 0; i < times; i++) strcat(to, text);
}

/* After `wakeups` quick wake-ups in a row it polls `found` times in which it finds something, then
 * once in which `empty` steps find nothing. */
static void check_polls(int wakeups, uint64_t step, int found, int empty) {
  static char expected[EVENTS];
  strcpy(expected, "bystander watch ");
  add(expected, SERVED, wakeups + 1);
  add(expected, "..", found);
  add(expected, ".", empty);
  add(expected, SERVED, 1);
  slow = true;
  step_ns = step;
  pays = found;
  pays_from = wakeups + 1;
  check_served(wakeups + 1, expected);
}

static void quick_wake_ups_make_the_thread_poll(void **state) {
  (void)state;
  at_step = take_time;
  at_poll = sleep_for_a_while;
  check_polls(1, 5000, 16, 20);
  check_polls(2, 5000, 16, 20);  /* after 16 that paid one wake-up less is needed */
  check_polls(2, LOST_NS, 0, 1); /* a poll that did not pay doubles that */
  check_polls(4, LOST_NS - 1, 0, 6);
  check_polls(8, LOST_NS / 2, 1, 0); /* something has come, but the CPU is lost */
  check_polls(16, 5000, 15, 20);
  check_polls(32, 5000, 1, 20);
  check_polls(64, 5000, 16, 20); /* after these fewer are needed */
  check_polls(64, 5000, 33, 20);
  check_polls(32, 15000, 0, 7);
  for (int needed = 64; needed < 1024; needed *= 2) check_polls(needed, 15000, 0, 7);
  check_polls(1024, 15000, 0, 7);
  check_polls(1024, 15000, 0, 7);
  rest_mark = 0; /* the CPUs are not free */
  check_polls(1024, 15000, 0, 0);
}

/* ---- leases */

static int polls;          /* in sleeps for a lease, one each */
static bool rests_then;    /* and the VP rests in the last one */
static uint32_t held_then; /* messages are held after the first one */

static void poll_quietly(void) { transport->poll(0); }

static void poll_in_lease(void) {
  held = held_then;
  held_then = 0;
  if (polls-- > 0) poll_quietly();
  if (polls == 0 && rests_then) transport->rest();
}

static void poll_then_rest(void) {
  poll_quietly();
  transport->rest();
}

static void poll_and_hold(void) {
  poll_quietly();
  held = 2;
}

static void send_in_lease(void) {
  holds = true;
  transport->send(send_of(1, 1), 2, false);
  holds = false;
}

static void the_thread_leaves_messages_to_pollers(void **state) {
  (void)state;
  rest_mark = 0; /* it does not poll itself */
  transport->rest();
  check_events(""); /* it does not rely on them yet */
  at_poll = poll_quietly;
  check_served(1, "bystander watch " SERVED "off lease on " SERVED);
  asleep = poll_in_lease;
  polls = 2;
  check_served(1, "bystander watch " SERVED "off lease lease lease on " SERVED);
  polls = 3;
  rests_then = true; /* it sleeps until a message comes, and needs no lease for that */
  check_served(1, "bystander watch " SERVED "off lease lease lease wake on " SERVED);
  rests_then = false;
  polls = 0;
  held_then = 1;
  check_served(1, "bystander watch " SERVED "off lease (packets ) on " SERVED);
  asleep = send_in_lease; /* which the thread sees to */
  check_served(1, "bystander watch " SERVED "off lease (offer 2 1 ) (packets ) on " SERVED);
  asleep = NULL;
  at_poll = poll_then_rest;
  check_served(1, "bystander watch " SERVED SERVED);
  at_poll = poll_and_hold;
  check_served(1, "bystander watch " SERVED "(packets .arm ) poll ");
  at_poll = NULL; /* nobody polls */
  check_served(1, "bystander watch " SERVED SERVED);
}

/* ---- whether it rests */

static int rested, looked;

static void look(void) {
  looked++;
  rested += rests();
}

static bool something_is_ready(void) { return false; }

static void a_transport_at_work_does_not_rest(void **state) {
  (void)state;
  assert_true(rests());
  assert_false(tm_ucx_rests(&went, &came, something_is_ready));
  held = 1;
  assert_false(rests());
  held = 0;
  tm_ucx_under_way = 1;
  assert_false(rests());
  tm_ucx_under_way = 0;
  rest_mark = 0;
  at_lock = at_unlock = look; /* of the thread that serves */
  check_served(0, "bystander watch " SERVED);
  assert_int_equal(looked, 2);
  assert_int_equal(rested, 0);
  at_lock = at_unlock = NULL;
  at_poll = look;
  check_served(1, "bystander watch " SERVED SERVED);
  assert_int_equal(looked, 3);
  assert_int_equal(rested, 1);
}

static pthread_t thread;

/* The thread wants to serve while another one looks. */
static bool start_to_serve(void) {
  __real_pthread_create(&thread, NULL, serve, NULL);
  sem_wait(&yields); /* it waits */
  return true;
}

static void a_thread_that_begins_to_serve_is_noticed(void **state) {
  (void)state;
  sem_init(&yields, 0, 0);
  quiet = thread_ends = true;
  bool at_rest = tm_ucx_rests(&went, &came, start_to_serve);
  pthread_join(thread, NULL);
  thread_ends = false;
  sem_destroy(&yields);
  assert_false(at_rest);
}

/* ---- the end; the last one, since the transport does not come back */

static void nodes_may_go_away_at_the_end(void **state) {
  (void)state;
  assert_int_equal(tm_ucx_lost(), -1);
  check_events("(packets ) ");
  tm_ucx_on_failure(&peers[0], NULL, UCS_ERR_CONNECTION_RESET);
  tm_ucx_on_failure(&peers[1], NULL, UCS_ERR_CONNECTION_RESET);
  check_events("");
  assert_int_equal(tm_ucx_lost(), 0); /* the first one */
  events[0] = '\0';
  tm_ucx_stop();
  check_events("("); /* for good */
}

int main(void) {
#define PART(part) cmocka_unit_test_setup_teardown(part, transport_prepare, transport_end)
  const struct CMUnitTest tests[] = {
      PART(the_thread_sleeps_while_nothing_comes),    PART(quick_wake_ups_make_the_thread_poll),
      PART(the_thread_leaves_messages_to_pollers),    PART(a_transport_at_work_does_not_rest),
      PART(a_thread_that_begins_to_serve_is_noticed), PART(nodes_may_go_away_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

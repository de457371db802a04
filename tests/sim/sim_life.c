/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending simulations, and what is refused. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/log.h"

static mltp_sim_event_t never = MLTP_SIM_EVENT_INIT("never");

static void nothing(void *arg) { (void)arg; }

static void one_after_the_other(void) {
  for (int i = 0; i < scaled(200); i++) CHECK_EQUAL(mltp_sim_run(nothing, NULL), 0);
}

static void *from_here(void *arg) { return (void *)(intptr_t)mltp_sim_run(nothing, arg); }

static void any_thread_may_run_one(void) {
  for (int kind = UNBOUND; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    struct worker worker;
    worker_start(&worker, (enum kind)kind, from_here, NULL);
    CHECK_EQUAL((intptr_t)worker_join(&worker), 0);
  }
}

static void start_another(void *arg) {
  (void)arg;
  CHECK_EQUAL(mltp_sim_run(nothing, NULL), EBUSY);
  CHECK_EQUAL(mltp_sim_set_vps(2), EBUSY);
  CHECK_EQUAL(mltp_sim_trace_open("unused", "1ns"), EBUSY);
  CHECK_EQUAL(mltp_sim_trace("x", &never, 4, MLTP_SIM_TRACE_INTEGER), EBUSY);
}

static void one_at_a_time(void) { CHECK_EQUAL(mltp_sim_run(start_another, NULL), 0); }

static void bad_numbers_of_vps(void) {
  CHECK_EQUAL(mltp_sim_set_vps(0), EINVAL);
  CHECK_EQUAL(mltp_sim_set_vps(-1), EINVAL);
  CHECK_EQUAL(mltp_sim_set_vps(1 << 20), EINVAL);
}

/* ---- simulated threads use the library as others do */

static mltp_lock_t lock = MLTP_LOCK_INIT;
static int held_by;

static void lock_and_yield(void *arg) {
  for (int i = 0; i < 10; i++) {
    mltp_lock(&lock);
    held_by = (int)(intptr_t)arg;
    mltp_yield();
    CHECK_EQUAL(held_by, (intptr_t)arg);
    mltp_unlock(&lock);
    mltp_sim_waitfor(1);
  }
}

static void lockers(void *arg) {
  (void)arg;
  PAR(CHILD(lock_and_yield, 1), CHILD(lock_and_yield, 2), CHILD(lock_and_yield, 3));
}

static void *spin(void *stop) {
  while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) mltp_yield();
  return NULL;
}

static void others_run_meanwhile(void) {
  int stop = 0;
  mltp_t *other = spawn(spin, &stop);
  expect(lockers, "");
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  mltp_join(other, NULL);
}

static void ping(void *arg) {
  (void)arg;
  for (int i = 0; i < 1000; i++) mltp_sim_waitfor(1);
}

static void set(void *arg) {
  (void)arg;
  PAR(CHILD(ping, 0), CHILD(ping, 0));
}

static void *set_flag(void *flag) {
  __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* Two simulated threads that wake each other do not keep a VP for themselves. Another VP may have
 * taken the third thread, and lost its CPU; and with the kernel backend it is the kernel that says
 * when a thread starts. */
static void others_get_their_turn(void) {
  int flag = 0;
  mltp_t *other = spawn(set_flag, &flag);
  CHECK_EQUAL(mltp_sim_run(set, NULL), 0);
  if (!on_kernel_backend() && mltp_vps_active() == 1)
    CHECK_EQUAL(__atomic_load_n(&flag, __ATOMIC_RELAXED), 1);
  mltp_join(other, NULL);
}

/* ---- ends that are no success; in children, for what they print */

static void hang(void *arg) {
  (void)arg;
  mltp_sim_wait(&never);
}

static void hang_in_try(void *arg) {
  (void)arg;
  const mltp_sim_child_t body = {hang, NULL, "tried"};
  const mltp_sim_handler_t handler = {&never, 1, nothing, NULL};
  mltp_sim_try(&body, &handler, 1);
}

static mltp_sim_event_t second = MLTP_SIM_EVENT_INIT("second"),
                        nameless = MLTP_SIM_EVENT_INIT(NULL);

static void hang_at_any(void *arg) {
  (void)arg;
  mltp_sim_wait_any((mltp_sim_event_t *[]){&never, &second}, 2);
}

static void hang_at_both(void *arg) {
  (void)arg;
  mltp_sim_wait_all((mltp_sim_event_t *[]){&second, &nameless}, 2);
}

static void hang_all(void *arg) {
  (void)arg;
  PAR({hang, NULL, "hanging"}, {hang_in_try, NULL, "trying"}, {nothing, NULL, "gone"},
      {hang_at_any, NULL, "either"}, {hang_at_both, NULL, "both"});
}

static void deadlock(void) {
  mltp_init(0);
  if (mltp_sim_run(hang_all, NULL) != EDEADLK || mltp_sim_run(nothing, NULL) != 0) _Exit(1);
  mltp_finalize();
}

static void a_deadlock_says_who_waits_for_what(void **state) {
  (void)state;
  struct outcome outcome;
  run_child(&outcome, deadlock, (const char *const[]){NULL});
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "the simulation is deadlocked at time 0"));
  assert_non_null(strstr(outcome.said, "thread 'main' waits for its children"));
  assert_non_null(strstr(outcome.said, "thread 'hanging' waits for event 'never'"));
  assert_non_null(strstr(outcome.said, "thread 'trying' waits for its try block"));
  assert_non_null(strstr(outcome.said, "thread 'tried' waits for event 'never'\n"));
  assert_non_null(
      strstr(outcome.said, "thread 'either' waits for event 'never' or event 'second'\n"));
  assert_non_null(
      strstr(outcome.said, "thread 'both' waits for event 'second' and event '(no name)'\n"));
  assert_null(strstr(outcome.said, "gone"));
  int lines = 0;
  for (const char *c = outcome.said; *c != '\0'; c++) lines += *c == '\n';
  assert_int_equal(lines, 7); /* each thread once */
}

static void dump_all(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1); /* the other one waits by now */
  mltp_dump(STDERR_FILENO);
  _exit(0);
}

static void dump_while_another_waits(void *arg) {
  (void)arg;
  PAR({hang, NULL, "hanging"}, {dump_all, NULL, "dumping"});
}

static void simulate_and_dump(void) {
  mltp_init(0);
  mltp_sim_run(dump_while_another_waits, NULL);
}

/* Of the threads of libmltp that simulated threads run on. */
static void a_dump_knows_who_waits_in_a_simulation(void **state) {
  (void)state;
  struct outcome outcome;
  run_child(&outcome, simulate_and_dump, (const char *const[]){NULL});
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "waits for the end of the simulation"));
  assert_non_null(strstr(outcome.said, "waits for its next step in the simulation"));
}

static void wait_outside(void) {
  mltp_init(0);
  mltp_sim_wait(&never);
}

static void wait_beyond_the_end(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  mltp_sim_waitfor(UINT64_MAX);
}

static void overflow(void) {
  mltp_init(0);
  mltp_sim_run(wait_beyond_the_end, NULL);
}

static void wrong_calls_end_the_program(void **state) {
  (void)state;
  struct outcome outcome;
  run_child(&outcome, wait_outside, (const char *const[]){NULL});
  assert_true(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
  assert_non_null(
      strstr(outcome.said, "mltp_sim_wait: wrong call: the caller is no simulated thread"));
  run_child(&outcome, overflow, (const char *const[]){NULL});
  assert_true(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
  assert_non_null(strstr(outcome.said, "mltp_sim_waitfor: wrong call: the time would overflow"));
}

int main(void) {
  /* those with children first: ThreadSanitizer has none of a process that had threads */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_deadlock_says_who_waits_for_what),
      cmocka_unit_test(a_dump_knows_who_waits_in_a_simulation),
      cmocka_unit_test(wrong_calls_end_the_program),
      TEST(one_after_the_other),
      TEST(any_thread_may_run_one),
      TEST(one_at_a_time),
      TEST(bad_numbers_of_vps),
      TEST(others_run_meanwhile),
      TEST(others_get_their_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

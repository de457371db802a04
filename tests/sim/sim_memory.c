/* SPDX-License-Identifier: Apache-2.0 */
/* No memory: a simulation that has begun ends with a message, one that has not is refused. What a
 * trap ends has its memory freed. */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "sim/log.h"

static int no_memory; /* how many of the next requests are refused */
static int no_threads;

enum { LARGE = 8192, LARGE_BLOCKS = 16 };

static void *large_blocks[LARGE_BLOCKS]; /* [atomic] of malloc(), not freed; NULL: none */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void __real_free(void *block);
void __wrap_free(void *block);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __real_mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*body)(void *), void *arg);
int __wrap_mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*body)(void *), void *arg);

/* One refusal is enough, and what counts lines of code needs memory when the process ends. */
static bool is_refused(void) {
  if (no_memory == 0) return false;
  no_memory--;
  return true;
}

/* Puts another block where one is, or none. */
static void exchange(void *old, void *new) {
  for (int i = 0; i < LARGE_BLOCKS; i++) {
    void *expected = old;
    if (__atomic_compare_exchange_n(&large_blocks[i], &expected, new, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return;
  }
}

static int count_large(void) {
  int count = 0;
  for (int i = 0; i < LARGE_BLOCKS; i++)
    count += __atomic_load_n(&large_blocks[i], __ATOMIC_RELAXED) != NULL;
  return count;
}

void *__wrap_malloc(size_t size) {
  void *block = is_refused() ? NULL : __real_malloc(size);
  if (size >= LARGE && block != NULL) exchange(NULL, block);
  return block;
}

void __wrap_free(void *block) {
  if (block != NULL) exchange(block, NULL);
  __real_free(block);
}

void *__wrap_calloc(size_t count, size_t size) {
  return is_refused() ? NULL : __real_calloc(count, size);
}

int __wrap_mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*body)(void *), void *arg) {
  return no_threads ? EAGAIN : __real_mltp_create(thread, attr, body, arg);
}

static void wait_a_while(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
}

static void two_that_wait(void *arg) {
  (void)arg;
  PAR(CHILD(wait_a_while, 0), CHILD(wait_a_while, 0));
}

static void without_memory(void *arg) {
  no_memory = 1;
  two_that_wait(arg);
}

static void without_threads(void *arg) {
  no_threads = 1;
  two_that_wait(arg);
}

static void try_widely(void *arg) {
  static mltp_sim_event_t never = MLTP_SIM_EVENT_INIT("never");
  const mltp_sim_child_t body = {wait_a_while, arg, "body"};
  mltp_sim_handler_t handlers[100];
  for (int i = 0; i < 100; i++) handlers[i] = (mltp_sim_handler_t){&never, 0, wait_a_while, NULL};
  no_memory = 1;
  mltp_sim_try(&body, handlers, 100);
}

static void run(void (*model)(void *), int vps) {
  mltp_init(0);
  mltp_sim_set_vps(vps);
  mltp_sim_run(model, NULL);
}

static void host(void) { run(without_memory, 1); }
static void thread(void) { run(without_threads, 1); }
static void threads_of_a_round(void) { run(without_threads, 2); }
static void watches(void) { run(try_widely, 1); }

static void a_simulation_that_has_begun_says_so_and_aborts(void **state) {
  (void)state;
  static const struct {
    void (*body)(void);
    const char *what;
  } cases[] = {{host, "no memory for a simulated thread"},
               {thread, "no memory for a simulated thread"},
               {threads_of_a_round, "no memory for a simulated thread"},
               {watches, "no memory for a try block"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    run_child(&outcome, cases[i].body, (const char *const[]){NULL});
    assert_true(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
    assert_non_null(strstr(outcome.said, cases[i].what));
  }
}

static void one_that_has_not_is_refused(void) {
  no_memory = 1;
  int error = mltp_sim_run(wait_a_while, NULL);
  no_memory = 0;
  CHECK_EQUAL(error, ENOMEM);
  no_threads = 1;
  error = mltp_sim_run(wait_a_while, NULL);
  no_threads = 0;
  CHECK_EQUAL(error, EAGAIN);
  CHECK_EQUAL(mltp_sim_run(wait_a_while, NULL), 0); /* and the next one runs */
}

/* ---- calls that a trap ends */

enum { MANY = 400 };

static mltp_sim_event_t stop = MLTP_SIM_EVENT_INIT("stop");
static int large_at_trap;

static void wait_for_ever(void *arg) {
  static mltp_sim_event_t never = MLTP_SIM_EVENT_INIT("never");
  (void)arg;
  mltp_sim_wait(&never);
}

static void have_many_children(void *arg) {
  mltp_sim_child_t children[MANY];
  for (int i = 0; i < MANY; i++) children[i] = (mltp_sim_child_t){wait_for_ever, arg, NULL};
  mltp_sim_par(children, MANY);
}

static void have_many_handlers(void *arg) {
  static mltp_sim_event_t never = MLTP_SIM_EVENT_INIT("never");
  const mltp_sim_child_t body = {have_many_children, arg, "body"};
  mltp_sim_handler_t handlers[MANY];
  for (int i = 0; i < MANY; i++) handlers[i] = (mltp_sim_handler_t){&never, 0, wait_a_while, NULL};
  mltp_sim_try(&body, handlers, MANY);
}

static void stop_it(void *arg) {
  (void)arg;
  mltp_sim_waitfor(5);
  large_at_trap = count_large();
  mltp_sim_notify(&stop);
}

static void be_trapped(void *arg) {
  const mltp_sim_child_t body = {have_many_handlers, arg, "body"};
  const mltp_sim_handler_t handler = {&stop, 0, wait_a_while, NULL};
  CHECK_EQUAL(mltp_sim_try(&body, &handler, 1), 0);
}

static void trapped_model(void *arg) { PAR(CHILD(be_trapped, arg), CHILD(stop_it, arg)); }

static void traps_free_memory(void) {
  for (int vps = 1; vps < 3; vps++) {
    check_case("%d VPs", vps);
    int before = count_large();
    mltp_sim_set_vps(vps);
    CHECK_EQUAL(mltp_sim_run(trapped_model, NULL), 0);
    CHECK_EQUAL(large_at_trap, before + 2);
    CHECK_EQUAL(count_large(), before);
  }
  mltp_sim_set_vps(1);
}

int main(void) {
  /* those with children first: ThreadSanitizer has none of a process that had threads */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_simulation_that_has_begun_says_so_and_aborts),
      TEST(one_that_has_not_is_refused),
      TEST(traps_free_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

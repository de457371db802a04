/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pthreads of ranks, call by call (src/tmpi/run/threads.c): what is done in which order when one
 * starts and ends, what is given back when it cannot start, and where threads run.
 */
#include "rank_threads.h"

/* ---- start and end */

static void test_a_pthread_starts_and_ends(void **state) {
  (void)state;
  assert_int_equal(create(), 0);
  check_trace(STARTS "mask:0 works " ENDS CREATED);
  assert_ptr_equal(pthread.result, text);
  assert_int_equal(processes[1].pthreads, 0);
  assert_false(tm_on_pthread());
}

/* It blocks what its creator blocks: a rank's own thread has that from the library. */
static void test_signals_that_a_pthread_blocks(void **state) {
  (void)state;
  processes[1].signals = (struct tm_signals *)text;
  assert_int_equal(create(), 0);
  check_trace(STARTS "mask:400 works " ENDS CREATED);
  struct tm_locals before = tm_locals_exchange((struct tm_locals){.is_pthread = true});
  assert_int_equal(create(), 0);
  tm_locals_exchange(before);
  check_trace(STARTS "mask:20 works " ENDS CREATED);
}

static void *find_local(void *argument) {
  typedef void *function(const void *);
  struct {
    char *block;
    size_t offset;
  } index = {locals, 8};
  assert_ptr_equal(((function *)row("__tls_get_addr"))(&index), copy + 8);
  return argument;
}

/* It has thread-locals of its own. */
static void test_variables_of_a_pthread(void **state) {
  (void)state;
  static char own[64];
  copy = own;
  program_does = find_local;
  assert_int_equal(create(), 0);
  check_trace(STARTS "mask:0 works values_end free_locals:copy wake:0 ended:its " CREATED);
}

static void test_variables_are_exchanged(void **state) {
  (void)state;
  struct tm_locals own = {16, (struct tm_values *)text, true};
  struct tm_locals before = tm_locals_exchange(own);
  assert_true(before.distance == 0 && before.values == NULL && !before.is_pthread);
  assert_true(tm_on_pthread());
  own = tm_locals_exchange(before);
  assert_true(own.distance == 16 && own.values == (struct tm_values *)text && own.is_pthread);
  assert_false(tm_on_pthread());
}

static void *do_nothing(void *argument) { return argument; }

static void test_threads_of_no_rank_are_libc_s(void **state) {
  (void)state;
  pthread_t thread;
  caller = NULL;
  assert_int_equal(tm_create_pthread(&thread, NULL, do_nothing, text), 0);
  check_trace("create ");
  assert_ptr_equal(pthread.argument, text);
}

/* The runtime does not run there. */
static void test_a_pthread_in_a_child_of_fork(void **state) {
  (void)state;
  in_child = true;
  join = NULL;
  assert_int_equal(create(), 0);
  check_trace(
      "block_all create exists:none,200 mask:0 works values_end free_locals ended:none "
      "mask:1111111111111111 exists:none,5 created:none ");
  assert_int_equal(processes[1].pthreads, 0);
}

/* ---- where there is no room */

static void test_pthreads_that_cannot_be_created(void **state) {
  (void)state;
  memory_is_out = true;
  assert_int_equal(create(), EAGAIN);
  check_trace("");
  memory_is_out = false;
  copy_error = ENOMEM;
  assert_int_equal(create(), EAGAIN);
  check_trace("join_new cancel:its free_locals ");
  copy_error = 0;
  create_error = EPERM;
  static char own[64];
  copy = own;
  assert_int_equal(create(), EAGAIN);
  check_trace("join_new block_all create mask:1111111111111111 cancel:its free_locals:copy ");
  assert_int_equal(processes[1].pthreads, 0);
}

static void create_for_abort(const char *expected) {
  struct captured captured = captured_begin();
  int error = create();
  captured_end(&captured, text, sizeof text);
  assert_int_equal(error, 0);
  assert_string_equal(text, "tmpirun: rank 1: no memory to start a pthread (fewer of them)\n");
  check_trace(expected);
}

/* The program believes that it runs, so the job ends. */
static void test_a_pthread_that_cannot_go_on(void **state) {
  (void)state;
#define BEGINS "join_new block_all create exists:its,200 code_on_stack "
  may_register = false;
  create_for_abort(BEGINS "abort:1 " CREATED);
  may_register = true;
  has_values = false;
  create_for_abort(BEGINS "abort:1 " CREATED);
  has_values = true;
  enter_error = ENOMEM;
  create_for_abort(BEGINS "enter:1 abort:1 " CREATED);
}

/* ---- where threads run */

static int bind_thread(pthread_t thread) {
  typedef int function(pthread_t, size_t, const cpu_set_t *);
  cpu_set_t cpus;
  memset(&cpus, 1, sizeof cpus);
  return ((function *)row("pthread_setaffinity_np"))(thread, sizeof cpus, &cpus);
}

static int bind_task(pid_t task) {
  typedef int function(pid_t, size_t, const cpu_set_t *);
  cpu_set_t cpus;
  memset(&cpus, 1, sizeof cpus);
  return ((function *)row("sched_setaffinity"))(task, sizeof cpus, &cpus);
}

/* Its kernel threads run other ranks, too. */
static void test_a_rank_is_not_bound(void **state) {
  (void)state;
  assert_int_equal(bind_thread(100), 0);
  assert_int_equal(bind_thread(FIRST), 0);
  assert_int_equal(bind_task(0), 0);
  assert_int_equal(bind_task(100), 0);
  check_trace("");
  assert_int_equal(bind_thread(OTHER), 45); /* a pthread of its own */
  check_trace("bind:5 ");
  assert_int_equal(bind_task(150), 0); /* a kernel thread of the process */
  assert_int_equal(bind_task(7), 0);   /* another process */
  check_trace("bind_task:7 ");
  bind_error = ESRCH;
  assert_int_equal(bind_task(7), -1);
}

static void test_a_child_of_fork_is_bound(void **state) {
  (void)state;
  in_child = true;
  assert_int_equal(bind_thread(100), 0);
  assert_int_equal(bind_task(0), 0);
  check_trace("bind_task:0 bind_task:0 ");
  bind_error = EPERM;
  assert_int_equal(bind_thread(FIRST), EPERM);
}

static void *look_around(void *argument) {
  trace[0] = '\0';
  assert_int_equal(bind_thread((pthread_t)number_here), 45);
  assert_int_equal(bind_thread(FIRST), 0);
  assert_int_equal(bind_task(0), 0);
  assert_int_equal(bind_task(number_here), 0);
  check_trace("bind:200 bind_task:0 bind_task:200 ");
  return argument;
}

static void test_a_pthread_is_bound(void **state) {
  (void)state;
  program_does = look_around;
  assert_int_equal(create(), 0);
}

/* ---- the kernel's numbers of pthreads, by which any thread of their rank binds them */

static int depth;

static void check_tasks(int first, int last) {
  for (int i = 190; i < 210; i++) {
    trace[0] = '\0';
    assert_int_equal(bind_task(i), 0);
    assert_int_equal(trace[0] != '\0', i >= first && i <= last);
  }
}

/* Each has the next one beside it. The first and the last one know all. */
static void *create_next(void *argument) {
  check_tasks(200, 200 + depth);
  if (++depth < 4) {
    next_number++;
    assert_int_equal(create(), 0);
    next_number--;
  }
  depth--;
  check_tasks(200, 200 + depth);
  caller = &processes[2]; /* the others are another rank's */
  check_tasks(number_here, number_here);
  caller = &processes[1];
  trace[0] = '\0';
  return argument;
}

static void test_pthreads_are_known_by_their_numbers(void **state) {
  (void)state;
  program_does = create_next;
  assert_int_equal(create(), 0);
  check_tasks(1, 0); /* they have ended */
}

static sem_t works, may_end;

static void *wait_for_end(void *argument) {
  sem_post(&works);
  sem_wait(&may_end);
  return argument;
}

static void *create_beside(void *argument) {
  runs_beside = true;
  program_does = wait_for_end;
  next_number = 201;
  assert_int_equal(create(), 0);
  sem_post(&may_run);
  sem_wait(&works);
  return argument;
}

/* The one that was created first ends first. */
static void test_a_pthread_outlives_its_creator(void **state) {
  (void)state;
  sem_init(&may_run, 0, 0);
  sem_init(&works, 0, 0);
  sem_init(&may_end, 0, 0);
  program_does = create_beside;
  assert_int_equal(create(), 0);
  check_tasks(201, 201);
  sem_post(&may_end);
  assert_int_equal(pthread_join(beside, NULL), 0);
  check_tasks(1, 0);
  trace[0] = '\0';
}

int main(void) {
  const struct CMUnitTest tests[] = {
      ROW(test_a_pthread_starts_and_ends),
      ROW(test_signals_that_a_pthread_blocks),
      ROW(test_variables_of_a_pthread),
      ROW(test_variables_are_exchanged),
      ROW(test_threads_of_no_rank_are_libc_s),
      ROW(test_a_pthread_in_a_child_of_fork),
      ROW(test_pthreads_that_cannot_be_created),
      ROW(test_a_pthread_that_cannot_go_on),
      ROW(test_a_rank_is_not_bound),
      ROW(test_a_child_of_fork_is_bound),
      ROW(test_a_pthread_is_bound),
      ROW(test_pthreads_are_known_by_their_numbers),
      ROW(test_a_pthread_outlives_its_creator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

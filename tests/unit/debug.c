/* SPDX-License-Identifier: Apache-2.0 */
/* Seeing inside: the dump, on call and on a signal, and the version. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/asleep.h"
#include "support/support.h"

static mltp_lock_t dump_lock;
static mltp_cond_t dump_cond;
static mltp_barrier_t dump_barrier;
static mltp_sem_t dump_sem;
static atomic_int arrived; /* threads that are about to wait */
static atomic_bool dumped;

static void *wait_for_lock(void *p0) {
  arrived++;
  mltp_lock(&dump_lock);
  mltp_unlock(&dump_lock);
  return p0;
}

static void *wait_for_cond(void *p0) {
  arrived++;
  mltp_cond_wait_unlocked(&dump_cond);
  return p0;
}

static void *wait_at_barrier(void *p0) {
  arrived++;
  mltp_barrier_wait(&dump_barrier);
  return p0;
}

static void *wait_for_sem(void *p0) {
  arrived++;
  mltp_sem_wait(&dump_sem);
  return p0;
}

static void *join_given(void *p0) {
  arrived++;
  mltp_join(p0, NULL);
  return NULL;
}

static void *join_for_a_while(void *p0) {
  arrived++;
  mltp_join_timed(p0, NULL, mltp_after(60ull * 1000 * 1000 * 1000));
  return NULL;
}

static void *receive(void *p0) {
  int number;
  arrived++;
  mltp_channel_recv(p0, &number);
  return NULL;
}

static void *select_one(void *p0) {
  int numbers[3];
  mltp_case_t cases[] = {MLTP_CASE_RECV(p0, &numbers[0]), MLTP_CASE_RECV(p0, &numbers[1]),
                         MLTP_CASE_RECV(p0, &numbers[2])};
  arrived++;
  size_t chosen;
  mltp_select(cases, 3, &chosen);
  return NULL;
}

static void *sleep_long(void *p0) {
  arrived++;
  mltp_sleep(60ull * 1000 * 1000 * 1000);
  return p0;
}

static mltp_t *start(const char *name, mltp_userf_t *func, void *p0, int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.bound = bound;
  mltp_t *thread = NULL;
  if (mltp_create(&thread, &attr, func, p0) != 0) _exit(1);
  return thread;
}

/* A runtime in which one thread waits for each thing there is. */
static void set_the_scene(void) {
  if (mltp_init(0) != 0) _exit(1);
  mltp_set_name(mltp_self(), "director");
  mltp_lock_init(&dump_lock, MLTP_LOCK_REACTIVE, "props");
  mltp_cond_init(&dump_cond, "curtain");
  mltp_barrier_init(&dump_barrier, 3, "stage-door");
  mltp_sem_init(&dump_sem, 0, "tickets");
  mltp_lock(&dump_lock);
  start("locked-out", wait_for_lock, NULL, 0);
  start("listening", wait_for_cond, NULL, 0);
  start("at-the-door", wait_at_barrier, NULL, 0);
  mltp_t *queueing = start("queueing", wait_for_sem, NULL, 0);
  start("joining", join_given, queueing, 0);
  start("bound-one", wait_for_sem, NULL, 1);
  start("sleeping\tlate \x7f.", sleep_long, NULL, 0); /* with what is no text */
  mltp_channel_t *channel = new_channel(5, sizeof(int), "letterbox");
  start("at-the-box", receive, channel, 0);
  mltp_t *pondering = start("undecided", select_one, channel, 0);
  start("impatient", join_for_a_while, pondering, 0);
  while (arrived < 10) mltp_yield();
  if (seeded()) mltp_sleep(100000000); /* by a clock that continues when nobody can run */
  wait_until_asleep(0);
}

static void dump_scene(void) {
  set_the_scene();
  mltp_dump(STDERR_FILENO);
}

void __real_mt_dump(int fd, int most, bool names);
void __wrap_mt_dump(int fd, int most, bool names);
void __wrap_mt_dump(int fd, int most, bool names) {
  __real_mt_dump(fd, most, names);
  dumped = true;
}

static void signal_scene(void) {
  set_the_scene();
  raise(SIGUSR1);
  while (!dumped) mltp_yield(); /* it may be left to another kernel thread */
}

static struct outcome outcome;

static void check_dump(void (*body)(void), const char *const *settings) {
  static const char *const words[] = {
      "director",
      "locked-out",
      "props",
      "lock",
      "listening",
      "curtain",
      "condition",
      "at-the-door",
      "stage-door",
      "barrier",
      "queueing",
      "tickets",
      "semaphore",
      "joining",
      "join of thread",
      "bound-one",
      "bound",
      "'sleeping?late ?.'",
      "sleep",
      "impatient",
      "at-the-box",
      "letterbox",
      "to receive (0 of 5",
      "undecided",
      "select among 3 channels",
  };
  run_child(&outcome, body, settings);
  print_message("%s", outcome.said);
  CHECK_EQUAL(outcome.status, 0);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    check_case("%s", words[i]);
    CHECK(strstr(outcome.said, words[i]) != NULL);
  }
}

static void mltp_dump_names_threads_and_what_they_wait_for(void) {
  static const char *const no_settings[] = {NULL};
  check_dump(dump_scene, no_settings);
}

static void mltp_dump_comes_on_a_signal(void) {
  char setting[32];
  snprintf(setting, sizeof setting, "MLTP_DUMP_SIGNAL=%d", SIGUSR1);
  const char *const settings[] = {setting, NULL};
  check_dump(signal_scene, settings);
}

static void *yield_long(void *p0) {
  for (int i = 0; i < 2000; i++) mltp_yield();
  return p0;
}

/* A snapshot, while everything moves. */
static void dump_while_running(void) {
  mltp_t *threads[10];
  if (mltp_init(0) != 0) _exit(1);
  for (int i = 0; i < 10; i++) threads[i] = spawn(yield_long, NULL);
  for (int i = 0; i < 5; i++) {
    mltp_dump(STDERR_FILENO);
    mltp_yield();
  }
  for (int i = 0; i < 10; i++) mltp_join(threads[i], NULL);
  if (mltp_finalize() != 0) _exit(1);
}

static void mltp_dump_of_running_threads(void) {
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, dump_while_running, no_settings);
  if (outcome.status != 0) print_message("%s", outcome.said);
  CHECK_EQUAL(outcome.status, 0);
}

/* @return a dump that prints at most that number of backtraces. */
static const char *text_of_dump(int most) {
  static char text[65536];
  size_t size = 0;
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  __real_mt_dump(ends[1], most, false);
  close(ends[1]);
  for (ssize_t got = 1; got > 0; size += (size_t)got) {
    got = read(ends[0], text + size, sizeof text - 1 - size);
    assert_true(got >= 0);
  }
  text[size] = '\0';
  close(ends[0]);
  return text;
}

/* The number of backtraces in a dump that prints at most `most`. */
static int backtraces(int most, bool *left_out) {
  const char *text = text_of_dump(most);
  int count = 0;
  for (const char *at = text; (at = strstr(at, "#0 ")) != NULL; at++) count++;
  *left_out = strstr(text, "further backtraces are left out") != NULL;
  return count;
}

/* A dump says whether it printed all backtraces. */
static void check_backtraces(void) {
  bool left_out;
  int all = backtraces(1000, &left_out);
  CHECK(!left_out);
  CHECK_EQUAL(backtraces(all + 1, &left_out), all);
  CHECK(!left_out);
  if (all < 2) return; /* bound threads have none */
  CHECK_EQUAL(backtraces(all - 1, &left_out), all - 1);
  CHECK(left_out);
}

/* A packet holds what one write had: a line for each thread would be a packet for each. */
static void dump_into_packets(void) {
  enum { THREADS = 20 }; /* a socket has room for as many packets as they have lines */
  mltp_t *threads[THREADS];
  int ends[2], packets = 0;
  char text[32768];
  mltp_sem_init(&dump_sem, 0, "tickets");
  arrived = 0;
  for (int i = 0; i < THREADS; i++) threads[i] = spawn(wait_for_sem, NULL);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  __real_mt_dump(ends[0], 1000, false);
  close(ends[0]);
  while (read(ends[1], text, sizeof text) > 0) packets++;
  assert_true(packets > 0);
  assert_true(packets < THREADS);
  close(ends[1]);
  while (arrived < THREADS) mltp_yield();
  if (seeded()) mltp_sleep(100000000); /* by a clock that continues when nobody can run */
  wait_until_asleep(0);
  check_backtraces();
  for (int i = 0; i < THREADS; i++) mltp_sem_post(&dump_sem);
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
}

static atomic_bool stops, spins;

static void *spin(void *p0) {
  spins = true;
  while (!stops) continue;
  return p0;
}

static void *yield_until_stopped(void *p0) {
  while (!stops) mltp_yield();
  return p0;
}

static void *return_it(void *p0) { return p0; }

/* On one VP what each thread does is known. Names and states of waiting threads are above. */
static void mltp_dump_says_what_other_threads_do(void) {
  static const char *const lines[] = {
      " 'main' (unbound): runs on VP 0\n",
      " 'bound' (bound): runs\n",
      " 'yields' (unbound): ready on VP 0\n",
      " 'ends' (unbound): ended, not joined yet\n",
      " 'fresh' (unbound): not started, ready on VP 0\n",
      "\n  5 threads; 1 VPs, 1 awake\n",
  };
  mltp_t *threads[4];
  stops = spins = false;
  threads[0] = start("bound", spin, NULL, 1);
  threads[1] = start("yields", yield_until_stopped, NULL, 0);
  threads[2] = start("ends", return_it, NULL, 0);
  mltp_yield(); /* both have run */
  threads[3] = start("fresh", return_it, NULL, 0);
  while (!spins) continue;
  const char *text = text_of_dump(1000);
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    check_case("%s", lines[i]);
    CHECK(strstr(text, lines[i]) != NULL);
  }
  bool left_out;
  if (!on_ucontext_backend())
    CHECK_EQUAL(backtraces(1000, &left_out), 1); /* of the one that yields */
  stops = true;
  for (int i = 0; i < 4; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
}

static void mltp_version_is_that_of_the_headers(void) {
  char expected[32];
  snprintf(expected, sizeof expected, "%d.%d.%d", MLTP_VERSION_MAJOR, MLTP_VERSION_MINOR,
           MLTP_VERSION_PATCH);
  CHECK_TEXT(mltp_version(), expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(mltp_dump_names_threads_and_what_they_wait_for),
      TEST_BARE(mltp_dump_comes_on_a_signal),
      TEST_BARE(mltp_dump_of_running_threads),
      TEST(dump_into_packets),
      TEST_ONE_VP(mltp_dump_says_what_other_threads_do),
      TEST_BARE(mltp_version_is_that_of_the_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

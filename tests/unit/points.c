/* SPDX-License-Identifier: Apache-2.0 */
/* Deterministic mode: each call that may let another thread run is a scheduling point, which a seed
 * can choose and `mltp explore` tries. A call without one hides the orders in which others run
 * there. And what each way of choosing makes of the points. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mltp/io.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/support.h"

enum { LOG_MAX = 1 << 20 };

static int stop; /* one kernel thread runs all */

/* Always ready: a log has a line for each point at which more than one thread can run. */
static void *yield_until_stopped(void *p0) {
  while (!stop) mltp_yield();
  return p0;
}

static void *return_it(void *p0) { return p0; }

static void run_once(void *p0) { *(int *)p0 += 1; }

static void use_locks(void) {
  mltp_lock_t lock = MLTP_LOCK_INIT;
  mltp_cond_t cond = MLTP_COND_INIT;
  CHECK_EQUAL(mltp_lock(&lock), 0);
  CHECK_EQUAL(mltp_cond_wait_timed(&cond, &lock, 0), ETIMEDOUT);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  CHECK_EQUAL(mltp_lock_try(&lock), 0);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  CHECK_EQUAL(mltp_lock_timed(&lock, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  CHECK_EQUAL(mltp_cond_wait_unlocked_timed(&cond, 0), ETIMEDOUT);
  CHECK_EQUAL(mltp_cond_signal(&cond), 0);
  CHECK_EQUAL(mltp_cond_broadcast(&cond), 0);
}

static void use_rwlocks(void) {
  mltp_rwlock_t lock = MLTP_RWLOCK_INIT;
  CHECK_EQUAL(mltp_rwlock_rdlock(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_rdlock_try(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_rdlock_timed(&lock, MLTP_NEVER), 0);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(mltp_rwlock_unlock(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_wrlock(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_unlock(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_wrlock_try(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_unlock(&lock), 0);
  CHECK_EQUAL(mltp_rwlock_wrlock_timed(&lock, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_rwlock_unlock(&lock), 0);
}

static void use_counters(void) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_latch_t latch = MLTP_LATCH_INIT(2);
  mltp_waitgroup_t group = MLTP_WAITGROUP_INIT;
  mltp_barrier_t barrier;
  mltp_once_t once = MLTP_ONCE_INIT;
  int calls = 0;
  CHECK_EQUAL(mltp_sem_post(&sem), 0);
  CHECK_EQUAL(mltp_sem_post(&sem), 0);
  CHECK_EQUAL(mltp_sem_wait(&sem), 0);
  CHECK_EQUAL(mltp_sem_wait_try(&sem), 0);
  CHECK_EQUAL(mltp_latch_count_down(&latch, 1), 0);
  CHECK_EQUAL(mltp_latch_arrive_and_wait(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait_try(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait_timed(&latch, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_waitgroup_add(&group, 1), 0);
  CHECK_EQUAL(mltp_waitgroup_done(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_wait(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_wait_try(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_wait_timed(&group, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_barrier_init(&barrier, 1, NULL), 0);
  CHECK_EQUAL(mltp_barrier_wait(&barrier), MLTP_BARRIER_SERIAL);
  CHECK_EQUAL(mltp_barrier_destroy(&barrier), 0);
  CHECK_EQUAL(mltp_once(&once, run_once, &calls), 0);
  CHECK_EQUAL(mltp_once(&once, run_once, &calls), 0); /* no point: it is over */
  CHECK_EQUAL(calls, 1);
}

static void use_channels(void) {
  mltp_channel_t *channel = new_channel(6, sizeof(int), NULL);
  int in = 1, out;
  size_t chosen;
  mltp_case_t receive = MLTP_CASE_RECV(channel, &out);
  CHECK_EQUAL(mltp_channel_send(channel, &in), 0);
  CHECK_EQUAL(mltp_channel_send_try(channel, &in), 0);
  CHECK_EQUAL(mltp_channel_send_timed(channel, &in, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_channel_recv(channel, &out), 0);
  CHECK_EQUAL(mltp_channel_recv_try(channel, &out), 0);
  CHECK_EQUAL(mltp_channel_recv_timed(channel, &out, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_select_try(&receive, 1, &chosen), EAGAIN);
  CHECK_EQUAL(mltp_channel_close(channel), 0);
  CHECK_EQUAL(mltp_select(&receive, 1, &chosen), 0);
  CHECK_EQUAL(mltp_select_timed(&receive, 1, &chosen, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0);
}

static void use_words(void) {
  uint32_t word = 0;
  CHECK_EQUAL(mltp_await(&word, 0, NULL), 0);
  CHECK_EQUAL(mltp_await_timed(&word, 0, NULL, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_await_not(&word, 1, NULL), 0);
  CHECK_EQUAL(mltp_await_not_timed(&word, 1, NULL, MLTP_NEVER), 0);
  mltp_await_store(&word, 1);
  mltp_await_wake(&word);
}

static void use_descriptors(void) {
  char byte = 'x', path[] = "/tmp/mltp-points-XXXXXX";
  int ends[2], fd = -1, ready = 0;
  size_t count;
  CHECK_EQUAL(close(mkstemp(path)), 0);
  CHECK_EQUAL(mltp_io_open(path, O_RDWR, 0, &fd), 0);
  CHECK_EQUAL(mltp_io_pwrite(fd, &byte, 1, 0, &count), 0);
  CHECK_EQUAL(mltp_io_pread(fd, &byte, 1, 0, &count), 0);
  CHECK_EQUAL(mltp_io_fsync(fd), 0);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  CHECK_EQUAL(unlink(path), 0);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  CHECK_EQUAL(mltp_io_write(ends[0], &byte, 1, &count), 0);
  CHECK_EQUAL(mltp_io_send(ends[0], &byte, 1, 0, &count), 0);
  struct pollfd asked = {.fd = ends[1], .events = POLLIN};
  CHECK_EQUAL(mltp_io_poll(&asked, 1, &ready), 0);
  CHECK_EQUAL(mltp_io_read(ends[1], &byte, 1, &count), 0);
  CHECK_EQUAL(mltp_io_recv(ends[1], &byte, 1, 0, &count), 0);
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
}

static void use_threads(mltp_t *other) {
  mltp_t *thread = spawn(return_it, NULL);
  CHECK_EQUAL(mltp_join_try(other, NULL), EBUSY);
  CHECK_EQUAL(mltp_join_timed(other, NULL, 0), ETIMEDOUT);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
  mltp_explore_point();
}

/* What the calls above are: the name of each, and the points that all of them are. */
static const struct {
  const char *call;
  int points;
} expected[] = {
    {"mltp_lock", 2}, /* also after a wait for a condition */
    {"mltp_lock_try", 1},
    {"mltp_lock_timed", 1},
    {"mltp_unlock", 3},
    {"mltp_cond_wait_timed", 1},
    {"mltp_cond_wait_unlocked_timed", 1},
    {"mltp_cond_signal", 1},
    {"mltp_cond_broadcast", 1},
    {"mltp_rwlock_rdlock", 1},
    {"mltp_rwlock_rdlock_try", 1},
    {"mltp_rwlock_rdlock_timed", 1},
    {"mltp_rwlock_wrlock", 1},
    {"mltp_rwlock_wrlock_try", 1},
    {"mltp_rwlock_wrlock_timed", 1},
    {"mltp_rwlock_unlock", 6},
    {"mltp_sem_post", 2},
    {"mltp_sem_wait", 1},
    {"mltp_sem_wait_try", 1},
    {"mltp_latch_count_down", 1},
    {"mltp_latch_arrive_and_wait", 1},
    {"mltp_latch_wait", 1},
    {"mltp_latch_wait_try", 1},
    {"mltp_latch_wait_timed", 1},
    {"mltp_waitgroup_add", 1},
    {"mltp_waitgroup_done", 1},
    {"mltp_waitgroup_wait", 1},
    {"mltp_waitgroup_wait_try", 1},
    {"mltp_waitgroup_wait_timed", 1},
    {"mltp_barrier_wait", 1},
    {"mltp_once", 2}, /* before it and after it */
    {"mltp_channel_send", 2},
    {"mltp_channel_send_try", 2},
    {"mltp_channel_send_timed", 2},
    {"mltp_channel_recv", 2},
    {"mltp_channel_recv_try", 2},
    {"mltp_channel_recv_timed", 2},
    {"mltp_select_try", 2},
    {"mltp_channel_close", 1},
    {"mltp_select", 2},
    {"mltp_select_timed", 2},
    {"mltp_await", 1},
    {"mltp_await_timed", 1},
    {"mltp_await_not", 1},
    {"mltp_await_not_timed", 1},
    {"mltp_await_store", 1},
    {"mltp_await_wake", 1},
    {"mltp_io_open", 1},
    {"mltp_io_pwrite", 1},
    {"mltp_io_pread", 1},
    {"mltp_io_fsync", 1},
    {"mltp_io_write", 1},
    {"mltp_io_send", 1},
    {"mltp_io_poll", 1},
    {"mltp_io_read", 1},
    {"mltp_io_recv", 1},
    {"mltp_create", 1},
    {"mltp_join_try", 1},
    {"mltp_join_timed", 1},
    {"mltp_join", 1},
    {"mltp_explore_point", 1},
};

/* @return how many lines of a log are points of a call. */
static int points_of(const char *log, const char *call) {
  char column[64];
  int points = 0;
  snprintf(column, sizeof column, "\t%s\t", call);
  for (const char *at = log; (at = strstr(at, column)) != NULL; at++) points++;
  return points;
}

static void each_call_is_a_scheduling_point(void) {
  static char log[LOG_MAX];
  char path[] = "/tmp/mltp-points-XXXXXX";
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  if (fd < 0) return;
  setenv("MLTP_SEED", "1", 1);
  setenv("MLTP_SCHEDULE_LOG", path, 1);
  CHECK_EQUAL(mltp_init(0), 0);
  mltp_t *other = spawn(yield_until_stopped, NULL);
  off_t before = lseek(fd, 0, SEEK_END);
  use_locks();
  use_rwlocks();
  use_counters();
  use_channels();
  use_words();
  use_descriptors();
  use_threads(other);
  CHECK(pread(fd, log, sizeof log - 1, before) > 0);
  stop = 1;
  CHECK_EQUAL(mltp_join(other, NULL), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    check_case("%s", expected[i].call);
    CHECK_EQUAL(points_of(log, expected[i].call), expected[i].points);
  }
  unsetenv("MLTP_SEED");
  unsetenv("MLTP_SCHEDULE_LOG");
  CHECK_EQUAL(close(fd), 0);
  CHECK_EQUAL(unlink(path), 0);
}

/* ---- ways to choose: three threads that never wait, and the parts in which each of them runs */

enum { RUNNERS = 3, STEPS = 100, SEEDS = 20 };

static struct {
  int runners[RUNNERS * STEPS];
  int count;
} trace;

static void *leave_traces(void *number) {
  for (int i = 0; i < STEPS; i++) {
    trace.runners[trace.count++] = *(int *)number;
    mltp_explore_point();
  }
  return NULL;
}

/* Two calls that follow each other have different seeds, or the second run would continue the first
 * one. @return in how many parts they ran: RUNNERS, if none was interrupted. */
static int parts_of(const char *schedule, int seed) {
  static int numbers[RUNNERS] = {0, 1, 2};
  mltp_t *threads[RUNNERS];
  char text[16];
  int parts = 1;
  check_case("%s, seed %d", schedule, seed);
  snprintf(text, sizeof text, "%d", seed);
  setenv("MLTP_SEED", text, 1);
  setenv("MLTP_SCHEDULE", schedule, 1);
  trace.count = 0;
  CHECK_EQUAL(mltp_init(0), 0);
  for (int i = 0; i < RUNNERS; i++) threads[i] = spawn(leave_traces, &numbers[i]);
  for (int i = 0; i < RUNNERS; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(trace.count, RUNNERS * STEPS);
  for (int i = 1; i < trace.count; i++) parts += trace.runners[i] != trace.runners[i - 1];
  unsetenv("MLTP_SEED");
  unsetenv("MLTP_SCHEDULE");
  return parts;
}

static void a_list_departs_where_it_says(void) {
  CHECK_EQUAL(parts_of("fifo", 2), RUNNERS);
  CHECK_EQUAL(parts_of("40:1", 3), RUNNERS + 1); /* the second begins within the first */
  CHECK_EQUAL(parts_of("40:3", 4), RUNNERS);     /* from 0 on: there are three */
  CHECK_EQUAL(parts_of("40:1,41:1", 5), RUNNERS + 2);
}

static void random_choices_interrupt_often(void) {
  for (int seed = 1; seed <= SEEDS; seed++) CHECK(parts_of("random", seed) > 10 * RUNNERS);
}

/* The thread with the highest priority runs on; where it falls another one does. */
static void priorities_interrupt_as_often_as_the_depth_says(void) {
  int more = 0;
  for (int seed = 1; seed <= SEEDS; seed++) CHECK_EQUAL(parts_of("pct:1:300", seed), RUNNERS);
  for (int seed = 1; seed <= SEEDS; seed++) {
    int parts = parts_of("pct:2:300", seed);
    CHECK(parts == RUNNERS || parts == RUNNERS + 1);
    more += parts - RUNNERS;
  }
  CHECK(more > 0);
  CHECK(more < SEEDS);
  /* a run that is much longer than expected continues at random */
  for (int seed = 1; seed <= SEEDS; seed++) CHECK(parts_of("pct:1:1", seed) > 5 * RUNNERS);
}

static void *yield_until_set(void *flag) {
  while (!__atomic_load_n((int *)flag, __ATOMIC_RELAXED)) mltp_yield();
  return NULL;
}

/* Two of them: when one yields, the other one runs. */
static void set_flag_of_two_that_yield(void) {
  int flag = 0;
  if (mltp_init(0) != 0) _exit(1);
  mltp_t *threads[] = {spawn(yield_until_set, &flag), spawn(yield_until_set, &flag)};
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++)
    if (mltp_join(threads[i], NULL) != 0) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

/* Otherwise a thread of a high priority would wait for one of a lower one forever. */
static void a_thread_that_yields_falls(void) {
  static struct outcome outcome;
  for (int seed = 1; seed <= SEEDS; seed++) {
    char setting[32];
    snprintf(setting, sizeof setting, "MLTP_SEED=%d", seed);
    const char *const settings[] = {setting, "MLTP_SCHEDULE=pct:1:1000000", "MLTP_STEPS_MAX=1000",
                                    NULL};
    check_case("seed %d", seed);
    run_child(&outcome, set_flag_of_two_that_yield, settings);
    CHECK_EQUAL(outcome.status, 0);
    CHECK_TEXT(outcome.said, "");
  }
}

static void *sleep_and_set(void *flag) {
  mltp_sleep(100000);
  __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* Main never gives way: a call of its own is where the sleeper's time comes. */
static void lock_until_set(void) {
  int flag = 0;
  mltp_lock_t lock = MLTP_LOCK_INIT;
  if (mltp_init(0) != 0) _exit(1);
  mltp_t *thread = spawn(sleep_and_set, &flag);
  while (!__atomic_load_n(&flag, __ATOMIC_RELAXED)) {
    mltp_lock(&lock);
    mltp_unlock(&lock);
  }
  if (mltp_join(thread, NULL) != 0) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

static void timers_fire_at_preemptions(void) {
  static const char *const settings[] = {"MLTP_SEED=1", "MLTP_STEPS_MAX=100000", NULL};
  static struct outcome outcome;
  run_child(&outcome, lock_until_set, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK_TEXT(outcome.said, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(each_call_is_a_scheduling_point),
      TEST_BARE(a_list_departs_where_it_says),
      TEST_BARE(random_choices_interrupt_often),
      TEST_BARE(priorities_interrupt_as_often_as_the_depth_says),
      TEST_BARE(a_thread_that_yields_falls),
      TEST_BARE(timers_fire_at_preemptions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

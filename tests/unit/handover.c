/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block the kernel thread without an announcement: the other threads run meanwhile. A
 * scheduler that leaves them behind the blocked one makes these tests hang.
 * And how often the monitor wakes, which the tests read from the runtime. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/life/end.h"
#include "core/sched/wake.h"
#include "core/sched/watchdog.h"
#include "core/vp/vp.h"
#include "support/support.h"

enum { READERS = 12 /* more than there are VPs in any run */, QUIET_US = 100000 };

struct pipe {
  int ends[2];
};

static void *read_one(void *p0) {
  char byte = 0;
  CHECK_EQUAL(read(((struct pipe *)p0)->ends[0], &byte, 1), 1);
  CHECK_EQUAL(byte, 'x');
  return NULL;
}

/* A VP that the monitor has made gets signals, as the others do: a fault while its signal is
 * blocked would end the process without a word. */
static void check_signals(void) {
  sigset_t blocked;
  CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
  for (int signo = 1; signo <= SIGSYS; signo++) CHECK_EQUAL(sigismember(&blocked, signo), 0);
}

static void *write_all(void *p0) {
  check_signals();
  for (int i = 0; i < READERS; i++) CHECK_EQUAL(write(((struct pipe *)p0)[i].ends[1], "x", 1), 1);
  return NULL;
}

/* Every VP is blocked before the thread that ends that has run. */
static void blocked_vps_are_replaced(void) {
  struct pipe pipes[READERS];
  mltp_t *readers[READERS];
  if (seeded()) return; /* there is one VP, and none to take its place */
  for (int i = 0; i < READERS; i++) CHECK_EQUAL(pipe(pipes[i].ends), 0);
  for (int i = 0; i < READERS; i++) readers[i] = spawn(read_one, &pipes[i]);
  mltp_t *writer = spawn(write_all, pipes);
  for (int i = 0; i < READERS; i++) mltp_join(readers[i], NULL);
  mltp_join(writer, NULL);
  for (int i = 0; i < 2 * READERS; i++) close(pipes[i / 2].ends[i % 2]);
}

static void replace_in_child(void) {
  if (mltp_init(0) != 0) _exit(1);
  blocked_vps_are_replaced();
  if (mltp_finalize() != 0) _exit(2);
}

/* Only a VP that cannot be replaced is worth a message. */
static void replaced_vps_are_not_reported(void) {
  static struct outcome outcome;
  static const char *const settings[] = {NULL};
  run_child(&outcome, replace_in_child, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK(strstr(outcome.said, "blocked in the kernel") == NULL);
}

/* ---- a VP whose kernel thread has ended: the monitor may have begun its look before the end of
 * the runtime */

static void *store_number(void *number) {
  *(pid_t *)number = gettid();
  return NULL;
}

/* @return the number of a kernel thread that has ended. */
static pid_t number_of_the_dead(void) {
  pthread_t thread;
  pid_t number = 0;
  char path[64];
  if (pthread_create(&thread, NULL, store_number, &number) != 0) _exit(3);
  pthread_join(thread, NULL);
  snprintf(path, sizeof path, "/proc/self/task/%d", (int)number);
  while (access(path, F_OK) == 0) usleep(1000); /* it leaves after its join */
  return number;
}

/* Its VP stands still until the monitor has looked at it some times. */
static void look_for_the_dead(void) {
  enum { LOOKS = 5 };
  if (mltp_init(0) != 0) _exit(1);
  pid_t dead = number_of_the_dead();
  mltp_yield(); /* the VP counts as awake, also if the monitor caught it while it waited */
  struct mt_vp *here = mt_here();
  pid_t own = mt_load_relaxed(&here->handover.task.tid);
  mt_store_relaxed(&here->handover.task.tid, dead);
  uint64_t until = mt_load_relaxed(&mt_rt.handover.wakeups) + LOOKS;
  while (mt_load_relaxed(&mt_rt.handover.wakeups) < until) continue;
  mt_store_relaxed(&here->handover.task.tid, own);
  if (mltp_finalize() != 0) _exit(2);
}

static void a_kernel_thread_that_has_ended_is_not_reported(void) {
  static struct outcome outcome;
  static const char *const settings[] = {NULL};
  if (seeded() || on_kernel_backend()) return; /* there is no monitor */
  if (THREAD_SANITIZED) skip(); /* the monitor reads the number that the test changes */
  run_child(&outcome, look_for_the_dead, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK_TEXT(outcome.said, "");
}

/* ---- the greatest number of VPs: where one is blocked, there is another all the same */

static void block_one_of_many(void) {
  if (mltp_init(0) != 0) _exit(1);
  uint64_t before = mt_load_relaxed(&mt_rt.handover.count);
  while (mt_load_relaxed(&mt_rt.handover.count) == before) usleep(QUIET_US);
  if (mltp_finalize() != 0) _exit(2);
}

static void a_blocked_vp_of_1024_is_not_reported(void) {
  static struct outcome outcome;
  static const char *const settings[] = {"MLTP_VPS=1024", NULL};
  if (seeded() || on_kernel_backend()) return; /* there is no monitor */
  if (SANITIZED || EMULATED) skip();           /* too many for one */
  run_child(&outcome, block_one_of_many, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK_TEXT(outcome.said, "");
}

static atomic_int flag;

static void *poll_flag(void *p0) {
  while (!atomic_load(&flag)) continue;
  return p0;
}

static void *set_flag(void *p0) {
  atomic_store(&flag, 1);
  return p0;
}

/* Threads that never give way, on each VP; the one that ends that is ready behind them. */
static void spinners_are_joined_by_others(void) {
  mltp_t *threads[READERS];
  setenv("MLTP_SLICE_MS", "20", 1);
  CHECK_EQUAL(mltp_init(0), 0);
  unsetenv("MLTP_SLICE_MS");
  if (!seeded()) {
    atomic_store(&flag, 0);
    for (int i = 0; i < READERS; i++) threads[i] = spawn(poll_flag, NULL);
    mltp_t *last = spawn(set_flag, NULL);
    for (int i = 0; i < READERS; i++) mltp_join(threads[i], NULL);
    mltp_join(last, NULL);
  }
  mltp_finalize();
}

/* VPs that compute beyond their slice let as many be awake, and no more once they have given way.
 * The monitor itself might catch this VP meanwhile, where it waits for a CPU. */
static void company_is_as_large_as_those_that_compute(void) {
  bool spare;
  if (seeded() || on_kernel_backend()) return; /* there is one VP, or none */
  int target = mt_load_relaxed(&mt_rt.idle.target);
  struct mt_vp *self = mt_here();
  CHECK_EQUAL(mt_beside_company(1), 1);
  CHECK(mt_catch(self, mt_load_relaxed(&self->points.tick), true, &spare));
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.company), 1);
  CHECK(!mt_catch(self, mt_load_relaxed(&self->points.tick), true, &spare)); /* it is caught */
  CHECK_EQUAL(mt_beside_company(0), 1);
  CHECK_EQUAL(mt_vps_seen().target, target);
  mt_release(self);
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.company), 0);
  CHECK(mt_catch(self, mt_load_relaxed(&self->points.tick), false, &spare)); /* blocked instead */
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.company), 0);
  mt_release(self);
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.company), 0);
}

/* @return how often a VP has woken up so far. *alone: whether one is awake. */
static uint32_t wakes(bool *alone) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  uint32_t count = mt_rt.sleep.wake_count;
  *alone = mt_load_relaxed(&mt_rt.idle.awake) == 1;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  return count;
}

/* The others sleep before the look, and none of them has woken up after it. */
static void where_all_others_sleep_none_is_awake(void) {
  const struct mt_vp *self, *any, *other;
  bool alone, still;
  uint32_t before;
  if (on_kernel_backend()) return; /* there is none */
  do {
    mltp_yield();
    self = mt_here();
    before = wakes(&alone);
    any = mt_any_awake_but(NULL);
    other = mt_any_awake_but(self);
  } while (wakes(&still) != before || !alone);
  CHECK(any == self);
  CHECK(other == NULL);
}

/* ---- two threads that play ball let the other VPs sleep deeply */

enum { BALLS = 100000 };

struct game {
  mltp_sem_t ping, pong, whistle;
};

static void *return_balls(void *p0) {
  struct game *game = p0;
  for (int i = 0; i < BALLS; i++) {
    mltp_sem_wait(&game->ping);
    mltp_sem_post(&game->pong);
  }
  return NULL;
}

/* Computes until the thread that it has created has run. On its own VP that would be never. */
static void *serve_then_compute(void *p0) {
  struct game *game = p0;
  for (int i = 0; i < BALLS; i++) {
    mltp_sem_post(&game->ping);
    mltp_sem_wait(&game->pong);
  }
  mltp_sem_wait(&game->whistle);
  atomic_store(&flag, 0);
  mltp_t *other = spawn(set_flag, NULL);
  while (!atomic_load(&flag)) continue;
  mltp_join(other, NULL);
  return NULL;
}

static void *whistle_later(void *p0) {
  usleep(QUIET_US);
  mltp_sem_post(p0);
  return NULL;
}

static void sleeping_vps_take_a_lone_thread(void) {
  struct game game = {MLTP_SEM_INIT(0), MLTP_SEM_INIT(0), MLTP_SEM_INIT(0)};
  pthread_t referee;
  if (seeded() || mt_load_relaxed(&mt_rt.idle.target) < 2) return; /* there is one VP, or none */
  mltp_t *players[] = {spawn(serve_then_compute, &game), spawn(return_balls, &game)};
  mltp_join(players[1], NULL);
  CHECK_EQUAL(pthread_create(&referee, NULL, whistle_later, &game.whistle), 0);
  mltp_join(players[0], NULL);
  pthread_join(referee, NULL);
}

/* ---- the end of the runtime */

enum { ENDS = 30 };

static atomic_int spins_on; /* the spinner's VP; -1: it has not started */

static void *poll_flag_there(void *unused) {
  atomic_store(&spins_on, mltp_vp());
  return poll_flag(unused);
}

/* Main leaves another VP for VP 0, which is caught: it computed in one thread until just now. */
static void main_goes_home_to_a_caught_vp(void) {
  setenv("MLTP_SLICE_MS", "20", 1);
  for (int i = 0; i < ENDS; i++) {
    bool spare;
    CHECK_EQUAL(mltp_init(2), 0);
    if (!mt_load_relaxed(&mt_rt.handover.runs)) { /* no VP is ever caught */
      mltp_finalize();
      break;
    }
    atomic_store(&flag, 0);
    atomic_store(&spins_on, -1);
    mltp_t *spinner = spawn(poll_flag_there, NULL);
    /* until another VP takes main from behind the spinner, or has taken the spinner */
    while (mltp_vp() == 0 && atomic_load(&spins_on) <= 0) mltp_yield();
    struct mt_vp *home = mt_rt.vps[0];
    if (mltp_vp() != 0) mt_catch(home, mt_load_relaxed(&home->points.tick), true, &spare);
    CHECK_EQUAL(mltp_detach(spinner), 0);
    atomic_store(&flag, 1);
    while (mt_live() != 1) continue; /* its VP is still on the way to its next look */
    mltp_finalize();
  }
  unsetenv("MLTP_SLICE_MS");
}

/* ---- the monitor sleeps while nothing is wrong */

enum {
  WINDOW_NS = 500000000,
  WINDOWS = 10,
  FAIR_WAKEUPS = 10, /* in that time, */
  LOST_NS = 5000000  /* and one for so much time that VPs waited for a CPU: they seem silent */
};

static uint64_t wakeups(void) { return mt_load_relaxed(&mt_rt.handover.wakeups); }

static bool all_asleep(void) {
  return mt_load_relaxed(&mt_rt.handover.rests) && mt_load_relaxed(&mt_rt.idle.awake) <= 0;
}

static void *count_asleep(void *p0) {
  uint64_t before, woken = 1;
  /* A VP that waits for a CPU on its way to sleep seems silent, so a window may have a wake-up. */
  for (int i = 0; i < WINDOWS && woken != 0; i++) {
    while (!all_asleep()) usleep(1000);
    before = wakeups();
    usleep(WINDOW_NS / 1000);
    woken = wakeups() - before;
  }
  CHECK(all_asleep());
  CHECK_EQUAL(woken, 0);
  mltp_sem_post(p0);
  return NULL;
}

/* Main sleeps while another kernel thread looks, which is none of the library's before it posts. */
static void sleep_while(void *(*looks)(void *)) {
  mltp_sem_t looked;
  pthread_t looker;
  if (!mt_load_relaxed(&mt_rt.handover.runs)) return; /* deterministic mode, kernel threads */
  mltp_sem_init(&looked, 0, NULL);
  CHECK_EQUAL(pthread_create(&looker, NULL, looks, &looked), 0);
  uint64_t limit = mltp_after(3600000000000u); /* with a timer it is no deadlock */
  CHECK_EQUAL(mltp_sem_wait_timed(&looked, limit), 0);
  pthread_join(looker, NULL);
  mltp_sem_destroy(&looked);
}

static void sleeping_vps_leave_it_asleep(void) { sleep_while(count_asleep); }

/* Whether each of the looks by which a deadlock is found says that all VPs rest. */
static bool looks_say_rest(void) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_rt.sleep.checked_at = mt_rt.sleep.noted_at = mt_rt.sleep.wake_count;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  bool still = mt_vps_still_rest(), note = mt_vps_note_rest(), noted = mt_vps_rest_as_noted();
  CHECK(still == note && note == noted);
  return still;
}

static void *look_while_carried(void *p0) {
  while (!all_asleep() || !looks_say_rest()) usleep(1000);
  mt_store_seq_cst(&mt_rt.handover.carries, true); /* as the monitor: HO-4 HO-6 */
  CHECK(!looks_say_rest());
  CHECK_EQUAL(mt_rest_mark(), 0);
  mt_store_seq_cst(&mt_rt.handover.carries, false);
  CHECK(looks_say_rest());
  mltp_sem_post(p0);
  return NULL;
}

/* All VPs may sleep while the monitor has the threads of one that was blocked: the monitor wakes
 * one for them, and it is no deadlock. */
static void threads_on_the_way_are_no_deadlock(void) { sleep_while(look_while_carried); }

/* @return how long VPs have waited for a CPU so far; -1: this kernel does not say. */
static int64_t lost_ns(void) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < mt_load_acquire(&mt_rt.vp_count); i++) {
    char path[64];
    long long ran, lost;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat",
             (int)mt_load_acquire(&mt_rt.vps[i]->handover.task.tid));
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    int fields = fscanf(file, "%lld %lld", &ran, &lost);
    fclose(file);
    if (fields != 2) return -1;
    sum += lost;
  }
  return sum;
}

static void *yield_until(void *p0) {
  while (mltp_now() < *(const uint64_t *)p0) mltp_yield();
  return NULL;
}

/* Runs threads that yield. @return whether there were as few wake-ups as there should be. */
static bool few_while_yielding(void) {
  mltp_t *threads[READERS];
  int64_t lost = lost_ns();
  uint64_t before = wakeups(), end = mltp_after(WINDOW_NS);
  for (int i = 0; i < READERS; i++) threads[i] = spawn(yield_until, &end);
  for (int i = 0; i < READERS; i++) mltp_join(threads[i], NULL);
  uint64_t woken = wakeups() - before;
  lost = lost_ns() - lost;
  check_case("%d ms lost, %d wake-ups", (int)(lost / 1000000), (int)woken);
  return woken <= FAIR_WAKEUPS + (uint64_t)lost / LOST_NS;
}

/* Not all time that a VP loses is known: another machine may have the CPU. So some windows may
 * fail. */
static void yielding_vps_leave_it_asleep(void) {
  bool few = false;
  if (!mt_load_relaxed(&mt_rt.handover.runs) || lost_ns() < 0) return;
  for (int i = 0; i < WINDOWS && !few; i++) few = few_while_yielding();
  CHECK(few);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sleeping_vps_leave_it_asleep),
      TEST(threads_on_the_way_are_no_deadlock),
      TEST(yielding_vps_leave_it_asleep),
      TEST(blocked_vps_are_replaced),
      TEST_BARE(spinners_are_joined_by_others),
      TEST_BARE(main_goes_home_to_a_caught_vp),
      TEST_UNMONITORED(company_is_as_large_as_those_that_compute),
      TEST_UNMONITORED(where_all_others_sleep_none_is_awake),
      TEST(sleeping_vps_take_a_lone_thread),
      TEST_BARE(replaced_vps_are_not_reported),
      TEST_BARE(a_kernel_thread_that_has_ended_is_not_reported),
      TEST_BARE(a_blocked_vp_of_1024_is_not_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

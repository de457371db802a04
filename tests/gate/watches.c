/* SPDX-License-Identifier: Apache-2.0 */
/* A watch of the monitor from its start to its end, and the kernel thread that does it
 * (watched.h). */
#include "watched.h"

/* ---- the watch */

static void nobody_is_ready_at_the_fifth(void) {
  kernel.cpu_ns[0] += seen.naps[seen.nap_count - 1];
  if (seen.nap_count == 5) gt_gate.queue.first = NULL;
}

static void nobody_is_ready_at_the_second(void) {
  if (seen.nap_count == 2) gt_gate.queue.first = NULL;
}

static void a_thread_computes_alone(void) {
  begin(1, true);
  gt_gate.permits = 1;
  gt_gate.turns = 0;
  kernel.state[0] = OS_TASK_RUNS;
  kernel.cpu_ns[0] = (uint64_t)100 * MS;
  begun = (struct times){.tids = {FIRST}, .count = 1}; /* of an earlier watch */
  seen.meanwhile = nobody_is_ready_at_the_fifth;
  watch(&gt_me);
  static const int ticks_ms[] = {2, 2, 2, 4, 2};
  EQUAL(seen.nap_count, 5);
  for (int i = 0; i < 5; i++) EQUAL(seen.naps[i], ticks_ms[i] * MS);
  EQUAL(seen.client_looks, 5);
  EQUAL(seen.looks_aside, 5);
  EQUAL(seen.passed, 2 * MS); /* since the look before */
  EQUAL(watching, RESTS);
  EQUAL(seen.caught_count, 0);
  CHECK(gt_gate.due);
}

static void a_thread_sleeps(void) {
  begin(1, true);
  gt_gate.turns = 0;
  kernel.state[0] = OS_TASK_SLEEPS;
  seen.meanwhile = nobody_is_ready_at_the_second;
  watch(&gt_me);
  EQUAL(seen.nap_count, 2);
  EQUAL(seen.caught_count, 1);
  EQUAL(gt_gate.extra, 0);
  EQUAL(seen.messages, 0);
}

/* A seeded run: what the monitor does then comes after a time, and no seed says when. */
static void a_thread_sleeps_at_the_twelfth(void) {
  if (seen.nap_count == 12) kernel.state[0] = OS_TASK_SLEEPS;
  if (seen.nap_count == 12) EQUAL(seen.states_read, 2); /* at the first tick and ten later */
  if (seen.nap_count == 22) gt_gate.queue.first = NULL;
  if (seen.nap_count == 22) EQUAL(seen.messages, 1);
}

static void a_thread_sleeps_in_a_seeded_run(void) {
  begin(1, true);
  gt_gate.turns = 0;
  gt_seeded = true;
  kernel.state[0] = OS_TASK_RUNS;
  seen.meanwhile = a_thread_sleeps_at_the_twelfth;
  CHECK(!catch_blocked(&gt_me));
  EQUAL(seen.messages, 0);
  seen.states_read = 0;
  watch(&gt_me);
  EQUAL(seen.nap_count, 22);
  EQUAL(seen.caught_count, 1);
  EQUAL(gt_gate.extra, 0);
}

static void all_threads_starve(void) {
  seen.now += (uint64_t)10000 * MS; /* without a CPU */
  if (seen.nap_count == 2) gt_gate.queue.first = NULL;
}

static void the_slice_ends(void) {
  begin(1, true);
  gt_gate.turns = 0;
  kernel.state[0] = OS_TASK_RUNS;
  seen.meanwhile = all_threads_starve;
  watch(&gt_me);
  EQUAL(gt_gate.extra, 1);
  EQUAL(seen.nap_count, 2);
}

/* A seeded run: at each tenth tick it looks for threads that sleep, and then whether a slice is
 * over. */
static void ends_after_twelve(void) {
  seen.cpu_ns += (uint64_t)200 * MS;
  if (seen.nap_count == 12) gt_gate.queue.first = NULL;
}

static void a_seeded_run_is_looked_at_seldom(void) {
  begin(1, true);
  gt_gate.turns = 0;
  gt_seeded = true;
  kernel.state[0] = OS_TASK_RUNS;
  seen.meanwhile = ends_after_twelve;
  watch(&gt_me);
  EQUAL(seen.nap_count, 12);
  for (int i = 0; i < 12; i++) EQUAL(seen.naps[i], 2 * MS);
  EQUAL(gt_gate.extra, 2); /* at the first tick and ten later */
  EQUAL(seen.states_read, 2);
}

/* ---- the thread itself */

static void someone_wants_a_watch(void) { watching = WATCHES; }

static void it_waits_for_its_duty(void) {
  begin(1, true);
  await_duty(&gt_me);
  EQUAL(seen.waits, 0);
  watching = RESTS;
  seen.meanwhile = someone_wants_a_watch;
  await_duty(&gt_me);
  EQUAL(seen.waits, 1);
  EQUAL(seen.duty, RESTS);
  CHECK(!seen.has_until);
  watching = STANDS_ASIDE;
  aside_until = (uint64_t)7 * 1000 * MS + 5;
  await_duty(&gt_me);
  EQUAL(seen.waits, 3);
  EQUAL(seen.until_then.tv_sec, 7);
  EQUAL(seen.until_then.tv_nsec, 5);
  EQUAL(seen.asides_ended, 1);
  EQUAL(seen.duty, RESTS);
  end_aside(&gt_me); /* a thread became ready meanwhile */
  EQUAL(watching, WATCHES);
}

static void the_last_thread_ends(void) {
  gt_gate.queue.first = NULL;
  if (gt_gate.threads > 0) gt_gate.threads--;
  watching = WATCHES;
}

/* It takes the mask of the last thread: the program's handlers of atexit() may run on it. */
static int note_last_mask(int how, const sigset_t *set, sigset_t *old) {
  EQUAL(how, SIG_SETMASK);
  CHECK(sigismember(set, SIGUSR1) == 1 && sigismember(set, SIGTERM) == 0 && old == NULL);
  seen.masks++;
  return 0;
}

static void it_ends_with_the_last_thread(void) {
  begin(1, true);
  gt_next.set_mask = note_last_mask;
  sigemptyset(&last_mask);
  sigaddset(&last_mask, SIGUSR1);
  gt_gate.threads = 2;
  watching = RESTS;
  seen.meanwhile = the_last_thread_ends;
  CHECK(monitor(&seen) == &seen);
  EQUAL(seen.waits, 1);
  EQUAL(seen.locks, 0);
  EQUAL(gt_gate.threads, 0);
  EQUAL(gt_me.state, GT_ENDED);
  EQUAL(seen.masks, 1);
}

static int note_mask(int how, const sigset_t *set, sigset_t *old) {
  static const sigset_t none;
  EQUAL(how, SIG_SETMASK);
  if (set == NULL) { /* of the thread that ends */
    sigemptyset(old);
    sigaddset(old, SIGUSR2);
    return 0;
  }
  if (seen.masks++ == 0) {
    CHECK(sigismember(set, SIGTERM) == 1 && sigismember(set, SIGUSR1) == 1 && old != NULL);
    *old = none;
    seen.all_blocked = true;
  } else {
    CHECK(sigismember(set, SIGTERM) == 0 && old == NULL);
    seen.all_blocked = false;
  }
  return 0;
}

static int note_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                       void *arg) {
  int state;
  pthread_attr_getdetachstate(attr, &state);
  CHECK(state == PTHREAD_CREATE_DETACHED && func == monitor && arg == NULL && seen.all_blocked &&
        thread != NULL);
  seen.creates++;
  return seen.create_error;
}

static void it_starts_when_it_is_wanted_first(void) {
  begin(1, true);
  gt_next.create = note_create;
  gt_next.set_mask = note_mask;
  watching = RESTS;
  CHECK(!gt_monitor_take());
  gt_monitor_end(); /* it has not started */
  EQUAL(watching, RESTS);
  mt_options.monitor = 0;
  gt_monitor_watch();
  EQUAL(watching, RESTS);
  mt_options.monitor = 1;
  gt_monitor_watch();
  EQUAL(watching, WATCHES);
  EQUAL(seen.watches, 1);
  CHECK(gt_monitor_take() && !gt_monitor_take());
  gt_monitor_watch(); /* it watches */
  CHECK(!gt_monitor_take());
  seen.create_error = EAGAIN;
  gt_monitor_wake();
  CHECK(!started && !seen.all_blocked);
  EQUAL(watching, RESTS);
  gt_monitor_watch();
  seen.create_error = seen.masks = 0;
  gt_monitor_wake();
  CHECK(started && !seen.all_blocked);
  EQUAL(watching, WATCHES);
  EQUAL(seen.wakes, 0);
  gt_monitor_wake();
  EQUAL(seen.wakes, 1);
  EQUAL(seen.creates, 2);
  watching = RESTS;
  gt_monitor_end();
  EQUAL(watching, WATCHES);
  CHECK(wanted && sigismember(&last_mask, SIGUSR2) == 1 && sigismember(&last_mask, SIGTERM) == 0);
  gt_monitor_forget();
  CHECK(!started && !wanted && watching == RESTS);
}

int main(void) {
  a_thread_computes_alone();
  a_thread_sleeps();
  a_thread_sleeps_in_a_seeded_run();
  the_slice_ends();
  a_seeded_run_is_looked_at_seldom();
  it_waits_for_its_duty();
  it_ends_with_the_last_thread();
  it_starts_when_it_is_wanted_first();
}

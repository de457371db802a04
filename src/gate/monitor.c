/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: a kernel thread that looks, while threads are ready, whether those with permits make
 * progress. It sleeps while none is ready, and starts when that happens first.
 *
 * A tick in which no permit changed hands: a thread with a permit that sleeps in the kernel is
 * caught, and its permit goes to the next. If all of them run on for a slice, one thread more
 * runs beside them, and the kernel shares the CPUs, so a thread that spins until another stores a
 * word does not wait forever. At its next call through the gate a thread gives way again.
 *
 * It ends with the last thread of the program: libc ends a process when its last thread does.
 *
 * Relaxed: the watch is only a hint, rechecked under gt_lock.
 */
#include <signal.h>

#include "base/log.h"
#include "gate/lot.h"
#include "gate/next.h"
#include "gate/seed.h"
#include "gate/wait.h"
#include "os/os.h"

enum {
  TICK_NS = 2000000,
  SLICE_TICKS = 5,
  SEEDED_TICKS = 10,
  SEEDED_NS = 100000000,
  LOOKED_AT = 64
};

static uint32_t watching; /* [atomic] futex: 1: the monitor is to watch */
static bool wanted;       /* [lock] it must be woken, or started */
static bool started;      /* [owner] of the last gt_monitor_take() */

void gt_monitor_watch(void) {
  if (mt_load_relaxed(&watching) != 0) return;
  mt_store_relaxed(&watching, 1);
  wanted = true;
}

void gt_monitor_end(void) {
  if (started) gt_monitor_watch();
}

bool gt_monitor_take(void) {
  bool was = wanted;
  wanted = false;
  return was;
}

/* Finds threads that sleep in the kernel. Files are read without the lock. */
static int find_asleep(struct gt_thread *me, pid_t asleep[LOOKED_AT]) {
  pid_t tids[LOOKED_AT];
  int count = 0, found = 0;
  gt_lock(me);
  for (struct gt_thread *t = gt_gate.all; t != NULL && count < LOOKED_AT; t = t->later)
    if (t->state == GT_RUNS) tids[count++] = t->tid;
  gt_unlock(me);
  for (int i = 0; i < count; i++)
    if (os_task_state(&(struct os_task){.tid = tids[i]}) == OS_TASK_SLEEPS)
      asleep[found++] = tids[i];
  return found;
}

static bool is_among(pid_t tid, const pid_t *tids, int count) {
  for (int i = 0; i < count; i++)
    if (tids[i] == tid) return true;
  return false;
}

/* What the monitor does comes after a time, and no seed says when. */
static void warn_of_replay(const char *why) {
  static bool warned;
  if (gt_seeded && !warned) mt_message("%s: this run may not replay", why);
  warned = true;
}

/* @return whether one was caught. */
static bool catch_blocked(struct gt_thread *me) {
  pid_t asleep[LOOKED_AT];
  gt_lock(me);
  uint64_t turns = gt_gate.turns;
  gt_unlock(me);
  int count = find_asleep(me, asleep), caught = 0;
  gt_lock(me);
  for (struct gt_thread *t = gt_gate.all; t != NULL && turns == gt_gate.turns; t = t->later) {
    if (t->state != GT_RUNS || !t->counted || !is_among(t->tid, asleep, count)) continue;
    t->state = GT_CAUGHT;
    gt_gate.running--;
    gt_gate.caught++;
    caught++;
  }
  if (caught > 0) gt_grant();
  gt_unlock(me);
  if (caught > 0) warn_of_replay("a thread waits in a call that is none of the gate's");
  return caught > 0;
}

/* One thread more runs, until a running thread gives way. */
static void let_one_more_run(struct gt_thread *me) {
  gt_lock(me);
  if (gt_gate.queue.first != NULL) gt_gate.extra++;
  gt_grant();
  gt_unlock(me);
  warn_of_replay("a thread runs for long without a call that can switch");
}

/* What has to pass without a turn, in ticks: before a thread that sleeps is caught, and before
 * one more runs. A seeded run waits for a hundred milliseconds of CPU time instead, since a loaded
 * machine may not run the thread. */
static bool is_stalled(int ticks, uint64_t cpu_since) {
  return gt_seeded ? os_cpu_time() - cpu_since > SEEDED_NS : ticks >= SLICE_TICKS;
}

/* Watches until no thread is ready. */
static void watch(struct gt_thread *me) {
  uint64_t turns = 0, cpu_since = os_cpu_time();
  int stalled = 0;
  for (bool on = true; on;) {
    os_nap(TICK_NS);
    mt_client_look(os_now());
    gt_lock(me);
    stalled = turns == gt_gate.turns ? stalled + 1 : 0;
    turns = gt_gate.turns;
    on = gt_gate.queue.first != NULL;
    if (!on) mt_store_relaxed(&watching, 0);
    if (on && stalled == 0) gt_grant(); /* the daemon's grant may have grown */
    gt_unlock(me);
    if (stalled == 0) cpu_since = os_cpu_time();
    if (!on || stalled < (gt_seeded ? SEEDED_TICKS : 1)) continue;
    if (catch_blocked(me) || !is_stalled(stalled, cpu_since)) continue;
    stalled = 0;
    cpu_since = os_cpu_time();
    let_one_more_run(me);
  }
}

/* Ends after the last thread of the program, whose end asks for a watch. */
static void *monitor(void *unused) {
  struct gt_thread *me = &gt_me;
  me->state = GT_ENDED;
  do {
    while (mt_load_relaxed(&watching) == 0) gt_futex_wait(&watching, 0, CLOCK_MONOTONIC, NULL);
    watch(me);
  } while (mt_load_relaxed(&gt_gate.threads) > 0);
  return unused;
}

static void start(void) {
  sigset_t all, old;
  pthread_attr_t attr;
  pthread_t thread;
  sigfillset(&all);
  gt_next.set_mask(SIG_SETMASK, &all, &old);
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  started = gt_next.create(&thread, &attr, monitor, NULL) == 0;
  pthread_attr_destroy(&attr);
  gt_next.set_mask(SIG_SETMASK, &old, NULL);
  if (!started) mt_store_relaxed(&watching, 0); /* the next ready thread tries again */
}

void gt_monitor_wake(void) {
  if (started)
    os_futex_wake(&watching, 1);
  else
    start();
}

void gt_monitor_forget(void) {
  started = wanted = false;
  watching = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: a kernel thread that looks, while threads are ready, whether those with permits make
 * progress. It sleeps while none is ready, and starts when that happens first.
 *
 * A tick in which no permit changed hands: a thread with a permit that sleeps in the kernel is
 * caught, and its permit goes to the next. If all of them run on, the first that makes a call gives
 * way. If none does for a slice, one thread more runs beside them, and the kernel shares the CPUs,
 * so a thread that spins until another stores a word does not wait forever. That thread gives way
 * again at a call through the gate, when it has had some CPU time for what the other may need.
 * Where threads spin again and again, slices are short, and all threads run that are ready.
 *
 * A thread runs on when it has had the CPU. One that waits for a CPU, since other programs have
 * them, neither spins nor computes for long, and more threads would only wait beside it. So these
 * times are CPU times of the thread that has had the most.
 *
 * It ends with the last thread of the program: libc ends a process when its last thread does. So
 * the program's handlers of atexit() may run here, with the signal mask of its last thread.
 *
 * Relaxed: the watch is only a hint, rechecked under gt_lock.
 */
#include <signal.h>

#include "base/log.h"
#include "base/options.h"
#include "gate/aside.h"
#include "gate/lot.h"
#include "gate/next.h"
#include "gate/seed.h"
#include "gate/step.h"
#include "gate/wait.h"
#include "os/os.h"

enum {
  TICK_NS = 2000000,
  CALM_MOST = 2, /* looks in a row that found nothing to catch: each doubles the tick */
  ASK_NS = 8000000,
  ASK_LEAST_NS = 500000,
  SLICE_NS = 10000000,
  SEEDED_TICKS = 10,
  SEEDED_NS = 100000000,
  STEPPED = 100, /* times as slow is a program in single steps */
  STARVED = 100, /* times as long waits a thread that has no CPU, until others run for it */
  LOOKED_AT = 64,
  STAYED = 2 /* turns of others */
};

/* What the monitor does. RESTS: no thread is ready. STANDS_ASIDE: all have permits, for a time. */
enum duty { RESTS, WATCHES, STANDS_ASIDE };

static uint64_t ask_ns = ASK_NS; /* [monitor] without a turn, before a call is asked to give way */
static uint32_t watching;        /* [atomic] futex: enum duty; written under lock */
static uint64_t aside_until;     /* [monitor] */
static bool wanted;              /* [lock] it must be woken, or started */
static bool started;             /* [owner] of the last gt_monitor_take() */
static sigset_t last_mask;       /* [lock] of the thread that has ended last */

void gt_monitor_watch(void) {
  if (mt_load_relaxed(&watching) == WATCHES || mt_options.monitor == 0) return;
  mt_store_relaxed(&watching, WATCHES);
  gt_aside_watch();
  wanted = true;
}

void gt_monitor_end(void) {
  if (!started) return;
  gt_next.set_mask(SIG_SETMASK, NULL, &last_mask);
  gt_monitor_watch();
}

bool gt_monitor_take(void) {
  bool was = wanted;
  wanted = false;
  return was;
}

/* A thread that has got its permit sleeps until its waker, which may wait for a CPU, wakes it. In a
 * seeded run nobody else may run instead. Under gt_lock. */
static bool may_look_asleep(const struct gt_thread *t) {
  return gt_seeded && mt_load_relaxed(&t->away) != 0;
}

static int collect(struct gt_thread *me, struct gt_thread *const *list, pid_t tids[LOOKED_AT]) {
  int count = 0;
  gt_lock(me);
  for (struct gt_thread *t = *list; t != NULL && count < LOOKED_AT; t = t->after)
    if (!may_look_asleep(t)) tids[count++] = t->tid;
  gt_unlock(me);
  return count;
}

/* CPU time of the threads that had permits at a look. */
struct times {
  pid_t tids[LOOKED_AT];
  uint64_t cpu_ns[LOOKED_AT];
  int count;
  uint64_t at;
};

static struct times last;   /* [monitor] at the last look for threads that sleep */
static struct times ticked; /* [monitor] at the last tick */
static struct times begun;  /* [monitor] when the stall began */
static bool all_have_run;   /* [monitor] at the last look for threads that sleep */
static int calm;            /* [monitor] looks in a row that found nothing to catch */

static void read_times(struct gt_thread *me, struct times *now) {
  now->at = os_now();
  now->count = collect(me, &gt_gate.runs, now->tids);
  for (int i = 0; i < now->count; i++) {
    struct os_task task = os_task_of(now->tids[i]);
    now->cpu_ns[i] = os_task_cpu_time(&task);
  }
}

/* @return the CPU time of thread i since another look; less than 0: it had no permit then. */
static int64_t gained(const struct times *now, int i, const struct times *before) {
  for (int j = 0; j < before->count; j++)
    if (before->tids[j] == now->tids[i]) return (int64_t)(now->cpu_ns[i] - before->cpu_ns[j]);
  return -1;
}

/* A thread that has had a CPU for most of the time since the last look is not asleep. Its clock
 * takes a thirtieth of the time that its file takes, and threads that compute for long are looked
 * at every 2 ms. */
static bool has_run(const struct times *now, int i) {
  return gained(now, i, &last) > (int64_t)(now->at - last.at) / 2;
}

/* Finds threads that sleep in the kernel. Files are read without the lock. */
static int find_asleep(struct gt_thread *me, pid_t asleep[LOOKED_AT]) {
  struct times now;
  int found = 0;
  read_times(me, &now);
  all_have_run = true;
  for (int i = 0; i < now.count; i++) {
    if (has_run(&now, i)) continue;
    all_have_run = false;
    struct os_task task = os_task_of(now.tids[i]);
    if (os_task_state(&task) == OS_TASK_SLEEPS) asleep[found++] = task.tid;
  }
  last = now;
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
  if (!gt_seeded || warned) return;
  mt_message("%s: this run may not replay", why);
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
  for (struct gt_thread *t = gt_gate.runs, *next; t != NULL && turns == gt_gate.turns; t = next) {
    next = t->after;
    if (!t->counted || !is_among(t->tid, asleep, count)) continue;
    gt_catch(t);
    caught++;
  }
  if (caught > 0) gt_grant();
  gt_unlock(me);
  if (caught > 0) warn_of_replay("a thread waits in a call that is none of the gate's");
  return caught > 0;
}

/* What has passed since a permit changed hands. */
struct stall {
  uint64_t turns, since, cpu_since;
  uint64_t ran_ns;    /* CPU time of the thread that has had the most of those with permits */
  uint64_t looked_at; /* when the monitor last looked for threads that sleep */
  bool asked;         /* the monitor has done something about it */
  bool alone;         /* there is one permit, and it stayed */
};

/* Under gt_lock. */
static void begin_stall(struct stall *stall, uint64_t now) {
  *stall = (struct stall){.turns = gt_gate.turns, .since = now, .looked_at = now};
  if (gt_seeded)
    stall->cpu_since = os_cpu_time(); /* the kernel adds up all threads for it */
  else
    begun = ticked;
}

/* Without a turn the threads that have permits stay the same. */
static uint64_t ran_since_begun(struct gt_thread *me) {
  int64_t most = 0;
  read_times(me, &ticked);
  for (int i = 0; i < ticked.count; i++) {
    int64_t ran = gained(&ticked, i, &begun);
    if (ran > most) most = ran;
    if (ran >= 0) continue;
    begun = ticked; /* there was a turn since the last tick */
    return 0;
  }
  return (uint64_t)most;
}

/* For how long threads have kept their permits. */
static uint64_t kept_ns(const struct stall *stall, uint64_t now) {
  uint64_t starved = (now - stall->since) / STARVED;
  return stall->ran_ns > starved ? stall->ran_ns : starved;
}

/* @return whether threads spin for one another again and again. [monitor] */
static bool all_spin(void) { return ask_ns < ASK_NS / 4; }

/* What has to pass without a turn before others run, too: less if a thread that spins has the only
 * permit. */
static uint64_t slice_ns(const struct stall *stall) {
  return stall->alone && all_spin() ? ask_ns : SLICE_NS;
}

/* A seeded run waits for CPU time, since a loaded machine may not run the thread. */
static bool is_over(const struct stall *stall, uint64_t now) {
  uint64_t seeded = gt_step_is_on() ? (uint64_t)STEPPED * SEEDED_NS : SEEDED_NS;
  if (gt_seeded) return os_cpu_time() - stall->cpu_since > seeded;
  return kept_ns(stall, now) >= slice_ns(stall);
}

/* @return whether a thread has kept its permit while others gave way. Under gt_lock. */
static bool one_stays(void) {
  for (const struct gt_thread *t = gt_gate.runs; t != NULL; t = t->after)
    if (t->counted && gt_gate.turns - t->turn >= STAYED) return true;
  return false;
}

/* @return whether a thread that was caught runs again, without a call that would tell. */
static bool one_came_back(struct gt_thread *me) {
  pid_t tids[LOOKED_AT];
  int count = collect(me, &gt_gate.stray, tids);
  for (int i = 0; i < count; i++)
    if (os_task_state(&(struct os_task){.tid = tids[i]}) == OS_TASK_RUNS) return true;
  return false;
}

/* A thread that makes no call while others take turns may spin until all of them have had theirs,
 * so their turns become shorter; so does one that leaves its permit as soon as others have run
 * beside it (gt_gate.helped). Where all make calls, long turns cost less. */
static void adapt(bool spins) {
  ask_ns = spins ? ask_ns / 2 : ask_ns + ask_ns / 2;
  if (ask_ns < ASK_LEAST_NS) ask_ns = ASK_LEAST_NS;
  if (ask_ns > ASK_NS) ask_ns = ASK_NS;
}

/* Under gt_lock. */
static void stand_aside(uint64_t now, uint64_t until) {
  aside_until = until;
  mt_store_relaxed(&watching, STANDS_ASIDE);
  gt_aside_begin(now);
}

static void end_aside(struct gt_thread *me) {
  gt_lock(me);
  gt_aside_end();
  if (mt_load_relaxed(&watching) == STANDS_ASIDE) mt_store_relaxed(&watching, RESTS);
  gt_unlock(me);
}

/* passed: since the last look. @return whether the watch continues: threads are still ready. */
static bool look(struct gt_thread *me, struct stall *stall, uint64_t now, uint64_t passed) {
  gt_lock(me);
  bool on = gt_gate.queue.first != NULL, turned = stall->turns != gt_gate.turns;
  bool asked = turned && stall->asked, stays = asked && one_stays(), helped = gt_gate.helped;
  gt_gate.helped = false;
  gt_gate.helped_at = 0;
  if (!on) mt_store_relaxed(&watching, RESTS);
  gt_count_early();
  if (on && turned) gt_grant(); /* the daemon's grant may have grown */
  uint64_t aside = gt_aside_look(passed);
  if (aside > 0) stand_aside(now, now + aside);
  calm = !turned && !all_have_run ? 0 : calm < CALM_MOST ? calm + 1 : CALM_MOST;
  if (turned) begin_stall(stall, now);
  if (on && !gt_seeded && kept_ns(stall, now) >= ask_ns) gt_gate.due = stall->asked = true;
  stall->alone = gt_gate.permits == 1;
  gt_unlock(me);
  if (asked || helped) adapt(helped || stays || one_came_back(me));
  return on && aside == 0;
}

/* One thread more runs, or all of them, until they give way. If others have come and gone
 * meanwhile one by one, all turns are given here: look() sees none. */
static void let_others_run(struct gt_thread *me, struct stall *stall, uint64_t now) {
  gt_lock(me);
  bool stays = stall->asked && one_stays();
  if (gt_gate.queue.first != NULL) gt_gate.extra += all_spin() ? gt_gate.ready : 1;
  if (gt_gate.queue.first != NULL && !gt_seeded) {
    gt_gate.helped_at = now;
    gt_gate.helped_turn = gt_gate.turns;
  }
  gt_grant();
  begin_stall(stall, now);
  stall->asked = true;
  gt_unlock(me);
  if (stays) adapt(true);
  warn_of_replay("a thread runs for long without a call that can switch");
}

/* Each look takes a CPU from a thread of the program. Threads that spin have short turns. A long
 * tick ends when a thread has to be asked, or one more may run. */
static uint64_t tick_ns(const struct stall *stall, uint64_t now) {
  if (ask_ns < ASK_NS) return ask_ns < TICK_NS ? ask_ns : TICK_NS;
  uint64_t tick = (uint64_t)TICK_NS << (gt_seeded ? 0 : calm);
  uint64_t passed = kept_ns(stall, now), end = stall->asked ? SLICE_NS : ASK_NS;
  return passed < end && tick > end - passed ? end - passed : tick;
}

/* Watches until no thread is ready. */
static void watch(struct gt_thread *me) {
  uint64_t now = os_now(), before;
  struct stall stall = {.since = now};
  begun.count = 0;
  for (;;) {
    before = now;
    os_nap(tick_ns(&stall, now));
    now = os_now();
    mt_client_look(now);
    if (!gt_seeded) stall.ran_ns = ran_since_begun(me);
    if (!look(me, &stall, now, now - before)) break;
    bool looks = now - stall.looked_at >= (gt_seeded ? SEEDED_TICKS * TICK_NS : TICK_NS);
    if (looks) stall.looked_at = now;
    if ((looks && catch_blocked(me)) || (gt_seeded && !looks)) continue;
    if (is_over(&stall, now)) let_others_run(me, &stall, now);
  }
}

/* Waits until threads are ready. */
static void await_duty(struct gt_thread *me) {
  for (;;) {
    uint32_t duty = mt_load_relaxed(&watching);
    if (duty == WATCHES) return;
    struct timespec until = {(time_t)(aside_until / 1000000000), (long)(aside_until % 1000000000)};
    int error =
        gt_futex_wait(&watching, duty, CLOCK_MONOTONIC, duty == STANDS_ASIDE ? &until : NULL);
    if (error == ETIMEDOUT) end_aside(me);
  }
}

static void take_last_mask(struct gt_thread *me) {
  gt_lock(me);
  sigset_t mask = last_mask;
  gt_unlock(me);
  gt_next.set_mask(SIG_SETMASK, &mask, NULL);
}

/* Ends after the last thread of the program, whose end asks for a watch. */
static void *monitor(void *unused) {
  struct gt_thread *me = &gt_me;
  me->state = GT_ENDED;
  do {
    await_duty(me);
    watch(me);
  } while (mt_load_relaxed(&gt_gate.threads) > 0);
  take_last_mask(me);
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
  if (!started) mt_store_relaxed(&watching, RESTS); /* the next ready thread tries again */
}

void gt_monitor_wake(void) {
  if (started)
    os_futex_wake(&watching, 1);
  else
    start();
}

void gt_monitor_forget(void) {
  started = wanted = false;
  watching = RESTS;
}

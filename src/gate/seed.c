/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices of seeded runs. All of it happens under gt_lock, by the one thread that runs.
 *
 * Random, PCT and lists are those of sched/det_choose.c.
 *
 * Relaxed: attend only says that the calls come here.
 */
#include "gate/seed.h"

#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/schedule.h"
#include "gate/next.h"
#include "gate/report.h"
#include "gate/wait.h"
#include "os/os.h"

enum {
  STEP_NS = 1000, /* what the clock gains at each choice */
  START_S = 1000, /* so that "a while ago" is a time, too */
  EPOCH_S = 1700000000,
  MUCH_LONGER = 20 /* times the steps expected: PCT gives up */
};

bool gt_seeded;

static struct {
  struct mt_schedule schedule;
  uint64_t generator, step, clock; /* [lock] */
  int lowest;                      /* [lock] priority of the thread that fell last */
  bool logs;                       /* [const] */
  uint64_t falls[MT_PCT_DEPTH_MAX];
  unsigned last;           /* [lock] id of the thread that ran last */
  char last_name[GT_NAME]; /* [lock] */
} seed;

int gt_seed_start(void) {
  int error = mt_schedule_read(&seed.schedule, mt_options.schedule);
  if (error == 0) error = mt_schedule_log_open(mt_options.schedule_log);
  if (error != 0) return error;
  gt_seeded = mt_options.seed != 0 || seed.schedule.kind != MT_SCHEDULE_RANDOM;
  if (!gt_seeded) return 0;
  seed.generator = (uint64_t)mt_options.seed;
  seed.logs = strcmp(mt_options.schedule_log, "none") != 0;
  for (int i = 0; i < seed.schedule.depth - 1; i++)
    seed.falls[i] = 1 + mt_schedule_draw(&seed.generator) % seed.schedule.expected;
  gt_gate.permits = gt_gate.most = 1;
  mt_store_relaxed(&gt_gate.attend, 1);
  return 0;
}

void gt_seed_enter(struct gt_thread *t) {
  t->rank = (int)(mt_schedule_draw(&seed.generator) >> 33);
  t->deadline = UINT64_MAX;
}

/* ---- time */

uint64_t gt_seed_now(clockid_t clock) {
  uint64_t start = clock == CLOCK_REALTIME ? EPOCH_S : START_S;
  return start * 1000000000 + seed.clock;
}

uint64_t gt_seed_deadline(const struct timespec *until, clockid_t clock) {
  if (until == NULL || until->tv_sec >= GT_SEED_LONGEST_S) return UINT64_MAX;
  uint64_t start = (clock == CLOCK_REALTIME ? EPOCH_S : START_S) * 1000000000ull;
  uint64_t at = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec;
  return until->tv_sec >= 0 && at > start ? at - start : 0;
}

/* The parked thread with the first deadline: the oldest of those with the same. */
static struct gt_thread *first_timer(void) {
  struct gt_thread *first = NULL;
  for (struct gt_thread *t = gt_gate.all; t != NULL; t = t->later)
    if (t->state == GT_PARKED && t->deadline != UINT64_MAX &&
        (first == NULL || t->deadline <= first->deadline))
      first = t;
  return first;
}

static void run_timers(void) {
  for (struct gt_thread *t; (t = first_timer()) != NULL && t->deadline <= seed.clock;)
    gt_lot_end(t, ETIMEDOUT);
}

/* ---- choosing */

/* The candidates: me, if it may continue, then the ready queue. */
static struct gt_thread *candidate(struct gt_thread *me, uint32_t index) {
  if (me != NULL && index-- == 0) return me;
  struct gt_thread *t = gt_gate.queue.first;
  while (index-- > 0) t = t->next;
  return t;
}

static uint32_t highest(struct gt_thread *me, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; i++)
    if (candidate(me, i)->rank > candidate(me, best)->rank) best = i;
  return best;
}

static uint32_t by_rank(struct gt_thread *me, uint32_t count) {
  bool falls = false;
  uint32_t best = highest(me, count);
  for (int i = 0; i < seed.schedule.depth - 1; i++) falls |= seed.falls[i] == seed.step;
  if (!falls) return best;
  candidate(me, best)->rank = --seed.lowest;
  return highest(me, count);
}

static uint32_t choose(struct gt_thread *me, uint32_t count) {
  uint32_t choice;
  switch (seed.schedule.kind) {
    case MT_SCHEDULE_LIST:
      choice = mt_schedule_next(&seed.schedule, seed.step);
      return choice < count ? choice : 0; /* a list made shorter may not fit everywhere */
    case MT_SCHEDULE_PCT:
      if (seed.step < MUCH_LONGER * seed.schedule.expected) return by_rank(me, count);
      break;
    case MT_SCHEDULE_RANDOM: break;
  }
  return (uint32_t)(mt_schedule_draw(&seed.generator) % count);
}

static void advance(void) {
  seed.clock += STEP_NS;
  gt_gate.turns++;
  if (++seed.step == (uint64_t)mt_options.steps_max) gt_report_livelock(seed.step);
  run_timers();
}

static void log_choice(uint32_t choice, uint32_t count, const char *call, struct gt_thread *to) {
  int state;
  if (!seed.logs || (count == 1 && to->id == seed.last)) return;
  /* Calls on files are cancellation points: the caller would end with gt_lock. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  if (to->name[0] == '\0') gt_thread_name(to, to->name);
  if (seed.last != 0)
    mt_schedule_write(seed.step, choice, count, seed.last, seed.last_name, call, to->id, to->name);
  pthread_setcancelstate(state, NULL);
  seed.last = to->id;
  memcpy(seed.last_name, to->name, sizeof to->name);
}

static void bring_forward(struct gt_thread *t) {
  gt_queue_take(&gt_gate.queue, t);
  gt_queue_push(&gt_gate.queue, t, true);
}

bool gt_seed_pick(void) {
  static bool inside; /* [lock] a timer that ends makes a thread ready */
  static const char *const waits[] = {
      [GT_WHY_NOTHING] = "yield",
      [GT_WHY_MUTEX] = "wait for a mutex",
      [GT_WHY_COND] = "wait for a condition",
      [GT_WHY_SEM] = "wait for a semaphore",
      [GT_WHY_BARRIER] = "wait at a barrier",
      [GT_WHY_RDLOCK] = "wait to read",
      [GT_WHY_WRLOCK] = "wait to write",
      [GT_WHY_SPIN] = "wait for a spin lock",
      [GT_WHY_ONCE] = "wait for a once",
      [GT_WHY_WORD] = "wait for a word",
      [GT_WHY_JOIN] = "wait for an end",
      [GT_WHY_SLEEP] = "sleep",
  };
  struct gt_thread *me = &gt_me;
  if (inside) return false;
  struct gt_thread *t = gt_gate.ready == 0 ? first_timer() : NULL;
  if (gt_gate.ready == 0 && t == NULL) {
    gt_report_deadlock();
    return false;
  }
  inside = true;
  if (t != NULL && t->deadline > seed.clock) seed.clock = t->deadline;
  advance(); /* which ends t's wait */
  uint32_t count = (uint32_t)gt_gate.ready, choice = choose(NULL, count);
  struct gt_thread *chosen = candidate(NULL, choice);
  const char *call = me->state == GT_ENDED ? "end" : me->state == GT_CALL ? "call" : waits[me->why];
  log_choice(choice, count, call, chosen);
  bring_forward(chosen);
  inside = false;
  return true;
}

void gt_seed_yield(struct gt_thread *me) { me->rank = --seed.lowest; }

void gt_seed_point(struct gt_thread *me, const char *call) {
  gt_lock(me);
  advance();
  uint32_t count = 1 + (uint32_t)gt_gate.ready, choice = choose(me, count);
  struct gt_thread *chosen = candidate(me, choice);
  log_choice(choice, count, call, chosen);
  if (choice != 0) gt_switch(me, chosen);
  gt_unlock(me);
  if (choice != 0) gt_await_permit(me);
}

void gt_seed_await_thread(struct gt_thread *me, unsigned id) {
  static const struct timespec nap = {0, 20000};
  for (bool known = false; !known;) {
    gt_lock(me);
    for (struct gt_thread *t = gt_gate.all; t != NULL; t = t->later) known |= t->id == id;
    gt_gate.turns++; /* or the monitor would catch a thread that naps here on a loaded machine */
    gt_unlock(me);
    if (!known) gt_next.nanosleep(&nap, NULL); /* ours would be a choice */
  }
}

void gt_seed_forget(void) {
  mt_schedule_log_open("none");
  seed.logs = false;
}

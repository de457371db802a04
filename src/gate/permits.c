/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits and the ready queue.
 *
 * Relaxed: hints (attend), and words that gt_lock orders.
 */
#include <errno.h>
#include <string.h>

#include "base/ilock.h"
#include "coord/client.h"
#include "gate/gate.h"
#include "gate/lot.h"
#include "gate/seed.h"
#include "gate/wait.h"
#include "os/os.h"

enum { DUE_MAX = 32 };

struct gt_gate gt_gate = {.permits = 1, .most = 1};
__thread struct gt_thread gt_me;

static mt_ilock lock;

/* What has to be done when the lock is free. */
static struct {
  uint32_t *wakes[DUE_MAX]; /* [lock] futexes of threads that got a permit */
  int count;                /* [lock] */
  bool ring;                /* [lock] mltpd has to hear of the demand */
} due;

static void set_attend(void) {
  bool over = gt_gate.running > gt_gate.permits || gt_gate.due;
  mt_store_relaxed(&gt_gate.attend, gt_seeded || gt_gate.caught > 0 || over);
}

static void report(void) {
  if (!gt_gate.joined) return;
  int demand = gt_gate.running + gt_gate.ready;
  if (demand > gt_gate.most) demand = gt_gate.most;
  due.ring |= mt_client_report((uint32_t)gt_gate.running, (uint32_t)demand);
}

/* A handler of the program's may run between any two instructions: `locked` covers all of it. */
static void set_locked(struct gt_thread *me, bool locked) {
  __asm__ volatile("" ::: "memory");
  me->locked = locked;
  __asm__ volatile("" ::: "memory");
}

void gt_lock(struct gt_thread *me) {
  set_locked(me, true);
  me->open = 0;
  mt_ilock_lock(&lock);
}

void gt_unlock(struct gt_thread *me) {
  uint32_t *wakes[DUE_MAX];
  int count = due.count;
  bool ring = due.ring, watch = gt_monitor_take();
  set_attend();
  for (int i = 0; i < count; i++) wakes[i] = due.wakes[i];
  due.count = 0;
  due.ring = false;
  bool runs = me->state == GT_RUNS || me->state == GT_CAUGHT; /* a caught thread comes back */
  mt_ilock_unlock(&lock);
  /* A granted thread may have ended: the kernel compares addresses, and wakes nobody then. */
  for (int i = 0; i < count; i++) os_futex_wake(wakes[i], 1);
  if (watch) gt_monitor_wake();
  if (ring) mt_client_ring();
  me->open = runs;
  set_locked(me, false);
  if (mt_unlikely(me->reposted)) {
    me->reposted = false;
    gt_lock(me);
    gt_lot_repost();
    gt_unlock(me);
  }
}

/* ---- the ready queue */

void gt_queue_push(struct gt_queue *queue, struct gt_thread *t, bool front) {
  struct gt_thread **at = &queue->first;
  bool last = !front && (queue->last == NULL || t->priority <= queue->last->priority);
  if (last && queue->last != NULL)
    at = &queue->last->next;
  else
    while (!front && *at != NULL && (*at)->priority >= t->priority) at = &(*at)->next;
  t->next = *at;
  *at = t;
  if (t->next == NULL) queue->last = t;
}

void gt_queue_take(struct gt_queue *queue, struct gt_thread *before, struct gt_thread *t) {
  if (before == NULL)
    queue->first = t->next;
  else
    before->next = t->next;
  if (queue->last == t) queue->last = before;
}

static void push(struct gt_thread *t) {
  t->state = GT_READY;
  gt_queue_push(&gt_gate.queue, t, false);
  gt_gate.ready++;
}

static struct gt_thread *pop(void) {
  struct gt_thread *t = gt_gate.queue.first;
  gt_queue_take(&gt_gate.queue, NULL, t);
  gt_gate.ready--;
  return t;
}

static void enter_busy(struct gt_thread *t) {
  t->before = NULL;
  t->after = gt_gate.busy;
  if (t->after != NULL) t->after->before = t;
  gt_gate.busy = t;
}

static void leave_busy(struct gt_thread *t) {
  if (t->after != NULL) t->after->before = t->before;
  *(t->before != NULL ? &t->before->after : &gt_gate.busy) = t->after;
}

static void run(struct gt_thread *t) {
  enter_busy(t);
  t->state = GT_RUNS;
  t->counted = t->priority == 0;
  gt_gate.running += t->counted;
  t->turn = ++gt_gate.turns;
  gt_gate.due = false;
  if (due.count == DUE_MAX) os_futex_wake(due.wakes[--due.count], 1);
  if (t != &gt_me) { /* the caller does not sleep */
    due.wakes[due.count++] = &t->wake;
    mt_store_relaxed(&t->away, 1);
  }
  mt_store_release(&t->wake, 1); /* GT-3 release: how its wait ended; pairs GT-4 GT-5 */
}

/* The permits follow the daemon's grant. */
static void follow(void) {
  if (!gt_gate.joined || !mt_client_changed()) return;
  uint32_t granted = mt_client_follow();
  gt_gate.permits = granted < (uint32_t)gt_gate.most ? (int)granted : gt_gate.most;
}

void gt_grant(void) {
  follow();
  if (gt_seeded && gt_gate.running == 0 && !gt_seed_pick()) return;
  while (gt_gate.queue.first != NULL && gt_gate.running < gt_gate.permits + gt_gate.extra)
    run(pop());
  if (gt_gate.queue.first != NULL) gt_monitor_watch();
  report();
}

/* Real-time threads run at once: between them the kernel decides. */
static void enter_queue(struct gt_thread *t) {
  if (t->priority > 0)
    run(t);
  else
    push(t);
}

void gt_make_ready(struct gt_thread *t) {
  enter_queue(t);
  gt_grant();
}

/* The caller has its permit no more, if it had one. */
static void drop(struct gt_thread *me) {
  if (me->state == GT_RUNS || me->state == GT_CAUGHT) leave_busy(me);
  if (me->state == GT_RUNS && me->counted) {
    gt_gate.running--;
    int over = gt_gate.running - gt_gate.permits;
    if (gt_gate.extra > over) gt_gate.extra = over > 0 ? over : 0;
  } else if (me->state == GT_CAUGHT) {
    gt_gate.caught--;
  }
  mt_store_relaxed(&me->wake, 0);
}

void gt_release(struct gt_thread *me, enum gt_state state) {
  drop(me);
  if (state == GT_READY)
    enter_queue(me);
  else
    me->state = state;
  gt_grant();
}

void gt_switch(struct gt_thread *me, struct gt_thread *to) {
  struct gt_thread *before = NULL;
  for (struct gt_thread *t = gt_gate.queue.first; t != to; t = t->next) before = t;
  gt_queue_take(&gt_gate.queue, before, to);
  gt_gate.ready--;
  drop(me);
  me->state = GT_READY;
  gt_queue_push(&gt_gate.queue, me, true);
  gt_gate.ready++;
  run(to);
}

void gt_await_permit(struct gt_thread *me) {
  /* GT-5 acquire: how the wait ended; pairs GT-3 */
  while (mt_load_acquire(&me->wake) == 0) gt_futex_wait(&me->wake, 0, CLOCK_MONOTONIC, NULL);
  mt_store_relaxed(&me->away, 0); /* relaxed: the monitor looks at the kernel thread later */
  me->open = 1;
}

/* ---- calls that block */

void gt_leave(struct gt_thread *me) {
  gt_lock(me);
  gt_release(me, GT_CALL);
  gt_unlock(me);
}

void gt_return(struct gt_thread *me) {
  gt_lock(me);
  if (me->state == GT_CALL) gt_release(me, GT_READY);
  gt_unlock(me);
  gt_await_permit(me);
}

void gt_returned(struct gt_thread **me) {
  int saved = errno;
  if (*me == NULL) return;
  gt_return(*me);
  errno = saved;
}

bool gt_yield(struct gt_thread *me) {
  if (mt_load_relaxed(&gt_gate.queue.first) == NULL) return false;
  gt_lock(me);
  bool others = gt_gate.queue.first != NULL;
  if (others && gt_seeded) gt_seed_yield(me);
  if (others) gt_release(me, GT_READY);
  gt_unlock(me);
  if (others) gt_await_permit(me);
  return others;
}

void gt_attend(struct gt_thread *me, const char *call) {
  if (gt_seeded && me->state == GT_RUNS && gt_gate.running == 1) {
    gt_seed_point(me, call);
    return;
  }
  gt_lock(me);
  follow();
  bool shrunk = gt_gate.running > gt_gate.permits + gt_gate.extra;
  bool shared = gt_gate.running > gt_gate.permits || gt_gate.due;
  bool shares = shared && gt_gate.queue.first != NULL;
  gt_gate.due = false;
  bool gives = me->state == GT_CAUGHT || ((shrunk || shares) && me->counted);
  if (gives)
    gt_release(me, GT_READY);
  else
    gt_grant();
  gt_unlock(me);
  if (gives) gt_await_permit(me);
}

/* ---- the child of a fork */

void gt_forget(struct gt_thread *me) {
  lock = (mt_ilock)0;
  due.count = 0;
  gt_gate.queue = (struct gt_queue){0};
  gt_gate.ready = gt_gate.extra = gt_gate.caught = 0;
  gt_gate.due = false;
  gt_gate.busy = NULL;
  enter_busy(me);
  gt_gate.running = 1;
  me->state = GT_RUNS;
  me->locked = false;
  me->asked_for = 0;
  me->open = 1;
  memset(gt_slots, 0, sizeof gt_slots);
  memset(gt_waiters, 0, sizeof gt_waiters);
}

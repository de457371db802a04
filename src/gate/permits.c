/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits and the ready queue.
 *
 * Relaxed: hints (attend), and words that gt_lock orders.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/ilock.h"
#include "coord/client.h"
#include "gate/aside.h"
#include "gate/gate.h"
#include "gate/lot.h"
#include "gate/seed.h"
#include "gate/wait.h"
#include "os/os.h"

enum {
  DUE_MAX = 32,
  NEAR = 8,          /* ready threads among which one is looked for that last ran here */
  PASSED = 8,        /* threads that may run before the first for that */
  OVERTAKEN = 64,    /* threads that may run before one that waits for a CPU */
  EARLY = 4,         /* threads for each permit that may begin without one */
  GRACE_NS = 200000, /* of CPU time, for a thread that runs besides */
  HELPED_NS = 2000000
};

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
  mt_store_relaxed(&gt_gate.attend, gt_seeded || over);
}

static uint32_t at_most(int threads) {
  return (uint32_t)(threads < gt_gate.most ? threads : gt_gate.most);
}

static void report(void) {
  if (!gt_gate.joined) return;
  int active = gt_gate.running + gt_gate.early;
  due.ring |= mt_client_report(at_most(active), at_most(active + gt_gate.ready));
}

/* A handler of the program's may run between any two instructions: `locked` covers all of it. */
static void set_locked(struct gt_thread *me, bool locked) {
  __asm__ volatile("" ::: "memory");
  me->locked = locked;
  __asm__ volatile("" ::: "memory");
}

static uint32_t no_mark = 1;
uint32_t *gt_mark = &no_mark;

/* A child of _Fork() or of clone() runs no handlers of pthread_atfork(). Its parent's other threads
 * would keep their permits, and one of them may have had the lock. */
void gt_lock(struct gt_thread *me) {
  if (mt_unlikely(*gt_mark == 0)) gt_begin_child();
  set_locked(me, true);
  mt_store_relaxed(&me->open, 0);
  mt_ilock_lock(&lock);
}

/* What handlers could not do while the caller had the lock. Last: they may not return. */
static __attribute__((noinline)) void catch_up(struct gt_thread *me) {
  if (me->forked) {
    me->forked = false;
    gt_begin_child();
  }
  if (me->reposted) {
    me->reposted = false;
    gt_lock(me);
    gt_lot_repost();
    gt_unlock(me);
  }
  if (me->put_off) gt_handlers_run(me);
}

void gt_unlock(struct gt_thread *me) {
  uint32_t *wakes[DUE_MAX];
  int count = due.count;
  bool ring = due.ring, watch = gt_monitor_take();
  set_attend();
  for (int i = 0; i < count; i++) wakes[i] = due.wakes[i];
  due.count = 0;
  due.ring = false;
  /* Under the lock, or it would hide that the thread has been caught since. */
  mt_store_relaxed(&me->open, me->state == GT_RUNS);
  mt_ilock_unlock(&lock);
  /* A granted thread may have ended: the kernel compares addresses, and wakes nobody then. */
  for (int i = 0; i < count; i++) os_futex_wake(wakes[i], 1);
  if (watch) gt_monitor_wake();
  if (ring) mt_client_ring();
  set_locked(me, false);
  if (mt_unlikely(me->forked || me->reposted || me->put_off)) catch_up(me);
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
  t->prev = t->next != NULL ? t->next->prev : queue->last;
  *at = t;
  *(t->next != NULL ? &t->next->prev : &queue->last) = t;
}

void gt_queue_take(struct gt_queue *queue, struct gt_thread *t) {
  *(t->prev != NULL ? &t->prev->next : &queue->first) = t->next;
  *(t->next != NULL ? &t->next->prev : &queue->last) = t->prev;
}

static void count_ready(const struct gt_thread *t, int more) {
  gt_gate.ready += more;
  if (!t->gave_way) mt_store_relaxed(&gt_gate.eager, gt_gate.eager + (uint32_t)more);
}

static void push(struct gt_thread *t, bool front) {
  t->state = GT_READY;
  gt_queue_push(&gt_gate.queue, t, front);
  count_ready(t, 1);
}

/* The kernel wakes a thread where it last ran, even behind another that runs there, and for some
 * milliseconds it does not move it to a CPU that has nothing to do. The caller is about to leave
 * its CPU, so the best thread after it last ran here. */
static struct gt_thread *pick(bool leaves) {
  struct gt_thread *first = gt_gate.queue.first, *t = first;
  if (!leaves || gt_seeded || first->passed >= PASSED || gt_gate.permits == 1) return first;
  int here = sched_getcpu();
  for (int i = 0; i < NEAR && t != NULL; i++, t = t->next) {
    if (t->cpu != here || t == &gt_me) continue; /* the caller gave way to others */
    first->passed += t != first;
    return t;
  }
  return first;
}

static struct gt_thread *take(struct gt_thread *t) {
  gt_queue_take(&gt_gate.queue, t);
  count_ready(t, -1);
  return t;
}

static void enter_list(struct gt_thread **list, struct gt_thread *t) {
  t->before = NULL;
  t->after = *list;
  if (t->after != NULL) t->after->before = t;
  *list = t;
}

static void leave_list(struct gt_thread **list, struct gt_thread *t) {
  if (t->after != NULL) t->after->before = t->before;
  *(t->before != NULL ? &t->before->after : list) = t->after;
}

static void run(struct gt_thread *t) {
  enter_list(&gt_gate.runs, t);
  t->state = GT_RUNS;
  t->gave_way = false;
  t->counted = t->priority == 0 && !t->early;
  gt_gate.running += t->counted;
  t->besides = gt_gate.running > gt_gate.permits;
  t->turn = ++gt_gate.turns;
  gt_aside_turn();
  gt_gate.due = false;
  if (t != &gt_me) mt_store_relaxed(&t->away, 1);
  /* GT-3 seq_cst: how its wait ended; pairs GT-4 GT-5 GT-22 */
  mt_store_seq_cst(&t->wake, GT_GRANTED);
  /* GT-23 seq_cst: after GT-3; pairs GT-22 */
  if (mt_load_seq_cst(&t->sleeps) == 0) return;
  mt_store_relaxed(&t->sleeps, 0); /* woken once, it looks at `wake` again before it sleeps */
  if (due.count == DUE_MAX) os_futex_wake(due.wakes[--due.count], 1);
  due.wakes[due.count++] = &t->wake;
}

void gt_count_early(void) {
  if (gt_gate.early == 0) return;
  for (struct gt_thread *t = gt_gate.runs; t != NULL; t = t->after) {
    if (!t->early) continue;
    t->early = false;
    t->counted = true;
    t->turn = gt_gate.turns;
    gt_gate.running++;
  }
  gt_gate.early = 0;
}

/* The permits follow the daemon's grant. */
static void follow(void) {
  if (!gt_gate.joined || !mt_client_changed()) return;
  uint32_t granted = mt_client_follow();
  gt_aside_end();
  gt_gate.permits = granted < (uint32_t)gt_gate.most ? (int)granted : gt_gate.most;
  gt_count_early();
}

void gt_catch(struct gt_thread *t) {
  leave_list(&gt_gate.runs, t);
  enter_list(&gt_gate.stray, t);
  mt_store_relaxed(&t->state, GT_CAUGHT);
  gt_gate.running--;
  gt_gate.caught++;
  mt_fence_full(); /* GT-19 full fence: the state before `open`; pairs GT-20 GT-21 */
  mt_store_relaxed(&t->open, 0);
}

/* Takes a permit back from a thread that sleeps in the kernel, or is about to. A thread that was
 * asked to give way must not have it: if it spins for the one that sleeps, it would keep it from
 * coming back. @return whether there was one. */
static bool take_lent(void) {
  if (gt_gate.eager == 0) return false;
  mt_fence_full(); /* GT-18 full fence: after the count of eager threads; pairs GT-17 */
  for (struct gt_thread *t = gt_gate.runs; t != NULL; t = t->after) {
    if (!t->counted || mt_load_relaxed(&t->lent) == 0) continue; /* relaxed: GT-18 orders it */
    gt_catch(t);
    return true;
  }
  return false;
}

/* leaves: the caller has given up its permit. */
static void grant(bool leaves) {
  follow();
  if (gt_seeded && gt_gate.running == 0 && !gt_seed_pick()) return;
  while (gt_gate.queue.first != NULL &&
         (gt_gate.running < gt_gate.permits + gt_gate.extra || take_lent()))
    run(take(pick(leaves)));
  if (gt_gate.queue.first != NULL) gt_monitor_watch();
  report();
}

void gt_grant(void) { grant(false); }

/* Real-time threads run at once: between them the kernel decides. */
static void enter_queue(struct gt_thread *t) {
  if (t->priority > 0)
    run(t);
  else
    push(t, false);
}

void gt_make_ready(struct gt_thread *t) {
  enter_queue(t);
  gt_grant();
}

/* A thread that kept its permit until others ran beside it, and leaves it soon then, has spun for
 * what they do. One that computes seldom ends at that very moment. */
static void note_help(const struct gt_thread *me) {
  bool stayed = me->state == GT_RUNS && me->counted && me->turn <= gt_gate.helped_turn;
  if (stayed && os_now() - gt_gate.helped_at < HELPED_NS) gt_gate.helped = true;
}

/* The caller has its permit no more, if it had one. */
static void drop(struct gt_thread *me) {
  if (mt_unlikely(gt_gate.helped_at != 0)) note_help(me);
  if (me->state == GT_RUNS) leave_list(&gt_gate.runs, me);
  if (me->state == GT_CAUGHT) leave_list(&gt_gate.stray, me);
  if (me->state == GT_RUNS && me->counted) {
    gt_gate.running--;
    int over = gt_gate.running - gt_gate.permits;
    if (gt_gate.extra > over) gt_gate.extra = over > 0 ? over : 0;
  } else if (me->state == GT_CAUGHT) {
    gt_gate.caught--;
  }
  gt_gate.early -= me->early;
  me->early = false;
  me->cpu = sched_getcpu();
  me->passed = 0;
  mt_store_relaxed(&me->wake, GT_NO_PERMIT);
}

/* The caller has a CPU, and no permit is free. A thread that was granted one, but has not come to a
 * CPU since, gives way: so the caller need not sleep, and no permit waits for a CPU. That thread
 * gets the next one. */
static void overtake(struct gt_thread *me) {
  for (struct gt_thread *t = gt_gate.runs; t != NULL; t = t->after) {
    uint32_t granted = GT_GRANTED;
    if (mt_load_relaxed(&t->away) == 0 || !t->counted || t->passed >= OVERTAKEN) continue;
    if (!mt_cas_relaxed(&t->wake, &granted, GT_NO_PERMIT)) continue; /* relaxed: as GT-5 */
    /* Its waker may have called before it slept, and it will find no permit: wake it again. */
    mt_store_relaxed(&t->sleeps, 1); /* relaxed: under the lock, as the next grant */
    leave_list(&gt_gate.runs, t);
    gt_gate.running--;
    t->passed++;
    push(t, true);
    run(take(me));
    return;
  }
}

void gt_release(struct gt_thread *me, enum gt_state state) {
  drop(me);
  if (state == GT_READY)
    enter_queue(me);
  else
    me->state = state;
  grant(true);
  if (me->state == GT_READY && !me->gave_way && !gt_seeded) overtake(me);
}

/* The kernel has given it a CPU. If it slept now, its waker would have to wake it, and most new
 * threads wait for something else soon. Where others want the CPUs, permits say how many run. */
void gt_begin(struct gt_thread *me) {
  follow();
  bool alone = gt_aside_allowed && gt_gate.permits >= gt_gate.most;
  bool free = gt_gate.running < gt_gate.permits + gt_gate.extra;
  if (free || !alone || me->priority > 0 || gt_gate.early >= EARLY * gt_gate.most) {
    gt_release(me, GT_READY);
    return;
  }
  me->early = true;
  gt_gate.early++;
  run(me);
  report();
}

void gt_switch(struct gt_thread *me, struct gt_thread *to) {
  take(to);
  drop(me);
  push(me, true);
  run(to);
}

int gt_sleep(struct gt_thread *me, clockid_t clock, const struct timespec *until) {
  /* GT-22 seq_cst: before the kernel's look at `wake`; pairs GT-3 GT-23 */
  mt_store_seq_cst(&me->sleeps, 1);
  int error = gt_futex_wait(&me->wake, GT_NO_PERMIT, clock, until);
  mt_store_relaxed(&me->sleeps, 0); /* relaxed: a waker that misses it makes a call for nothing */
  return error;
}

static uint64_t cpu_time_of(const struct gt_thread *me) {
  struct os_task task = os_task_of(me->tid);
  return os_task_cpu_time(&task);
}

void gt_await_permit(struct gt_thread *me) {
  for (;;) {
    uint32_t seen = GT_GRANTED;
    /* GT-5 acquire: how the wait ended; pairs GT-3 */
    if (mt_cas_acquire(&me->wake, &seen, GT_CLAIMED) || seen == GT_CLAIMED) break;
    gt_sleep(me, CLOCK_MONOTONIC, NULL);
  }
  if (mt_unlikely(me->besides)) me->grace = cpu_time_of(me) + GRACE_NS;
  mt_store_relaxed(&me->away, 0); /* relaxed: the monitor looks at the kernel thread later */
  mt_store_relaxed(&me->open, 1);
  mt_fence_full(); /* GT-20 full fence: `open` before the state; pairs GT-19 */
  /* On a loaded machine it may have been caught before it woke. */
  if (mt_unlikely(mt_load_relaxed(&me->state) == GT_CAUGHT)) mt_store_relaxed(&me->open, 0);
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
  if (mt_load_relaxed(&gt_gate.queue.first) == NULL || me->priority > 0) return false;
  gt_lock(me);
  bool others = gt_gate.queue.first != NULL;
  if (others && gt_seeded) gt_seed_yield(me);
  me->gave_way = others;
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
  bool has_run = me->besides && cpu_time_of(me) >= me->grace;
  gt_lock(me);
  follow();
  bool shrunk = gt_gate.running > gt_gate.permits + gt_gate.extra;
  bool asked = gt_gate.due && gt_gate.queue.first != NULL;
  /* The thread that has the permit may have spun for what it has done. */
  bool besides = has_run && gt_gate.running > gt_gate.permits;
  gt_gate.due = false;
  bool caught = me->state == GT_CAUGHT;
  bool gives = caught || ((shrunk || asked || besides) && me->counted);
  me->gave_way = gives && !caught;
  if (gives)
    gt_release(me, GT_READY);
  else
    gt_grant();
  gt_unlock(me);
  if (gives) gt_await_permit(me);
}

/* ---- the child of a fork */

/* The interrupted function has the lock, or waits for it. It finishes with what was the parent's.
 */
void gt_forget_later(struct gt_thread *me) {
  lock = (mt_ilock)0;
  me->forked = true;
}

void gt_forget(struct gt_thread *me) {
  lock = (mt_ilock)0;
  due.count = 0;
  gt_gate.queue = (struct gt_queue){0};
  gt_gate.ready = gt_gate.extra = gt_gate.caught = gt_gate.early = 0;
  gt_gate.eager = 0;
  gt_gate.due = gt_gate.helped = false;
  gt_gate.helped_at = 0;
  gt_gate.runs = gt_gate.stray = NULL;
  enter_list(&gt_gate.runs, me);
  gt_gate.running = 1;
  me->state = GT_RUNS;
  me->wake = GT_CLAIMED; /* it may have forked in a handler that interrupted a wait */
  me->early = false;
  me->counted = true;
  me->locked = false;
  me->asked_for = 0;
  me->lent = 0;
  me->open = 1;
  memset(gt_slots, 0, sizeof gt_slots);
  memset(gt_waiters, 0, sizeof gt_waiters);
}

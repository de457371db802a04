/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the program come, are joined, are cancelled and go; the start of the gate.
 *
 * A thread ends in the last round of the destructors of its thread-specific values: those of
 * the program may wait, too. Where the program has none, it ends in the first.
 *
 * Relaxed: a thread that uses a key knows that it was made.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "base/unknown_options.h"
#include "gate/aside.h"
#include "gate/layout.h"
#include "gate/lot.h"
#include "gate/next.h"
#include "gate/priority.h"
#include "gate/quick.h"
#include "gate/seed.h"
#include "gate/step.h"
#include "os/os.h"

enum { EXIT_REFUSED = 2 /* a bad option */ };

static pthread_key_t end_key;
static bool is_on;           /* [const after start()] */
static bool joins_later;     /* [owner] a child of fork() has not asked mltpd for permits yet */
static bool has_destructors; /* [atomic] the program has made a key with one */

/* ---- what a new thread does first */

/* The creator takes one from the list, and the new thread puts it back. A new thread that called
 * free() would get a heap of its own from libc, which costs more than the rest of its beginning. */
struct beginning {
  struct gt_start start;
  unsigned id;
  struct gt_inherited inherited; /* priority */
  struct beginning *next;        /* [lock] */
};

static struct beginning *beginnings; /* [lock] */

static struct beginning *take_beginning(struct gt_thread *me) {
  for (struct beginning *spare = NULL;;) {
    gt_lock(me);
    struct beginning *b = spare != NULL ? spare : beginnings;
    if (b != NULL && spare == NULL) beginnings = b->next;
    if (b != NULL) b->id = ++gt_gate.ids;
    gt_unlock(me);
    if (b != NULL) return b;
    spare = malloc(sizeof *spare); /* without the lock: an allocator may lock a mutex */
    if (spare == NULL) return NULL;
  }
}

/* Under gt_lock. NULL: the gate did not see the creation. */
static void put_back(struct beginning *b) {
  if (b == NULL) return;
  b->next = beginnings;
  beginnings = b;
}

static void put_back_alone(struct gt_thread *me, struct beginning *b) {
  gt_lock(me);
  put_back(b);
  gt_unlock(me);
}

/* ---- known threads; under gt_lock */

/* A program may have a thousand threads, and each lies in memory of its own: joins do not go
 * through them all. */
static struct gt_thread *by_handle[GT_SLOTS];

static struct gt_thread **slot_of(pthread_t handle) {
  return &by_handle[gt_slot_of((const void *)handle)];
}

struct gt_thread *gt_thread_find(pthread_t handle) {
  struct gt_thread *t = *slot_of(handle);
  while (t != NULL && !pthread_equal(t->handle, handle)) t = t->same_slot;
  return t;
}

static void link_thread(struct gt_thread *t) {
  struct gt_thread **slot = slot_of(t->handle);
  t->same_slot = *slot;
  *slot = t;
  t->later = gt_gate.all;
  if (t->later != NULL) t->later->earlier = t;
  gt_gate.all = t;
  gt_gate.threads++;
}

static void unlink_thread(struct gt_thread *t) {
  struct gt_thread **at = slot_of(t->handle);
  while (*at != t) at = &(*at)->same_slot;
  *at = t->same_slot;
  if (t->later != NULL) t->later->earlier = t->earlier;
  *(t->earlier != NULL ? &t->earlier->later : &gt_gate.all) = t->later;
  gt_gate.threads--;
}

/* In a child of fork(). */
static void forget_threads(struct gt_thread *me) {
  memset(by_handle, 0, sizeof by_handle);
  beginnings = NULL; /* another thread may have been taking one */
  gt_gate.all = NULL;
  gt_gate.threads = 0;
  me->earlier = NULL;
  link_thread(me);
}

/* ---- begin and end */

/* The calling thread waits for its first permit. from NULL: the gate did not see its creation. A
 * signal handler that came before has done all but putting back. */
static void begin_thread(struct beginning *from) {
  struct gt_thread *me = &gt_me;
  if (me->state != GT_NEW) {
    put_back_alone(me, from);
    return;
  }
  me->state = GT_CALL;
  __asm__ volatile("" ::: "memory");
  if (from == NULL || !gt_priority_inherit(me, &from->inherited)) gt_priority_refresh(me);
  me->handle = pthread_self();
  me->tid = gt_quick_tid();
  gt_lock(me);
  me->id = from != NULL ? from->id : ++gt_gate.ids;
  put_back(from);
  link_thread(me);
  if (gt_seeded) gt_seed_enter(me);
  gt_begin(me);
  gt_unlock(me);
  pthread_setspecific(end_key, me);
  gt_await_permit(me);
}

/* Whether a thread that runs waits in the lot or for a permit, as far as the gate knows. It sees
 * its own state, unless another changes it: then it is one of these before and afterwards. */
static bool is_waiting(const struct gt_thread *me) {
  uint32_t state = mt_load_relaxed(&me->state); /* relaxed: gt_lot_quit() looks under the lock */
  bool waits = state == GT_PARKED || state == GT_READY || state == GT_RUNS;
  return waits && mt_load_relaxed(&me->open) == 0 && !me->locked;
}

void gt_thread_end(struct gt_thread *me) {
  if (is_waiting(me)) gt_lot_quit(me);
  gt_lock(me);
  unlink_thread(me);
  if (gt_seeded) gt_lot_wake(me, INT_MAX); /* elsewhere the kernel wakes threads that join it */
  gt_release(me, GT_ENDED);
  if (gt_gate.threads == 0) gt_monitor_end();
  gt_unlock(me);
}

static void at_destructors(void *value) {
  struct gt_thread *me = value;
  if (++me->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && mt_load_relaxed(&has_destructors))
    pthread_setspecific(end_key, me);
  else
    gt_thread_end(me);
}

GT_EXPORT int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  if (gt_next.create == NULL) gt_next_find();
  if (destructor != NULL) mt_store_relaxed(&has_destructors, true);
  return gt_next.key_create(key, destructor);
}

int __pthread_key_create(pthread_key_t *, void (*)(void *)); /* an older name */

GT_EXPORT int __pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  return pthread_key_create(key, destructor);
}

GT_EXPORT int tss_create(tss_t *key, tss_dtor_t destructor) {
  if (gt_next.create == NULL) gt_next_find();
  if (destructor != NULL) mt_store_relaxed(&has_destructors, true);
  return gt_next.key_create_c11(key, destructor);
}

/* ---- start */

void gt_begin_child(void) {
  *gt_mark = 1;
  if (gt_me.locked) {
    gt_forget_later(&gt_me);
    return;
  }
  mt_client_forget();
  gt_monitor_forget();
  gt_seed_forget();
  gt_once_forget();
  gt_gate.joined = gt_gate.aside = false;
  gt_gate.permits = gt_gate.most;
  joins_later = !gt_seeded;
  if (gt_me.state != GT_NEW && gt_me.state != GT_ENDED) {
    gt_forget(&gt_me);
    forget_threads(&gt_me);
  }
  gt_me.tid = gt_quick_tid(); /* clone() leaves libc the parent's */
}

static void join_daemon(void) {
  struct mt_client_program program = {.role = MT_PROTO_LIBMLTP, .most = (uint32_t)gt_gate.most};
  int error = mt_client_join(mt_options.coordinator, &program);
  gt_gate.joined = error == 0 && mt_client_is_joined();
}

/* The first call may come before, from another library's constructor: it is libc's then. */
__attribute__((constructor)) static void start(void) {
  if (gt_next.create == NULL) gt_next_find();
  if (!gt_layout_holds()) {
    mt_message(
        "cannot gate threads: this libc has other objects (run the program without "
        "mltp run --threads)");
    return;
  }
  if (gt_next.key_create(&end_key, at_destructors) != 0) return;
  pthread_atfork(NULL, NULL, gt_begin_child);
  uint32_t *mark = os_process_mark();
  if (mark != NULL) gt_mark = mark;
  if (mt_options_read() != 0) _exit(EXIT_REFUSED);
  mt_options_warn_of_unknown();
  gt_gate.permits = gt_gate.most = mt_options.vps > 0 ? (int)mt_options.vps : os_cpus();
  if (gt_seed_start() != 0) _exit(EXIT_REFUSED);
  gt_aside_allowed = mt_options.vps == 0 && !gt_seeded;
  if (!gt_seeded) join_daemon();
  if (gt_seeded && getenv("MLTP_ACCESSES") != NULL) {
    int error = gt_step_start();
    if (error != 0) mt_message("MLTP_ACCESSES: cannot step: %s (unset it)", strerror(error));
    if (error != 0) _exit(EXIT_REFUSED);
  }
  gt_quick_start(gettid());
  is_on = true;
  begin_thread(NULL);
}

__attribute__((destructor)) static void leave(void) { mt_client_leave(); }

struct gt_thread *gt_enter_slow(void) {
  struct gt_thread *me = &gt_me;
  if (mt_unlikely(gt_next.create == NULL)) gt_next_find();
  if (!is_on) return NULL;
  /* GT-21 acquire: that it was caught; pairs GT-19 */
  if (mt_load_acquire(&me->open) != 0 || gt_is_back(me)) return me;
  if (me->state != GT_NEW) return NULL;
  begin_thread(NULL);
  return me;
}

struct gt_thread *gt_enter_again_slow(void) {
  struct gt_thread *me = gt_enter_slow();
  if (me != NULL) mt_store_relaxed(&me->lent, 0); /* it may have left a call that lent its permit */
  if (me != NULL || !is_on) return me;
  if (is_waiting(&gt_me))
    gt_lot_quit(&gt_me);
  else if (!gt_me.locked && gt_me.state == GT_CALL)
    gt_return(&gt_me);
  else
    return NULL;
  return &gt_me;
}

/* Where the first thread enters the program. No header declares it. */
int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void), void *);

GT_EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                                void (*init)(void), void (*fini)(void), void (*loader)(void),
                                void *stack) {
  if (gt_next.start_main == NULL) gt_next_find();
  gt_step_at((uintptr_t)main);
  return gt_next.start_main(main, argc, argv, init, fini, loader, stack);
}

/* ---- create */

static void *begin(void *arg) {
  struct gt_start start = ((struct beginning *)arg)->start;
  begin_thread(arg);
  if (start.c11 != NULL) {
    gt_step_at((uintptr_t)start.c11);
    return (void *)(intptr_t)start.c11(start.arg); /* as in libc */
  }
  gt_step_at((uintptr_t)start.func);
  return start.func(start.arg);
}

int gt_create(struct gt_thread *me, pthread_t *thread, const pthread_attr_t *attr,
              const struct gt_start *start) {
  if (mt_unlikely(joins_later)) { /* most children call exec() or have no second thread */
    joins_later = false;
    join_daemon();
  }
  struct beginning *b = take_beginning(me);
  if (b == NULL) return EAGAIN;
  unsigned id = b->id; /* the new thread puts *b back */
  b->start = *start;
  b->inherited = gt_priority_inherited(me, attr);
  int error = gt_next.create(thread, attr, begin, b);
  if (error != 0)
    put_back_alone(me, b);
  else if (gt_seeded)
    gt_seed_await_thread(me, id);
  gt_point(me, "pthread_create");
  return error;
}

GT_EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                             void *(*func)(void *), void *restrict arg) {
  struct gt_thread *me = gt_enter_again();
  if (me == NULL) return gt_next.create(thread, attr, func, arg);
  return gt_create(me, thread, attr, &(struct gt_start){.func = func, .arg = arg});
}

/* ---- join */

/* In a seeded run: waits until the thread has left the gate. @return as gt_lot_wait(). */
static int await_end(struct gt_thread *me, pthread_t thread, const struct gt_limit *limit) {
  gt_lock(me);
  struct gt_thread *t = gt_thread_find(thread);
  if (t == NULL || t == me) { /* it ends, or has not begun, or libc reports it */
    gt_unlock(me);
    return 0;
  }
  gt_lot_enter(t);
  return gt_lot_wait(me, t, GT_WHY_JOIN, limit, false);
}

/* For __attribute__((cleanup)): a cancellation may end the call between. Relaxed: a hint for the
 * monitor. */
static void came_back(struct gt_thread **me) { mt_store_relaxed(&(*me)->away, 0); }

/* A thread that has ended is joined at once. To wait for another, a thread sleeps once, in libc: if
 * the lot woke it, it would soon sleep again, since a thread leaves the gate some time before it
 * ends. */
static int join(pthread_t thread, void **result, const struct gt_limit *limit) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) {
    gt_point(me, "pthread_join");
    pthread_testcancel();
  }
  if (me != NULL && gt_seeded) {
    int ended;
    while ((ended = await_end(me, thread, limit)) == EAGAIN) continue;
    if (ended == ECANCELED) pthread_testcancel();
  } else if (me != NULL) {
    int error = gt_next.tryjoin(thread, result);
    /* GT-16 kernel: the store that says that the thread has ended; pairs GT-15.
     * GT-15 full fence: libc's load of it may be plain; pairs GT-16 */
    mt_fence_full();
    if (error != EBUSY) return error;
  }
  struct gt_thread *left __attribute__((cleanup(gt_returned))) = gt_seeded ? NULL : me;
  if (left != NULL) gt_leave(me); /* in a seeded run it ends soon, or nobody could end it */
  if (limit->until != NULL) return gt_next.clockjoin(thread, result, limit->clock, limit->until);
  struct gt_thread *sleeper __attribute__((cleanup(came_back))) = &gt_me;
  mt_store_relaxed(&sleeper->away, 1); /* relaxed: a hint for the monitor */
  return gt_next.join(thread, result);
}

GT_EXPORT int pthread_join(pthread_t thread, void **result) {
  gt_me.at = __builtin_return_address(0);
  return join(thread, result, &(struct gt_limit){.cancellable = true});
}

GT_EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until) {
  struct gt_limit limit = {.until = until, .clock = CLOCK_REALTIME, .cancellable = true};
  return join(thread, result, &limit);
}

GT_EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                   const struct timespec *until) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  struct gt_limit limit = {.until = until, .clock = clock, .cancellable = true};
  return join(thread, result, &limit);
}

/* ---- cancel */

GT_EXPORT int pthread_cancel(pthread_t thread) {
  struct gt_thread *me = gt_enter_again();
  if (me != NULL) gt_point(me, "pthread_cancel");
  /* Relaxed: a thread that is to see the cancellation sees what came before it. */
  mt_store_relaxed(&gt_gate.cancels, 1);
  int error = gt_next.cancel(thread);
  if (me == NULL || error != 0) return error;
  gt_lock(me);
  struct gt_thread *t = gt_thread_find(thread);
  if (t != NULL) t->cancelled = true;
  if (t != NULL && t->state == GT_PARKED && t->cancellable) gt_lot_end(t, ECANCELED);
  gt_unlock(me);
  return error;
}

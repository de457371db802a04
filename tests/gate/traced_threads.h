/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file traced_threads.h
 * src/gate/threads.c over a libc that notes what is asked of it (traced.h). One kernel thread plays
 * all others.
 *
 *   asks inherits      gt_priority_refresh(), _inherit()   begin permit   gt_begin(),
 * gt_await_permit() quit release:N     gt_lot_quit(), gt_release()         end:N gt_lot_end() key
 * pthread_setspecific()               step           gt_step_at()
 */
#ifndef TESTS_GATE_TRACED_THREADS_H
#define TESTS_GATE_TRACED_THREADS_H

#include <stdarg.h>

#define TRACES_THREADS
#include "traced.h"

#include "gate/priority.h"
#include "gate/step.h"
#define __libc_start_main start_main_of_gate /* this program starts as others do */
#define begin begins
#include "gate/threads.c"
#undef begin

/* What start() finds. The gate stays off when this program starts. */
static struct {
  bool other_libc, no_key, no_memory, bad_options, bad_seed, has_mark, is_joined, asks;
  int join_error, step_error;
} world = {.other_libc = true};

static uint32_t mark, no_mark;
uint32_t *gt_mark = &no_mark;
bool gt_aside_allowed;
struct mt_options mt_options;

/* ---- the gate's other files */

bool gt_layout_holds(void) { return !world.other_libc; }

void gt_priority_refresh(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("asks");
}

struct gt_inherited gt_priority_inherited(struct gt_thread *me, const pthread_attr_t *attr) {
  CHECK(me == &gt_me);
  return (struct gt_inherited){.seen = attr != NULL ? 2 : 1};
}

bool gt_priority_inherit(struct gt_thread *me, const struct gt_inherited *inherited) {
  CHECK(me == &gt_me && me->state == GT_CALL);
  note(inherited->seen == 1 ? "inherits" : "inherits:attr");
  return !world.asks;
}

void gt_quick_start(pid_t tid) {
  EQUAL(tid, gettid());
  note("quick");
}

pid_t gt_quick_tid(void) { return TID + 1; }

void gt_begin(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("begin");
}

void gt_await_permit(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("permit");
}

void gt_lot_quit(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("quit");
}

void gt_lot_end(struct gt_thread *other, int result) {
  char word[64];
  snprintf(word, sizeof word, "end:%d", result);
  note(word);
  other->result = result;
}

void gt_release(struct gt_thread *me, enum gt_state state) {
  CHECK(me == &gt_me);
  note(state == GT_ENDED ? "release:ended" : "release");
}

void gt_monitor_end(void) { note("monitor ends"); }
void gt_monitor_forget(void) { note("no monitor"); }
void gt_once_forget(void) { note("no once"); }
void gt_seed_forget(void) { note("no seed"); }
void mt_client_forget(void) { note("no client"); }
void mt_client_leave(void) {}
void gt_seed_enter(struct gt_thread *other) { note(other == &gt_me ? "seed" : "seed of another"); }

void gt_forget(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("forget");
}

void gt_forget_later(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("later");
}

static unsigned awaited;

void gt_seed_await_thread(struct gt_thread *me, unsigned id) {
  CHECK(me == &gt_me);
  awaited = id;
  note("comes");
}

int gt_seed_start(void) {
  gt_seeded = mt_options.seed != 0;
  return world.bad_seed ? EINVAL : 0;
}

int gt_step_start(void) {
  note("steps");
  return world.step_error;
}

static uintptr_t stepped;

void gt_step_at(uintptr_t function) {
  stepped = function;
  note("step");
}

int mt_options_read(void) { return world.bad_options ? EINVAL : 0; }
void mt_options_warn_of_unknown(void) { note("warns"); }
uint32_t *os_process_mark(void) { return world.has_mark ? &mark : NULL; }
int os_cpus(void) { return 6; }
bool mt_client_is_joined(void) { return world.is_joined; }

int mt_client_join(const char *where, const struct mt_client_program *program) {
  char word[64];
  CHECK(where == mt_options.coordinator && program->role == MT_PROTO_LIBMLTP);
  snprintf(word, sizeof word, "joins:%u", program->most);
  note(word);
  return world.join_error;
}

void mt_message(const char *format, ...) {
  (void)format;
  note("message");
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
  CHECK(value == &gt_me);
  EQUAL(key, 5);
  note("key");
  return 0;
}

void __wrap_pthread_testcancel(void);
void __wrap_pthread_testcancel(void) { note("testcancel"); }

int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  CHECK(before == NULL && parent == NULL && child == gt_begin_child);
  note("atfork");
  return 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  note("malloc");
  return world.no_memory ? NULL : __real_malloc(size);
}

/* ---- libc */

static void *(*created)(void *);
static void *created_with;

static int libc_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                       void *arg) {
  (void)attr;
  *thread = 77;
  created = func;
  created_with = arg;
  note("create");
  return answer();
}

static void (*at_end)(void *);

static int libc_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  *key = 5;
  at_end = destructor;
  note("key_create");
  return world.no_key ? EAGAIN : answer();
}

static int libc_tss_create(tss_t *key, tss_dtor_t destructor) {
  (void)destructor;
  *key = 6;
  note("tss_create");
  return answer();
}

static int joins(const char *name, pthread_t thread, void **result, uint32_t away) {
  EQUAL(thread, 77);
  EQUAL(gt_me.away, away);
  *result = &world;
  note(name);
  return answer();
}

static int libc_join(pthread_t thread, void **result) { return joins("join", thread, result, 1); }

static int libc_tryjoin(pthread_t thread, void **result) {
  return joins("tryjoin", thread, result, 0);
}

static const struct timespec until = {7, 8};

static int libc_clockjoin(pthread_t thread, void **result, clockid_t clock,
                          const struct timespec *end) {
  CHECK(end == &until);
  clock_seen = clock;
  return joins("clockjoin", thread, result, 0);
}

static int libc_cancel(pthread_t thread) {
  EQUAL(thread, 77);
  note("cancel");
  return answer();
}

static int mains(int argc, char **argv, char **environment) {
  (void)argv;
  (void)environment;
  return argc;
}

static void nothing(void) {}

static int libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                           void (*init)(void), void (*fini)(void), void (*loader)(void),
                           void *stack) {
  CHECK(main == mains && argc == 3 && argv == (char **)&world && init == nothing && fini == NULL &&
        loader == nothing && stack == &mark);
  note("start_main");
  return answer();
}

/* ---- stages */

static const struct gt_next libc = {.create = libc_create,
                                    .key_create = libc_key_create,
                                    .key_create_c11 = libc_tss_create,
                                    .join = libc_join,
                                    .tryjoin = libc_tryjoin,
                                    .clockjoin = libc_clockjoin,
                                    .cancel = libc_cancel,
                                    .start_main = libc_start_main};

void gt_next_find(void) {
  note("find");
  gt_next = libc;
  gt_next.start_main = libc_start_main; /* analysers do not see the line before */
}

enum { THREADS = 40 };

static struct gt_thread t[THREADS];

/* The caller runs, and is thread 77. */
static inline void stage(bool seeded) {
  begin();
  memset(&world, 0, sizeof world);
  memset(by_handle, 0, sizeof by_handle);
  memset(t, 0, sizeof t);
  gt_next = libc;
  gt_seeded = seeded;
  is_on = true;
  joins_later = has_destructors = false;
  beginnings = NULL;
  end_key = 5;
  gt_me.state = GT_RUNS;
  trace[0] = '\0';
}

/* The caller is a new thread. */
static inline void stage_new(void) {
  memset(by_handle, 0, sizeof by_handle);
  gt_gate.all = NULL;
  gt_gate.threads = 0;
  gt_me = (struct gt_thread){.state = GT_NEW};
}

static inline void off(void) {
  is_on = false;
  gt_me.open = 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How foreign and bound threads come and go, step by step (src/core/life/outside.c): one kernel
 * thread plays them, and other files only note what is asked of them.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/life/outside.c"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/noted_message.h"
#include "support/support.h"

enum { KEY = 5, LOW = 0x1000, SIZE = 0x2000 };

static struct mltp_thread thread;
static struct mltp_thread *const self = &thread;

/* ---- what others are asked */

static struct {
  bool no_descriptor, is_executable;
  int hook_error, value_error, start_error;
} world;

int __wrap_os_thread_exit_hook(pthread_key_t *key, void (*func)(void *));
int __wrap_os_thread_exit_hook(pthread_key_t *key, void (*func)(void *)) {
  CHECK(func == kernel_thread_ends);
  *key = KEY;
  note("hook");
  return world.hook_error;
}

int __wrap_os_thread_exit_value(pthread_key_t key, void *value);
int __wrap_os_thread_exit_value(pthread_key_t key, void *value) {
  CHECK_EQUAL(key, KEY);
  CHECK(value == NULL || value == self);
  note(value != NULL ? "watch" : "unwatch");
  return world.value_error;
}

void __wrap_os_thread_stack(char **low, size_t *size);
void __wrap_os_thread_stack(char **low, size_t *size) {
  *low = (char *)LOW;
  *size = SIZE;
}

struct mltp_thread *__wrap_mt_foreign_new(void);
struct mltp_thread *__wrap_mt_foreign_new(void) {
  note("new");
  return world.no_descriptor ? NULL : self;
}

void __wrap_mt_foreign_free(struct mltp_thread *t);
void __wrap_mt_foreign_free(struct mltp_thread *t) {
  CHECK(t == self && mt_current() == NULL);
  note("free");
}

void __wrap_mt_values_end_slow(struct mltp_thread *t);
void __wrap_mt_values_end_slow(struct mltp_thread *t) {
  CHECK(t == self && mt_current() == self); /* destructors may make calls */
  note("values");
}

void __wrap_mt_end(struct mltp_thread *t, void *result);
void __wrap_mt_end(struct mltp_thread *t, void *result) {
  CHECK(t == self && result == &world && mt_current() == NULL);
  CHECK_EQUAL(mt_rt.outside.ended, 0);
  note("end");
}

void __wrap_mt_finalizer_check(void);
void __wrap_mt_finalizer_check(void) {
  CHECK_EQUAL(mt_rt.outside.ended, 1);
  note("finalizer");
}

void __wrap_mt_park_last(void);
void __wrap_mt_park_last(void) {
  CHECK_EQUAL(mt_rt.outside.bound_live, 2);
  note("last");
}

void __wrap_os_sigstack_make(void);
void __wrap_os_sigstack_make(void) { note("sigstack"); }

void __wrap_os_sigstack_free(void);
void __wrap_os_sigstack_free(void) { note("no_sigstack"); }

bool __wrap_mt_stacks_are_executable(void);
bool __wrap_mt_stacks_are_executable(void) { return world.is_executable; }

int __wrap_os_enable(void *address, size_t size, bool executable);
int __wrap_os_enable(void *address, size_t size, bool executable) {
  CHECK(address == (void *)LOW && size == SIZE && executable);
  note("enable");
  return 0;
}

int __wrap_mt_options_read(void);
int __wrap_mt_options_read(void) {
  note("options");
  return 0;
}

static void *(*started)(void *);

int __wrap_os_thread_start_detached(size_t stack_size, void *(*func)(void *), void *arg);
int __wrap_os_thread_start_detached(size_t stack_size, void *(*func)(void *), void *arg) {
  CHECK(stack_size == SIZE && arg == self);
  CHECK_EQUAL(mt_rt.outside.bound_live, 1); /* it may end at once */
  started = func;
  note("start");
  return world.start_error;
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  CHECK(word == &mt_rt.outside.bound_live && count == 1);
  note("wake");
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(word == &mt_rt.outside.bound_live && expected == *word && deadline == MLTP_NEVER);
  note("sleep");
  --*word;
  return 0;
}

int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...);
int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...) {
  CHECK(error == EPERM && id == 0 && format != NULL);
  CHECK_TEXT(call, "mltp_x");
  CHECK_TEXT(name, "");
  note("misuse");
  return error;
}

static void stage(enum mt_kind kind) {
  memset(&mt_rt, 0, sizeof mt_rt);
  memset(self, 0, sizeof *self);
  memset(&world, 0, sizeof world);
  self->kind = (uint8_t)kind;
  self->has_values = 1;
  mt_rt.running = 1;
  exit_key = KEY;
  mt_set_current(NULL);
  trace[0] = '\0';
}

/* ---- foreign threads */

static void the_hook_is_made_once(void) {
  stage(MT_FOREIGN);
  exit_key_made = false;
  world.hook_error = EAGAIN;
  CHECK_EQUAL(mt_outside_init(), EAGAIN);
  world.hook_error = 0;
  CHECK_EQUAL(mt_outside_init(), 0);
  TRACE("hook hook");
  CHECK_EQUAL(mt_outside_init(), 0);
  TRACE("");
}

static void a_foreign_thread_is_noticed_at_its_first_call(void) {
  stage(MT_FOREIGN);
  CHECK(mt_self("mltp_x") == self && mt_current() == self);
  TRACE("new watch");
  CHECK(self->stack_low == (char *)LOW && self->stack_size == SIZE);
  CHECK_EQUAL(mt_rt.outside.foreign_live, 1);
  CHECK(mt_self("mltp_x") == self);
  TRACE("");
  stage(MT_FOREIGN);
  mt_rt.running = 0;
  CHECK(mt_attach("mltp_x") == NULL && mt_current() == NULL);
  TRACE("options misuse");
  stage(MT_FOREIGN);
  world.no_descriptor = true;
  CHECK(mt_attach("mltp_x") == NULL);
  TRACE("new message");
  CHECK(strstr(message, "mltp_x: a foreign thread got no descriptor") != NULL);
  stage(MT_FOREIGN);
  world.value_error = ENOMEM;
  CHECK(mt_attach("mltp_x") == NULL && mt_current() == NULL);
  TRACE("new watch message free");
  CHECK_EQUAL(mt_rt.outside.foreign_live, 0);
}

static void what_is_not_replayed_is_said_once(void) {
  stage(MT_FOREIGN);
  mt_det_on = true;
  mt_attach("mltp_x");
  TRACE("new watch message");
  CHECK(strstr(message, "mltp_x: called by a foreign thread") != NULL);
  mt_attach("mltp_x");
  TRACE("new watch");
  mt_det_on = false;
}

static void a_foreign_thread_is_freed_at_its_end(void) {
  stage(MT_FOREIGN);
  kernel_thread_ends(self); /* a bound thread that ended as it should */
  TRACE("");
  mt_set_current(self);
  mt_rt.outside.foreign_live = 3;
  kernel_thread_ends(self);
  TRACE("values free");
  CHECK_EQUAL(mt_rt.outside.foreign_live, 2);
}

static void a_child_forgets_its_thread(void) {
  static const enum mt_kind kinds[] = {MT_UNBOUND, MT_BOUND, MT_FOREIGN};
  for (int i = 0; i < 3; i++) {
    stage(kinds[i]);
    mt_outside_forget(self);
    TRACE(kinds[i] == MT_UNBOUND ? "" : "unwatch");
  }
  mt_outside_forget(NULL);
  TRACE("");
  mt_outside_watch(self);
  TRACE("watch");
}

/* ---- bound threads */

static void a_bound_thread_starts_counted(void) {
  stage(MT_BOUND);
  self->stack_low = "x";
  self->stack_size = 7;
  self->token = 1;
  CHECK_EQUAL(mt_bound_start(self, SIZE), 0);
  TRACE("start");
  CHECK(started == bound_main && self->stack_low == NULL && self->stack_size == 0 &&
        self->token == 0);
  CHECK_EQUAL(mt_rt.outside.bound_live, 1);
  stage(MT_BOUND);
  world.start_error = EAGAIN;
  CHECK_EQUAL(mt_bound_start(self, SIZE), EAGAIN);
  CHECK_EQUAL(mt_rt.outside.bound_live, 0);
}

static void *return_world(void *arg) {
  CHECK(mt_current() == self && self->stack_low == (char *)LOW && self->stack_size == SIZE);
  note("function");
  return arg;
}

static void *finish_early(void *arg) {
  note("function");
  mt_bound_finish(self, arg);
}

static void *become_a_child(void *arg) {
  note("function");
  mt_set_current(NULL); /* by fork() */
  return arg;
}

static void bound_threads_end(void) {
  void *(*const functions[])(void *) = {return_world, finish_early};
  for (int i = 0; i < 2; i++) {
    stage(MT_BOUND);
    self->func = functions[i];
    self->arg = &world;
    mt_rt.outside.bound_live = 2;
    CHECK(bound_main(self) == NULL);
    TRACE("watch sigstack function unwatch values end finalizer last no_sigstack wake");
    CHECK_EQUAL(mt_rt.outside.bound_live, 1);
    CHECK_EQUAL(mt_rt.outside.ended, 1);
  }
  stage(MT_BOUND);
  world.is_executable = true;
  self->func = become_a_child;
  mt_rt.outside.bound_live = 2;
  CHECK(bound_main(self) == NULL);
  TRACE("watch sigstack enable function unwatch");
  CHECK_EQUAL(mt_rt.outside.bound_live, 2);
}

static void the_end_waits_for_all_of_them(void) {
  stage(MT_BOUND);
  mt_bound_wait_all();
  TRACE("");
  mt_rt.outside.bound_live = 3;
  mt_bound_wait_all();
  TRACE("sleep sleep sleep");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(the_hook_is_made_once),
      TEST_BARE(a_foreign_thread_is_noticed_at_its_first_call),
      TEST_BARE(what_is_not_replayed_is_said_once),
      TEST_BARE(a_foreign_thread_is_freed_at_its_end),
      TEST_BARE(a_child_forgets_its_thread),
      TEST_BARE(a_bound_thread_starts_counted),
      TEST_BARE(bound_threads_end),
      TEST_BARE(the_end_waits_for_all_of_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rank_threads.h
 * What is around src/tmpi/run/threads.c, for tests of single calls: libc's threads, of which each
 * runs to its end when it is created, and the rest of the library. Every call is in the trace. One
 * file of a test includes it.
 */
#ifndef TESTS_MPI_RANK_THREADS_H
#define TESTS_MPI_RANK_THREADS_H

#include "traced_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/direct_switch.h"
#include "core/internal/process.h"
#include "core/internal/thread.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "os/os.h"
#include "os/pthreads.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/joins.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/working_directory.h"

enum { OTHER = 5 /* another thread's number */, FIRST = 6 /* of the process's first thread */ };

static struct tm_program program;
struct tm_program *tm_the_program = &program;
static struct tm_process processes[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
static struct tm_process *caller; /* NULL: the thread belongs to none */
static bool in_child, is_native;
static char text[1000];
static jmp_buf left;

struct tm_process *tm_process_here(void) { return caller; }
struct tm_process *tm_process_self(void) { return in_child ? NULL : caller; }
bool tm_process_is_child(void) { return in_child; }
bool mti_is_native(void) { return is_native; }
mltp_t *mltp_self(void) { return (mltp_t *)&processes[0]; }

/* ---- libc's threads: one runs at once, on a kernel thread */

static int create_error, join_error;
static bool runs_beside; /* the pthread runs beside its creator, when `may_run` is posted */
static sem_t may_run;
static pthread_t beside;
static __thread pid_t number_here = 100;
static pid_t next_number;
static __thread void (*at_end[2])(void *); /* in the order of the calls */
static __thread void *arguments[2];
static __thread int ends;
static bool may_register;
static struct {
  void *(*function)(void *);
  void *argument, *result;
} pthread;

static int register_here(void (*function)(void *), void *argument, void *of) {
  assert_non_null(of);
  if (!may_register) return -1;
  at_end[ends] = function;
  arguments[ends++] = argument;
  return 0;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  assert_ptr_equal(handle, RTLD_NEXT);
  assert_string_equal(name, "__cxa_thread_atexit_impl");
  return (void *)register_here;
}

static void *run_pthread(void *unused) {
  (void)unused;
  if (runs_beside) sem_wait(&may_run);
  number_here = next_number;
  pthread.result = pthread.function(pthread.argument);
  while (ends > 0) {
    ends--;
    at_end[ends](arguments[ends]);
  }
  return NULL;
}

int os_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument) {
  (void)attr;
  note("create");
  if (create_error != 0) return create_error;
  *thread = OTHER;
  pthread.function = function;
  pthread.argument = argument;
  pthread_t one;
  bool joined = !runs_beside; /* the pthread may change it */
  assert_int_equal(pthread_create(&one, NULL, run_pthread, NULL), 0);
  if (joined) return pthread_join(one, NULL);
  beside = one;
  return 0;
}

pthread_t os_pthread_self(void) { return (pthread_t)number_here; }
pthread_t os_pthread_first(void) { return FIRST; }
bool os_pthread_is_first(pthread_t thread) { return thread == FIRST; }
bool os_pthread_is_self(pthread_t thread) { return thread == (pthread_t)number_here; }

int os_pthread_join(pthread_t thread, void **result) {
  note("join:%d", (int)thread);
  if (result != NULL) *result = (void *)(intptr_t)-7;
  return join_error;
}

int os_pthread_tryjoin(pthread_t thread, void **result) {
  (void)result;
  note("tryjoin:%d", (int)thread);
  return join_error;
}

int os_pthread_clockjoin(pthread_t thread, void **result, clockid_t clock,
                         const struct timespec *time) {
  (void)result;
  note("clockjoin:%d,%d,%d", (int)thread, (int)clock, (int)time->tv_sec);
  return join_error;
}

int os_pthread_detach(pthread_t thread) {
  note("detach:%d", (int)thread);
  return join_error;
}

void os_pthread_exit(void *result) {
  note("pthread_exit:%d", (int)(intptr_t)result);
  longjmp(left, 1);
}

int os_pthread_getattr(pthread_t thread, pthread_attr_t *attr) {
  (void)attr;
  note("getattr:%d", (int)thread);
  return 44;
}

int os_pthread_setaffinity(pthread_t thread, size_t size, const cpu_set_t *cpus) {
  (void)size, (void)cpus;
  note("bind:%d", (int)thread);
  return 45;
}

pid_t __wrap_gettid(void);
pid_t __wrap_gettid(void) { return number_here; }

static int bind_error;
int __wrap_sched_setaffinity(pid_t task, size_t size, const cpu_set_t *cpus);
int __wrap_sched_setaffinity(pid_t task, size_t size, const cpu_set_t *cpus) {
  (void)size, (void)cpus;
  note("bind_task:%d", (int)task);
  errno = bind_error;
  return bind_error != 0 ? -1 : 0;
}

static uint64_t mask_here; /* of a pthread that creates one */

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
  uint64_t word = 0;
  if (before != NULL) memset(before, 0x11, sizeof *before); /* what the creator blocks */
  if (set == NULL) {
    assert_int_equal(how, SIG_BLOCK);
    memcpy(before, &mask_here, sizeof mask_here);
    return 0;
  }
  assert_int_equal(how, SIG_SETMASK);
  memcpy(&word, set, sizeof word);
  if (sigismember(set, SIGHUP) && sigismember(set, SIGRTMAX))
    note("block_all");
  else
    note("mask:%llx", (unsigned long long)word);
  return 0;
}

/* ---- the rest of the library */

static struct tm_join *join;  /* of the next pthread; NULL: it has none */
static struct tm_join *taken; /* by tm_join_take() */
static bool has_values;
static int copy_error, enter_error;
static char *copy; /* of the thread-locals; NULL: the program has none */
static char locals[64];

struct tm_join *tm_join_new(const pthread_attr_t *attr) {
  (void)attr;
  note("join_new");
  return join;
}

static const char *name_of(const struct tm_join *one) {
  return one == NULL ? "none" : one == join ? "its" : "taken";
}

void tm_join_exists(struct tm_join *one, const pthread_t *thread) {
  note("exists:%s,%d", name_of(one), (int)*thread);
}

void tm_join_created(struct tm_join *one) { note("created:%s", name_of(one)); }
void tm_join_cancel(struct tm_join *one) { note("cancel:%s", name_of(one)); }
void tm_join_ended(struct tm_join *one) { note("ended:%s", name_of(one)); }

struct tm_join *tm_join_take(pthread_t thread) {
  note("take:%d", (int)thread);
  return taken;
}

void tm_join_wait(struct tm_join *one) { note("wait:%s", name_of(one)); }
void tm_join_forget(struct tm_join *one) { note("forget:%s", name_of(one)); }
void tm_join_put_back(struct tm_join *one) { note("put_back:%s", name_of(one)); }
void mltp_blocking_begin(void) { note("["); }
void mltp_blocking_end(void) { note("]"); }

bool tm_values_start(void) { return has_values; }
void tm_values_end(void) { note("values_end"); }

struct tm_values *tm_values_exchange(struct tm_values *values) {
  static struct tm_values *now;
  struct tm_values *before = now;
  now = values;
  return before;
}

int tm_program_rank_of(const struct tm_program *p, const void *address) {
  assert_ptr_equal(p, &program);
  return address == locals ? 0 : -1;
}

char *tm_program_locals(const struct tm_program *p, int rank) {
  assert_true(p == &program && rank == 1);
  return locals;
}

int tm_program_copy_locals(const struct tm_program *p, int rank, char **made) {
  assert_true(p == &program && rank >= 0);
  *made = copy_error == 0 ? copy : NULL;
  return copy_error;
}

void tm_program_free_locals(char *one) {
  note("free_locals%s", one == NULL ? "" : one == copy ? ":copy" : "?");
}

int tm_handler_push(struct tm_handler **list, void (*function)(void *), void *argument) {
  note("push:%d", (int)(list == &caller->at_thread_exit));
  return function != NULL && argument == text ? 31 : 32;
}

uint64_t tm_signals_mask(const struct tm_signals *signals) {
  assert_non_null(signals);
  return 0x400;
}

void mltp_await_wake(const uint32_t *word) {
  assert_ptr_equal(word, &caller->pthreads);
  note("wake:%u", *word);
}

void mti_allow_code_on_stack(void) { note("code_on_stack"); }
void tm_carry_apply(uint32_t number) { note("carry:%u", number); }
void tm_mappings_start_pthread(void) { note("stack"); }

int tm_rank_enter(int number) {
  note("enter:%d", number);
  return enter_error;
}

void tm_job_abort(int status) {
  note("abort:%d", status);
  pthread_exit(NULL);
}

void tm_process_exit_thread(struct tm_process *process) {
  note("rank_exits:%d", process->number);
  longjmp(left, 1);
}

static char rank_stack[64];
static bool has_stack;

bool mti_stack_of(const struct mltp_thread *thread, const char **low, size_t *size) {
  assert_ptr_equal(thread, caller->thread);
  *low = rank_stack;
  *size = 1 << 20;
  return has_stack;
}

bool os_task_is_here(pid_t tid) { return tid >= 100; }

/* ---- the calls of a rank's program */

static inline tm_any *row(const char *name) { return overridden(tm_override_threads, name); }

static void *(*program_does)(void *); /* in the pthread */

static void *work(void *argument) {
  note("works");
  assert_true(tm_on_pthread());
  return program_does != NULL ? program_does(argument) : argument;
}

static inline int create(void) {
  pthread_t thread = 0;
  int error = tm_create_pthread(&thread, NULL, work, text);
  if (error == 0) assert_int_equal(thread, OTHER);
  return error;
}

static inline int start(void **state) {
  (void)state;
  caller = &processes[1];
  in_child = runs_beside = false;
  is_native = has_values = may_register = has_stack = true;
  create_error = join_error = copy_error = enter_error = bind_error = 0;
  next_number = 200;
  copy = NULL;
  join = (struct tm_join *)&join;
  taken = (struct tm_join *)&taken;
  program_does = NULL;
  mask_here = 0x20;
  processes[1].signals = NULL;
  processes[1].pthreads = 0;
  processes[1].thread = (mltp_t *)&processes[1];
  memory_is_out = false;
  blocks = 0;
  trace[0] = '\0';
  return 0;
}

static inline int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
  return 0;
}

/* What a pthread without thread-locals does, and then its creator. */
#define STARTS "join_new block_all create exists:its,200 code_on_stack enter:1 carry:2 stack "
#define ENDS "values_end free_locals wake:0 ended:its "
#define CREATED "mask:1111111111111111 exists:its,5 created:its "

#define ROW(name) cmocka_unit_test_setup_teardown(name, start, end)

#endif

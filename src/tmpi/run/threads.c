/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's threads: what is thread-local to them, and the pthreads a rank makes. Those belong to
 * the rank. When the rank itself waits for them its VP waits in the kernel, and another VP runs the
 * other ranks meanwhile (blocking.c has their locks).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/direct_switch.h"
#include "core/internal/locks.h"
#include "core/internal/process.h"
#include "core/internal/thread.h"
#include "os/os.h"
#include "os/pthreads.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/joins.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/working_directory.h"

/* ---- thread-local variables: module words point to the rank's block; a pthread of the rank's has
 * a block of its own, so far from that. */

static __thread ptrdiff_t own_distance; /* 0: the rank's own thread, or there are none */
static __thread bool is_pthread;

bool tm_on_pthread(void) { return is_pthread; }

struct tm_locals tm_locals_exchange(struct tm_locals locals) {
  struct tm_locals before = {own_distance, tm_values_exchange(locals.values), is_pthread};
  own_distance = locals.distance;
  is_pthread = locals.is_pthread;
  return before;
}

struct tls_index {
  char *block;
  size_t offset;
};

static void *tls_address(const struct tls_index *index) {
  return index->block + own_distance + index->offset;
}

typedef int register_function(void (*)(void *), void *, void *);

static int register_with_libc(void (*function)(void *), void *argument, void *of) {
  static register_function *libc;
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
  return libc(function, argument, of);
}

TM_EXPORTED register_function __cxa_thread_atexit_impl;

/* C++: destructors of thread-local objects. libc calls them at the end of a kernel thread. */
TM_EXPORTED int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *of) {
  struct tm_process *process = tm_process_self();
  bool of_rank = process != NULL && !is_pthread && tm_program_rank_of(tm_the_program, of) >= 0;
  return of_rank ? tm_handler_push(&process->at_thread_exit, function, argument)
                 : register_with_libc(function, argument, of);
}

/* ---- the kernel's numbers of ranks' pthreads, by which programs bind these to CPUs */

struct task {
  pid_t number; /* 0: no pthread of a rank's */
  int rank;
  struct task *next, **link;
};

static struct task *tasks;            /* [ilock] */
static uint32_t tasks_ilock;          /* of tasks */
static __thread struct task own_task; /* of the calling pthread */

static void add_task(int rank) {
  own_task = (struct task){.number = gettid(), .rank = rank, .link = &tasks};
  mti_lock(&tasks_ilock);
  own_task.next = tasks;
  if (tasks != NULL) tasks->link = &own_task.next;
  tasks = &own_task;
  mti_unlock(&tasks_ilock);
}

static void remove_task(void) {
  if (own_task.number == 0 || tm_process_is_child()) return;
  mti_lock(&tasks_ilock);
  *own_task.link = own_task.next;
  if (own_task.next != NULL) own_task.next->link = own_task.link;
  mti_unlock(&tasks_ilock);
}

static bool is_task_of(int rank, pid_t number) {
  mti_lock(&tasks_ilock);
  const struct task *task = tasks;
  while (task != NULL && (task->number != number || task->rank != rank)) task = task->next;
  mti_unlock(&tasks_ilock);
  return task != NULL;
}

/* ---- a rank's own pthreads */

struct start {
  int rank;
  uint64_t blocked; /* signals */
  char *locals;     /* NULL: the program has none */
  struct tm_join *join;
  void *(*function)(void *);
  void *argument;
};

static __thread struct tm_join *own_join; /* of a rank's pthread; NULL: none */

static void end_pthread(void *locals) {
  struct tm_process *process = tm_process_here();
  tm_values_end();
  own_distance = 0;
  remove_task();
  tm_program_free_locals(locals);
  if (process != NULL) mt_add_acq_rel(&process->pthreads, -1U); /* JN-2 acq_rel: pairs JN-2 */
  if (process != NULL && !tm_process_is_child()) mltp_await_wake(&process->pthreads);
  tm_join_ended(own_join);
}

/* A pthread starts with its creator's mask. */
static uint64_t blocked_by(const struct tm_process *process) {
  sigset_t set;
  uint64_t word;
  if (!is_pthread) return process->signals != NULL ? tm_signals_mask(process->signals) : 0;
  pthread_sigmask(SIG_BLOCK, NULL, &set);
  memcpy(&word, &set, sizeof word);
  return word;
}

static void block(uint64_t word) {
  sigset_t set;
  sigemptyset(&set);
  memcpy(&set, &word, sizeof word);
  pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static void *start_pthread(void *argument) {
  struct start start = *(struct start *)argument;
  const pthread_t self = os_pthread_self();
  free(argument);
  tm_join_exists(start.join, &self);
  bool in_child = tm_process_is_child(); /* of fork(), where the runtime does not run */
  is_pthread = true;
  own_join = start.join;
  if (!in_child) mti_allow_code_on_stack();
  if (start.locals != NULL)
    own_distance = start.locals - tm_program_locals(tm_the_program, start.rank);
  /* the first to be registered is the last to be called */
  if (register_with_libc(end_pthread, start.locals, &own_distance) != 0 || !tm_values_start() ||
      (!in_child && tm_rank_enter(start.rank) != 0)) {
    fprintf(stderr, "tmpirun: rank %d: no memory to start a pthread (fewer of them)\n", start.rank);
    tm_job_abort(1);
  }
  if (!in_child) {
    add_task(start.rank);
    tm_carry_apply((uint32_t)start.rank + 1);
    tm_mappings_start_pthread();
  }
  block(start.blocked);
  return start.function(start.argument);
}

/* It blocks all signals until it belongs to its rank: until then a signal that is sent to it would
 * be taken for one from outside. */
static int start_blocked(pthread_t *thread, const pthread_attr_t *attr, struct start *start) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = os_pthread_create(thread, attr, start_pthread, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

/* libc stores the number before the pthread runs, and programs rely on that: it reads its own
 * number there, or frees what it is in. */
int tm_create_pthread(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument) {
  struct tm_process *process = tm_process_here();
  if (process == NULL) return os_pthread_create(thread, attr, function, argument);
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return EAGAIN;
  int rank = process->number;
  struct tm_join *join = tm_process_is_child() ? NULL : tm_join_new(attr);
  *start = (struct start){rank, blocked_by(process), NULL, join, function, argument};
  int error = tm_program_copy_locals(tm_the_program, rank, &start->locals);
  mt_add_relaxed(&process->pthreads, 1); /* relaxed: a count */
  if (error == 0) error = start_blocked(thread, attr, start);
  if (error == 0) {
    tm_join_exists(join, thread);
    tm_join_created(join);
    return 0;
  }
  mt_add_relaxed(&process->pthreads, -1U); /* relaxed: a count */
  tm_join_cancel(join);
  tm_program_free_locals(start->locals);
  free(start);
  return EAGAIN;
}

static int end_join(struct tm_join *join, int error) {
  if (error == 0)
    tm_join_forget(join);
  else
    tm_join_put_back(join);
  return error;
}

/* A rank that handles signals waits in the kernel, where a signal for its own thread interrupts it:
 * the pthread may send one before it ends. A pthread that joins itself gets an error of libc's. */
static int join_pthread(pthread_t thread, void **result) {
  const struct tm_process *process = tm_process_self();
  bool interrupted = process != NULL && !is_pthread && process->signals != NULL;
  bool itself = is_pthread && os_pthread_is_self(thread);
  struct tm_join *join = itself ? NULL : tm_join_take(thread);
  if (!interrupted) tm_join_wait(join);
  mltp_blocking_begin();
  int error = os_pthread_join(thread, result);
  mltp_blocking_end();
  return end_join(join, error);
}

static int try_join(pthread_t thread, void **result) {
  struct tm_join *join = tm_join_take(thread);
  return end_join(join, os_pthread_tryjoin(thread, result));
}

static int join_until(pthread_t thread, void **result, clockid_t clock,
                      const struct timespec *time) {
  struct tm_join *join = tm_join_take(thread);
  mltp_blocking_begin();
  int error = os_pthread_clockjoin(thread, result, clock, time);
  mltp_blocking_end();
  return end_join(join, error);
}

static int join_timed(pthread_t thread, void **result, const struct timespec *time) {
  return join_until(thread, result, CLOCK_REALTIME, time);
}

static int detach_pthread(pthread_t thread) {
  tm_join_forget(tm_join_take(thread));
  return os_pthread_detach(thread);
}

static int detach_c11(thrd_t thread) {
  return detach_pthread(thread) == 0 ? thrd_success : thrd_error;
}

static void exit_pthread(void *result) {
  struct tm_process *process = tm_process_self();
  if (process != NULL && process->thread == mltp_self()) tm_process_exit_thread(process);
  os_pthread_exit(result);
}

/* ---- threads of C11, which are pthreads with an int as result */

struct c11_start {
  thrd_start_t function;
  void *argument;
};

static void *start_c11(void *argument) {
  struct c11_start start = *(struct c11_start *)argument;
  free(argument);
  return (void *)(intptr_t)start.function(start.argument);
}

static int create_c11(thrd_t *thread, thrd_start_t function, void *argument) {
  struct c11_start *start = malloc(sizeof *start);
  if (start == NULL) return thrd_nomem;
  *start = (struct c11_start){function, argument};
  int error = tm_create_pthread(thread, NULL, start_c11, start);
  if (error == 0) return thrd_success;
  free(start);
  return error == ENOMEM ? thrd_nomem : thrd_error;
}

static int join_c11(thrd_t thread, int *result) {
  void *value;
  if (join_pthread(thread, &value) != 0) return thrd_error;
  if (result != NULL) *result = (int)(intptr_t)value;
  return thrd_success;
}

__attribute__((noreturn)) static void exit_c11(int result) {
  exit_pthread((void *)(intptr_t)result);
  __builtin_unreachable();
}

/* ---- where they run: a rank's own thread runs on VPs, which other ranks run on, too; it is not
 * bound to CPUs, as one is not on a machine where a job may not bind */

static bool is_own(pthread_t thread) {
  return os_pthread_is_first(thread) || (!is_pthread && os_pthread_is_self(thread));
}

/* A rank's own thread has one number, on whatever VP it runs: libraries know by it whose a lock is,
 * or which thread has loaded them. It is that of the process's first thread, which no pthread of a
 * rank has. */
static pthread_t self_of_rank(void) {
  return is_pthread || tm_process_self() == NULL || !mti_is_native() ? os_pthread_self()
                                                                     : os_pthread_first();
}

/* Garbage collectors and interpreters ask for the bounds of their stack. */
static int get_attributes(pthread_t thread, pthread_attr_t *attr) {
  const struct tm_process *process = tm_process_here();
  const char *low;
  size_t size;
  bool of_rank = process != NULL && is_own(thread);
  if (!of_rank || !mti_stack_of(process->thread, &low, &size))
    return os_pthread_getattr(thread, attr);
  int error = pthread_attr_init(attr);
  if (error == 0) error = pthread_attr_setstack(attr, (void *)(uintptr_t)low, size);
  return error != 0 ? error : pthread_attr_setguardsize(attr, 0);
}

/* @return whether the kernel refuses a set in any case: it says so, and changes nothing. */
static bool is_no_set(size_t size, const cpu_set_t *cpus) {
  return cpus == NULL || CPU_COUNT_S(size, cpus) == 0;
}

/* A child of fork() has a kernel thread for itself, which libc may know by another number. */
static int set_affinity(pthread_t thread, size_t size, const cpu_set_t *cpus) {
  if (!is_own(thread)) return os_pthread_setaffinity(thread, size, cpus);
  bool asks_kernel = is_no_set(size, cpus) || tm_process_is_child();
  return asks_kernel && sched_setaffinity(0, size, cpus) != 0 ? errno : 0;
}

/* @return whether the number is that of a kernel thread which other ranks run on, too, or which
 * belongs to one of them. Libraries bind a process by the numbers in /proc/self/task. */
static bool is_anothers(pid_t task) {
  const struct tm_process *process = tm_process_here();
  if (process == NULL || tm_process_is_child()) return false;
  if (task == 0 || task == gettid()) return !is_pthread;
  return !is_task_of(process->number, task) && os_task_is_here(task);
}

static int set_affinity_by_id(pid_t task, size_t size, const cpu_set_t *cpus) {
  bool is_ignored = !is_no_set(size, cpus) && is_anothers(task);
  return is_ignored ? 0 : sched_setaffinity(task, size, cpus);
}

const struct tm_override tm_override_threads[] = {
    {"pthread_self", (tm_any *)self_of_rank},
    {"thrd_current", (tm_any *)self_of_rank},
    {"pthread_getattr_np", (tm_any *)get_attributes},
    {"pthread_setaffinity_np", (tm_any *)set_affinity},
    {"sched_setaffinity", (tm_any *)set_affinity_by_id},
    {"__tls_get_addr", (tm_any *)tls_address},
    {"__cxa_thread_atexit", (tm_any *)__cxa_thread_atexit_impl},
    {"__cxa_thread_atexit_impl", (tm_any *)__cxa_thread_atexit_impl},
    {"pthread_create", (tm_any *)tm_create_pthread},
    {"pthread_join", (tm_any *)join_pthread},
    {"pthread_tryjoin_np", (tm_any *)try_join},
    {"pthread_timedjoin_np", (tm_any *)join_timed},
    {"pthread_clockjoin_np", (tm_any *)join_until},
    {"pthread_detach", (tm_any *)detach_pthread},
    {"pthread_exit", (tm_any *)exit_pthread},
    {"thrd_create", (tm_any *)create_c11},
    {"thrd_join", (tm_any *)join_c11},
    {"thrd_detach", (tm_any *)detach_c11},
    {"thrd_exit", (tm_any *)exit_c11},
    {NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that take the place of libc's, because they end a process or keep something for it.
 * The loader binds a program to them; shared libraries find those exported here before libc's, so
 * that a rank ends when a library calls exit(). Who is no rank gets libc's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"

#define SHOWN __attribute__((visibility("default")))

/* ---- ending */

SHOWN void exit(int status) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_process_exit(process, status, false);
  void (*libc)(int);
  *(void **)&libc = dlsym(RTLD_NEXT, "exit");
  libc(status);
  __builtin_unreachable();
}

/* Not exported: our own libraries end the process by libc's. */
static void exit_quickly(int status) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_process_exit(process, status, true);
  _exit(status);
}

static void abort_rank(void) {
  const struct tm_process *process = tm_process_self();
  tm_job_flush();
  if (process != NULL) fprintf(stderr, "tmpirun: rank %d called abort()\n", process->number);
  abort();
}

/* ---- handlers */

static int push(struct tm_handler **list, void (*function)(void *), void *argument) {
  struct tm_handler *handler = malloc(sizeof *handler);
  if (handler == NULL) return -1;
  *handler = (struct tm_handler){*list, function, argument};
  *list = handler;
  return 0;
}

/* of: anything in the object that registers it. What shared libraries register, even when a rank
 * calls them, is the process's. */
static int register_exit(void (*function)(void *), void *argument, void *of) {
  static int (*libc)(void (*)(void *), void *, void *);
  struct tm_process *process = tm_process_self();
  if (process != NULL && tm_program_rank_of(tm_the_program, of) >= 0)
    return push(&process->at_exit, function, argument);
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_DEFAULT, "__cxa_atexit");
  return libc(function, argument, of);
}

static int register_atexit(void (*function)(void)) {
  return register_exit((void (*)(void *))(uintptr_t)function, NULL, (void *)(uintptr_t)function);
}

SHOWN int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *of);

/* C++: destructors of thread-local objects. */
SHOWN int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *of) {
  static int (*libc)(void (*)(void *), void *, void *);
  struct tm_process *process = tm_process_self();
  if (process != NULL && tm_program_rank_of(tm_the_program, of) >= 0)
    return push(&process->at_thread_exit, function, argument);
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
  return libc(function, argument, of);
}

/* An image's own: tm_process_exit() has called all handlers of the rank before. */
static void finalize_object(void *of) { (void)of; }

/* ---- starting: what a program's first instructions call */

static int start_main(int (*main)(int, char **, char **), int argc, char **argv,
                      void (*init)(int, char **, char **), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  (void)fini, (void)rtld_fini, (void)stack_end;
  struct tm_process *process = tm_process_self();
  if (init != NULL) /* linked for a libc before 2.34: it calls its own constructors */
    init(argc, argv, environ);
  else
    tm_program_construct(tm_the_program, process->number, argc, argv, environ);
  exit(main(argc, argv, environ));
}

/* ---- thread-local variables: one block for each rank, which its module word points to */

struct tls_index {
  char *block;
  size_t offset;
};

static void *tls_address(const struct tls_index *index) { return index->block + index->offset; }

/* ---- what libc keeps for the process */

static char *strtok_of_rank(char *text, const char *delimiters) {
  return strtok_r(text, delimiters, &tm_process_self()->strtok_at);
}

static struct random_data *random_of_rank(void) {
  struct tm_process *process = tm_process_self();
  if (process->random.state == NULL) /* as if srand(1) had been called */
    initstate_r(1, process->random_state, sizeof process->random_state, &process->random);
  return &process->random;
}

static long random_by_rank(void) {
  int32_t value;
  random_r(random_of_rank(), &value);
  return value;
}

static int rand_by_rank(void) { return (int)random_by_rank(); }

static void seed_by_rank(unsigned seed) { srandom_r(seed, random_of_rank()); }

/* ---- waiting: the VP goes on */

static int nanosleep_thread(const struct timespec *time, struct timespec *left) {
  if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec > 999999999) {
    errno = EINVAL;
    return -1;
  }
  mltp_sleep((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
  if (left != NULL) *left = (struct timespec){0, 0};
  return 0;
}

static unsigned sleep_thread(unsigned seconds) {
  mltp_sleep((uint64_t)seconds * 1000000000);
  return 0;
}

static int usleep_thread(unsigned microseconds) {
  mltp_sleep((uint64_t)microseconds * 1000);
  return 0;
}

static int yield_thread(void) {
  mltp_yield();
  return 0;
}

/* ---- a rank's own pthreads belong to it */

struct start {
  int rank;
  void *(*function)(void *);
  void *argument;
};

static void *start_pthread(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  if (tm_rank_enter(start.rank) != 0) return NULL;
  return start.function(start.argument);
}

static int create_pthread(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                          void *argument) {
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return EAGAIN;
  *start = (struct start){tm_process_self()->number, function, argument};
  int error = pthread_create(thread, attr, start_pthread, start);
  if (error != 0) free(start);
  return error;
}

/* The kernel thread waits; another VP runs the other ranks meanwhile. */
static int join_pthread(pthread_t thread, void **result) {
  mltp_blocking_begin();
  int error = pthread_join(thread, result);
  mltp_blocking_end();
  return error;
}

static int wait_at_barrier(pthread_barrier_t *barrier) {
  mltp_blocking_begin();
  int error = pthread_barrier_wait(barrier);
  mltp_blocking_end();
  return error;
}

/* ---- the table */

typedef void any(void);

const void *tm_override(const char *name) {
  static const struct {
    const char *name;
    any *function;
  } table[] = {
      {"exit", (any *)exit},
      {"_exit", (any *)exit_quickly},
      {"_Exit", (any *)exit_quickly},
      {"quick_exit", (any *)exit_quickly},
      {"abort", (any *)abort_rank},
      {"atexit", (any *)register_atexit},
      {"__cxa_atexit", (any *)register_exit},
      {"__cxa_thread_atexit", (any *)__cxa_thread_atexit_impl},
      {"__cxa_thread_atexit_impl", (any *)__cxa_thread_atexit_impl},
      {"__cxa_finalize", (any *)finalize_object},
      {"__libc_start_main", (any *)start_main},
      {"__tls_get_addr", (any *)tls_address},
      {"strtok", (any *)strtok_of_rank},
      {"rand", (any *)rand_by_rank},
      {"random", (any *)random_by_rank},
      {"srand", (any *)seed_by_rank},
      {"srandom", (any *)seed_by_rank},
      {"nanosleep", (any *)nanosleep_thread},
      {"sleep", (any *)sleep_thread},
      {"usleep", (any *)usleep_thread},
      {"sched_yield", (any *)yield_thread},
      {"pthread_create", (any *)create_pthread},
      {"pthread_join", (any *)join_pthread},
      {"pthread_barrier_wait", (any *)wait_at_barrier},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (strcmp(table[i].name, name) == 0) return (const void *)(uintptr_t)table[i].function;
  return NULL;
}

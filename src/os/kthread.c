/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel threads, by way of libc's, so that all of libc works on them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "os/os.h"

enum { LARGE_STACK = 16 << 20, LARGE_GUARD = 1 << 20 }; /* as those of core/memory/stack.h */

uint32_t os_process(void) { return (uint32_t)getpid(); }

/* libc takes its per-thread data and the program's thread-local variables out of
 * the stack one asks for; this is how much (a private function of glibc, which
 * other runtimes ask too). */
static size_t stack_overhead(const pthread_attr_t *attr) {
  size_t (*minimum)(const pthread_attr_t *) =
      (size_t (*)(const pthread_attr_t *))(uintptr_t)os_symbol("__pthread_get_minstack");
  return minimum != NULL ? minimum(attr) : 0;
}

/* EINVAL would be the caller's mistake. */
static int refusal(int error) { return error == EINVAL ? EAGAIN : error; }

int os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                    void *(*func)(void *), void *arg) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return EAGAIN;
  affinity->narrowed = false;
  if (elsewhere) os_affinity_start_elsewhere(affinity, &attr);
  int error = pthread_create(thread, &attr, func, arg);
  pthread_attr_destroy(&attr);
  if (error != 0 && affinity->narrowed) { /* that CPU went, or a filter refuses masks */
    affinity->narrowed = false;
    error = pthread_create(thread, NULL, func, arg);
  }
  return refusal(error);
}

int os_thread_start_detached(size_t stack_size, void *(*func)(void *), void *arg) {
  pthread_t thread;
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return EAGAIN;
  int error = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  if (error == 0 && stack_size >= LARGE_STACK) pthread_attr_setguardsize(&attr, LARGE_GUARD);
  if (error == 0) error = pthread_attr_setstacksize(&attr, stack_size + stack_overhead(&attr));
  if (error == 0) error = pthread_create(&thread, &attr, func, arg);
  pthread_attr_destroy(&attr);
  return refusal(error);
}

int os_thread_start_quiet(size_t stack_size, void *(*func)(void *), void *arg) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int error = os_thread_start_detached(stack_size, func, arg);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  return error;
}

void os_thread_join(pthread_t thread) { pthread_join(thread, NULL); }

/* That of the process's first thread, whose end libc finds in the list of all mappings, which takes
 * a twentieth of the time that a job of two ranks needs to start and end. The kernel puts the name
 * of the program there, and a word behind it. @return false: libc has to tell. */
static bool first_stack(char **low, size_t *size) {
  const char *name = (const char *)getauxval(AT_EXECFN), *here = __builtin_frame_address(0);
  size_t limit = os_stack_limit(), page = os_page_size();
  if (name == NULL || limit == SIZE_MAX || gettid() != getpid()) return false;
  uintptr_t end = (uintptr_t)name + strlen(name) + 1 + sizeof(void *);
  if (end % page != 0 || (uintptr_t)here >= end || end - (uintptr_t)here > limit) return false;
  *size = limit / page * page;
  *low = (char *)end - *size;
  return true;
}

void os_thread_stack(char **low, size_t *size) {
  if (first_stack(low, size)) return;
  pthread_attr_t attr;
  void *address = NULL;
  size_t length = 0;
  int saved = errno;
  if (pthread_getattr_np(pthread_self(), &attr) == 0) {
    if (pthread_attr_getstack(&attr, &address, &length) != 0) length = 0;
    pthread_attr_destroy(&attr);
  }
  *low = address;
  *size = length;
  errno = saved;
}

static int count_in_stat(void) {
#define FOUR " %*s %*s %*s %*s" /* fields */
  char text[1024];
  int count = 0;
  if (os_read_text("/proc/self/stat", text, sizeof text) != 0) return 0;
  const char *rest = strrchr(text, ')'); /* the command's name may hold anything */
  if (rest != NULL) sscanf(rest, ") %*c" FOUR FOUR FOUR FOUR " %d", &count);
  return count;
}

static int count_in_status(void) {
  char text[2048];
  int count = 0, error = os_read_text("/proc/self/status", text, sizeof text);
  const char *line = error == 0 || error == EFBIG ? strstr(text, "\nThreads:") : NULL;
  if (line != NULL) sscanf(line, "\nThreads: %d", &count);
  return count;
}

/* The kernel's own count. A listing of /proc/self/task misses some threads while one ends. A long
 * list of groups may precede it in status; qemu, which makes stat for its programs, tells 0. */
int os_task_count(void) {
  int count = count_in_stat();
  return count > 0 ? count : count_in_status();
}

int os_thread_exit_hook(pthread_key_t *key, void (*func)(void *)) {
  return pthread_key_create(key, func);
}

int os_thread_exit_value(pthread_key_t key, void *value) { return pthread_setspecific(key, value); }

int os_fork_hook(void (*in_child)(void)) { return pthread_atfork(NULL, NULL, in_child); }

int os_fork_hooks(void (*before)(void), void (*after)(void)) {
  return pthread_atfork(before, after, NULL);
}

void os_manner_note(struct os_manner *manner) {
  struct sched_param parameters = {0};
  int saved = errno;
  pthread_sigmask(SIG_SETMASK, NULL, &manner->signals);
  manner->policy = sched_getscheduler(0);
  if (sched_getparam(0, &parameters) != 0) manner->policy = -1; /* a filter refuses it */
  manner->priority = parameters.sched_priority;
  errno = saved;
}

void os_manner_take(const struct os_manner *manner) {
  struct sched_param parameters = {.sched_priority = manner->priority};
  int saved = errno;
  if (manner->policy == SCHED_FIFO || manner->policy == SCHED_RR)
    sched_setscheduler(0, manner->policy, &parameters);
  pthread_sigmask(SIG_SETMASK, &manner->signals, NULL);
  errno = saved;
}

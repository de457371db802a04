/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: tests of fatal messages, and load that competes for the CPUs. */
#define _GNU_SOURCE /* CPU sets */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static void apply_setting(const char *setting) {
  const char *equals = strchr(setting, '=');
  if (equals == NULL) {
    unsetenv(setting);
    return;
  }
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
  setenv(name, equals + 1, 1);
}

static void *nothing(void *p0) { return p0; }

/* clang's ThreadSanitizer starts its own kernel thread in a child of fork() and, unless the
 * parent had threads, once more at the child's first pthread_create(). The library, which
 * counts kernel threads where it looks for a deadlock, knows of one. */
static void have_had_a_thread(void) {
  static bool had;
  pthread_t thread;
  if (had) return;
  assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
  pthread_join(thread, NULL);
  had = true;
}

/* The kernel thread of a bound thread may be on its last steps in libc when mltp_finalize() has
 * returned. It holds a lock of AddressSanitizer's allocator for moments, and a child would inherit
 * that lock. ThreadSanitizer ends a child that starts threads if its parent had others at the fork;
 * its own one stays. */
static void let_threads_end(void) {
  const nlink_t folders = 2, stay = THREAD_SANITIZED ? 2 : 1;
  struct stat tasks;
  while (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink - folders > stay) sched_yield();
}

static void become_child(void (*body)(void), const char *const *settings, int error_fd) {
  dup2(error_fd, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  /* cmocka's handlers would turn a child's death into a second test report */
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
  for (; *settings != NULL; settings++) apply_setting(*settings);
  body();
  _exit(0);
}

void run_child(struct outcome *outcome, void (*body)(void), const char *const *settings) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  if (THREAD_SANITIZED) have_had_a_thread();
  if (SANITIZED) let_threads_end();
  fflush(NULL); /* or the child writes the parent's buffers again */
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) become_child(body, settings, ends[1]);
  close(ends[1]);

  size_t length = 0;
  for (ssize_t got = 1; got > 0;) {
    char rest[512];
    size_t room = sizeof outcome->said - 1 - length;
    got = room > 0 ? read(ends[0], outcome->said + length, room)
                   : read(ends[0], rest, sizeof rest); /* a full pipe would stop the child */
    if (got > 0 && room > 0) length += (size_t)got;
  }
  outcome->said[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(pid, &outcome->status, 0), pid);
}

void *shared_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}

void load_start(pid_t *pids, int count) {
  fflush(NULL);
  for (int i = 0; i < count; i++) {
    pids[i] = fork();
    assert_true(pids[i] >= 0);
    if (pids[i] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile unsigned long spins = 0;; spins++) continue;
    }
  }
}

void load_stop(const pid_t *pids, int count) {
  for (int i = 0; i < count; i++) {
    kill(pids[i], SIGKILL);
    waitpid(pids[i], NULL, 0);
  }
}

void pin_to_one_cpu(void) {
  cpu_set_t allowed;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) cpu++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

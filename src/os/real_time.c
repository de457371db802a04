/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time priorities of the process's kernel threads. The kernel never takes the CPU from a
 * thread of SCHED_FIFO for one of the same priority. With more kernel threads than CPUs one of them
 * may get none while it holds a lock, of libc or of the process's memory in the kernel, and a
 * thread of higher priority that wants the lock waits indefinitely.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "os/os.h"

static bool is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

/* The kernel reports the flag, which concerns new threads only, together with the policy. */
static int without_flag(int policy) { return policy & ~SCHED_RESET_ON_FORK; }

/* With the flag, a new thread has no priority, so raising the caller's would gain nothing. */
int os_priority_raise(void) {
  struct sched_param parameters;
  int saved = errno, policy = sched_getscheduler(0), before = 0;
  if (is_real_time(policy) && sched_getparam(0, &parameters) == 0 &&
      parameters.sched_priority < sched_get_priority_max(policy)) {
    before = parameters.sched_priority++;
    if (sched_setparam(0, &parameters) != 0) before = 0;
  }
  errno = saved;
  return before;
}

void os_priority_restore(int before) {
  struct sched_param parameters = {.sched_priority = before};
  int saved = errno;
  if (before != 0) sched_setparam(0, &parameters);
  errno = saved;
}

int os_priority(void) {
  struct sched_param parameters;
  int saved = errno, policy = without_flag(sched_getscheduler(0));
  bool has_one = is_real_time(policy) && sched_getparam(0, &parameters) == 0;
  errno = saved;
  return has_one ? parameters.sched_priority : 0;
}

static bool take(const struct os_task *task, void *context) {
  struct os_real_time *taken = context;
  struct sched_param parameters, none = {0};
  int policy = sched_getscheduler(task->tid);
  if (task->tid == gettid() || !is_real_time(without_flag(policy))) return true;
  if (taken->count == OS_REAL_TIME_MAX || sched_getparam(task->tid, &parameters) != 0) return true;
  int flag = policy & SCHED_RESET_ON_FORK; /* to clear it needs a privilege */
  if (sched_setscheduler(task->tid, SCHED_OTHER | flag, &none) != 0) return true;
  taken->threads[taken->count].tid = task->tid;
  taken->threads[taken->count].policy = policy;
  taken->threads[taken->count++].priority = parameters.sched_priority;
  return true;
}

void os_real_time_take(struct os_real_time *taken) {
  int saved = errno;
  taken->count = 0;
  os_tasks_visit(take, taken);
  errno = saved;
}

int os_real_time_return(const struct os_real_time *taken) {
  int saved = errno, error = 0;
  for (int i = 0; i < taken->count; i++) {
    struct sched_param parameters = {.sched_priority = taken->threads[i].priority};
    if (sched_setscheduler(taken->threads[i].tid, taken->threads[i].policy, &parameters) != 0 &&
        errno != ESRCH)
      error = errno;
  }
  errno = saved;
  return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that stand still. libmltp finds a deadlock if each kernel thread of the process waits for
 * one of its objects. Ranks and their pthreads also wait in the kernel, for locks, semaphores and
 * conditions of libc. So the watcher looks at intervals what all kernel threads wait for. If each
 * waits for a word of the process's memory, without a time, only a signal can continue the job.
 *
 * The threads are read one after the other, and one may wake another meanwhile. So two looks have
 * to find the same. A thread that has given up its CPU as often at the second look as at the first
 * has waited all the time between, so there is a moment at which all waited.
 *
 * A rank that has changed what it does on signals may wait for one: then the job is reported, once,
 * and continues to wait.
 *
 * Rejected: to count threads in each lock. Each wait would transfer two lines more, and waits of
 * libraries that call futex(2) themselves would be missed.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"
#include "tmpi/run/process.h"

enum { BUSY_NS = 50000000 /* of CPU time since the last look: threads run, so none is read */ };

struct look {
  int tasks;
  uint64_t sum; /* of their numbers, and of how often they have waited, which only grows */
};

/* @return whether this kernel thread will not run by itself. */
static bool visit(const struct os_task *task, void *context) {
  enum { FACTOR = 1000003 };
  struct look *look = context;
  uint64_t switches;
  look->tasks++;
  if (task->tid == gettid() || mti_task_rests(task->tid)) return true;
  if (!os_task_waits_forever(task, &switches)) return false;
  look->sum += (uint64_t)task->tid * FACTOR + switches;
  return true;
}

/* @return 0: something may happen; otherwise a number that changes when a thread runs. */
static uint64_t look_at_all(void) {
  static uint64_t cpu_before;
  uint64_t cpu = os_cpu_time(), used = cpu - cpu_before, rest = mti_rest_mark();
  struct look look = {0, 0};
  cpu_before = cpu;
  if (used > BUSY_NS || rest == 0 || tm_timers_were_made()) return 0;
  /* a listing may miss a thread while another ends */
  if (!os_tasks_visit(visit, &look) || look.tasks != os_task_count()) return 0;
  return look.sum + rest;
}

static bool any_has_signals(void) {
  for (int i = 0; i < tm_job.size; i++)
    if (mt_load_relaxed(&tm_process_of(i)->signals) != NULL) return true; /* relaxed: it stays */
  return false;
}

static void report(uint64_t interval) {
  if (!any_has_signals()) {
    if (!mti_deadlock_report()) return; /* MLTP_DEADLOCK=report */
    tm_flush_all();
    _exit(MLTP_EXIT_DEADLOCK);
  }
  tm_report("standstill", true);
  fprintf(stderr,
          "tmpirun: for %d s each thread of the job has waited for another one, and only a signal "
          "can end that (end the job by Ctrl-C, or see above what its ranks wait for; "
          "MLTP_DEADLOCK=off does not look)\n",
          (int)(interval / 1000000000));
}

void tm_standstill_look(uint64_t interval) {
  static uint64_t before;
  static bool reported;
  if (reported || tm_job.far != NULL || !mti_looks_for_deadlocks()) return;
  uint64_t now = look_at_all();
  reported = now != 0 && now == before;
  before = now;
  if (reported) report(interval);
}

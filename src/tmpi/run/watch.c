/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports on demand and at a time-out. Ranks may compute and never come to a scheduling point, so
 * this cannot be a thread of libmltp; and what a report calls may not be called by a signal
 * handler. So it is a kernel thread that sleeps until the handler, or the time, wakes it. It never
 * makes a thread ready: a deadlock is one beside it. At first it also looks whether VPs are wanted.
 *
 * Relaxed: a count of signals; the futex orders.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/report/report.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

enum { STACK_SIZE = 1 << 20, LOOK_NS = 4000000 };

static uint32_t signals;               /* [atomic] so many have come */
static uint64_t deadline = UINT64_MAX; /* [const] */
static long limit;                     /* [const] seconds */

static void on_signal(int signo, siginfo_t *info, void *context) {
  (void)signo, (void)info, (void)context;
  mt_add_relaxed(&signals, 1);
  os_futex_wake(&signals, 1);
}

/* Not fflush(NULL): a rank may hold a stream for as long as nobody reads what it writes. */
static void end_process(void) {
  if (ftrylockfile(stdout) == 0) fflush_unlocked(stdout);
  tm_output_end_all();
  _exit(TM_STATUS_TIMEOUT);
}

/* Until there is a signal, or nothing to look for. Less and less often: ranks that are placed for
 * long get their VPs later. A short program is to end before the first look: beside others this
 * thread may lose its CPU meanwhile, and the process ends when it has it back. */
static void look_for_vps(void) {
  uint64_t pause = LOOK_NS;
  while (os_futex_wait(&signals, 0, os_now() + pause) == ETIMEDOUT && tm_vps_look()) pause *= 2;
}

static void *watch(void *unused) {
  uint32_t seen = 0;
  os_signals_off();
  look_for_vps();
  while (os_futex_wait(&signals, seen, deadline) != ETIMEDOUT) {
    uint32_t now = mt_load_relaxed(&signals);
    if (now != seen) tm_report("report on SIGUSR1", false);
    seen = now;
  }
  tm_report("time-out", false);
  fprintf(
      stderr,
      "tmpirun: the program has not ended after %ld s (see above what its ranks wait for, or allow "
      "more by --timeout)\n",
      limit);
  end_process();
  return unused;
}

bool tm_watch_start(long seconds) {
  struct sigaction before;
  limit = seconds;
  if (seconds > 0) deadline = os_now() + (uint64_t)seconds * 1000000000;
  if (os_thread_start_detached(STACK_SIZE, watch, NULL) != 0) return false;
  mti_set_bystanders(1);
  os_signal_install(SIGUSR1, on_signal, &before);
  return true;
}

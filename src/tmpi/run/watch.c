/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports on demand and at a time-out. Ranks may compute and never come to a scheduling point, so
 * this cannot be a thread of libmltp; and what a report calls may not be called by a signal
 * handler. So it is a kernel thread that sleeps until the handler, or the time, wakes it. It never
 * makes a thread ready: a deadlock is one beside it. At first it also looks whether VPs are wanted,
 * and at intervals whether anything can still happen (standstill.c).
 *
 * Relaxed: signals and failed, which `events` orders.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/program.h"
#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/process.h"

enum { STACK_SIZE = 1 << 20, LOOK_NS = 4000000, GRACE_NS = 1000000000 };
static const uint64_t standstill_ns = 5000000000;
enum { RANK_FAILED = 1, END_NOW = 2 };

static uint32_t events;                /* [atomic] futex: signals, and the first failure */
static uint32_t signals;               /* [atomic] times that SIGUSR1 has come */
static uint32_t failed;                /* [atomic] of RANK_FAILED and END_NOW */
static uint32_t makes_vps;             /* [atomic] 1: the watcher does; relaxed: a hint */
static uint64_t deadline = UINT64_MAX; /* [const] of --timeout */
static long limit;                     /* [const] seconds */
static struct os_real_time taken;      /* while a report is written, or the process ends */

static void wake(void) {
  mt_add_seq_cst(&events, 1); /* WT-1 seq_cst: signals and failed; pairs WT-2 */
  os_futex_wake(&events, 1);
}

/* ---- samples */

/* Not one of the kernel's codes: the signal is for a sample, whose word is in si_value. */
enum { CODE_SAMPLE = -80, SAMPLE_NS = 1000000000 };

/* A sample's word is its number, and its state below. A signal may come after the second in which
 * it was waited for: it is then neither for the sample after it nor a request for a report. */
enum { SAMPLE_NONE, SAMPLE_WANTED, SAMPLE_TAKEN, SAMPLE_STATES = 4 };

static uint32_t sample_word;   /* [atomic] futex: of the last sample */
static struct tm_sample given; /* by the thread that has set TAKEN */

bool tm_signal_is_sample(const siginfo_t *info) {
  return info->si_code == CODE_SAMPLE && info->si_pid == getpid();
}

/* In the handler. */
static void give_sample(const siginfo_t *info, const void *context) {
  uint32_t wanted = (uint32_t)info->si_value.sival_int, taken_word = wanted + 1;
  if (mt_load_relaxed(&sample_word) != wanted) return; /* relaxed: the swap checks it */
  given = (struct tm_sample){mt_arch_instruction(context), mt_arch_interrupted_stack(context),
                             mt_arch_interrupted_frame(context)};
  /* SA-1 release: the sample; pairs SA-2 */
  if (!mt_cas_release(&sample_word, &wanted, taken_word)) return;
  os_futex_wake(&sample_word, 1);
  uint64_t end = os_now() + SAMPLE_NS;
  while (mt_load_relaxed(&sample_word) == taken_word && /* relaxed: only the end of a wait */
         os_futex_wait(&sample_word, taken_word, end) != ETIMEDOUT)
    continue;
}

static void on_signal(int signo, siginfo_t *info, void *context) {
  (void)signo;
  if (tm_signal_is_sample(info)) {
    give_sample(info, context);
    return;
  }
  mt_add_relaxed(&signals, 1);
  wake();
}

/* @return the word of the last sample's number with that state. relaxed: the caller's own */
static uint32_t last_sample(uint32_t state) {
  return (mt_load_relaxed(&sample_word) & ~(uint32_t)(SAMPLE_STATES - 1)) | state;
}

bool tm_sample_begin(struct tm_sample *sample, int task) {
  struct sigaction now;
  /* the program may have taken the signal for itself */
  if (sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_sigaction != on_signal) return false;
  uint64_t end = os_now() + SAMPLE_NS;
  uint32_t wanted = last_sample(SAMPLE_WANTED) + SAMPLE_STATES;
  siginfo_t info = {.si_signo = SIGUSR1, .si_code = CODE_SAMPLE};
  info.si_pid = getpid();
  info.si_value.sival_int = (int)wanted;
  mt_store_relaxed(&sample_word, wanted); /* relaxed: the kernel orders the signal */
  if (os_signal_send(task, SIGUSR1, &info) != 0) return false;
  while (mt_load_acquire(&sample_word) == wanted) /* SA-2 acquire: pairs SA-1 */
    if (os_futex_wait(&sample_word, wanted, end) == ETIMEDOUT) {
      uint32_t none = last_sample(SAMPLE_NONE), expected = wanted;
      if (mt_cas_relaxed(&sample_word, &expected, none)) return false; /* relaxed: no data */
    }
  *sample = given;
  return true;
}

void tm_sample_end(void) {
  /* relaxed: it ends a wait, and hands on nothing */
  mt_store_relaxed(&sample_word, last_sample(SAMPLE_NONE));
  os_futex_wake(&sample_word, 1);
}

/* ---- the watcher */

void tm_watch_failure(void) {
  if (mt_or_relaxed(&failed, RANK_FAILED) == 0) wake();
}

void tm_watch_end(void) {
  mt_or_relaxed(&failed, END_NOW);
  wake();
}

void tm_watch_late(void) {
  os_real_time_take(&taken);
  tm_report("time-out", false);
  fprintf(
      stderr,
      "tmpirun: the program has not ended after %ld s (see above what its ranks wait for, or allow "
      "more by --timeout)\n",
      limit);
  tm_job_tell(TM_STATUS_TIMEOUT, "the program has not ended after %ld s", limit);
  tm_flush_all();
  _exit(TM_STATUS_TIMEOUT);
}

__attribute__((noreturn)) static void end_failed(void) {
  static uint32_t ends;                                  /* [atomic] */
  while (mt_or_relaxed(&ends, 1) != 0) os_nap(GRACE_NS); /* relaxed: the first one ends it */
  int own, rank = tm_job_failure(&own);
  os_real_time_take(&taken);
  tm_flush_all();
  int status = tm_report_failure(rank);
  tm_job_tell(status, "rank %d ended with status %d%s", rank, own,
              tm_process_of(rank)->not_finalized ? " without MPI_Finalize()" : "");
  _exit(status);
}

void tm_watch_help(void) {
  if (mt_load_relaxed(&failed) != 0 && mt_load_relaxed(&makes_vps) != 0) end_failed();
}

/* What the watcher is waiting for besides events. */
struct plan {
  uint32_t seen;       /* signals */
  uint64_t pause;      /* between looks for VPs; 0: no longer */
  uint64_t look, end;  /* times of the next look, and of the end after a failure */
  uint64_t standstill; /* time of the next look of that kind */
};

static void report_on_demand(void) {
  os_real_time_take(&taken);
  tm_report("report on SIGUSR1", false);
  int error = os_real_time_return(&taken);
  if (error != 0)
    fprintf(stderr,
            "tmpirun: ranks computed without real-time priority during the report, and the kernel "
            "refuses to give it back: %s (allow it by ulimit -r)\n",
            strerror(error));
}

static void plan_after_event(struct plan *plan) {
  uint32_t now = mt_load_relaxed(&signals);
  if (now != plan->seen) report_on_demand();
  plan->seen = now;
  uint32_t how = mt_load_relaxed(&failed);
  if ((how & END_NOW) != 0) end_failed();
  if (how != 0 && plan->end == UINT64_MAX) plan->end = os_now() + GRACE_NS;
}

/* Less and less often: ranks that are placed for long get their VPs later. A short program is to
 * end before the first look: beside others this thread may lose its CPU meanwhile, and the process
 * ends when it has it back. */
static void plan_look(struct plan *plan, uint64_t now) {
  if (plan->pause == 0 || now < plan->look) return;
  mt_store_relaxed(&makes_vps, 1);
  plan->pause = tm_vps_look() ? 2 * plan->pause : 0;
  mt_store_relaxed(&makes_vps, 0);
  plan->look = plan->pause != 0 ? now + plan->pause : UINT64_MAX;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void *watch(void *unused) {
  uint64_t begin = os_now();
  struct plan plan = {0, LOOK_NS, begin + LOOK_NS, UINT64_MAX, begin + standstill_ns};
  (void)unused;
  for (;;) {
    uint32_t before = mt_load_acquire(&events); /* WT-2 acquire: signals and failed; pairs WT-1 */
    plan_after_event(&plan);
    uint64_t until = earlier(earlier(plan.end, deadline), earlier(plan.look, plan.standstill));
    if (os_futex_wait(&events, before, until) != ETIMEDOUT) continue;
    uint64_t now = os_now();
    if (now >= plan.end) end_failed();
    if (now >= deadline) {
      os_real_time_take(&taken);
      tm_joined_late();
      tm_watch_late();
    }
    plan_look(&plan, now);
    if (now < plan.standstill) continue;
    tm_standstill_look(standstill_ns);
    plan.standstill = now + standstill_ns;
  }
}

int tm_watch_start(long seconds) {
  struct sigaction before;
  limit = seconds;
  if (seconds > 0) deadline = os_now() + (uint64_t)seconds * 1000000000;
  int priority = os_priority_raise(), error = os_thread_start_quiet(STACK_SIZE, watch, NULL);
  os_priority_restore(priority);
  if (error != 0) return error;
  mti_add_bystanders(1);
  os_signal_install(SIGUSR1, on_signal, &before);
  return 0;
}

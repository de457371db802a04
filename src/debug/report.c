/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow, deadlock, panic, the dump signal, counters.
 *
 * Relaxed: counters for a report; a deadlock does not go away while it is read.
 */
#include "debug/report.h"

#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "core/stack.h"
#include "core/thread.h"
#include "debug/backtrace.h"
#include "debug/dump.h"
#include "debug/layout.h"
#include "mltp/debug.h"

enum { BACKTRACES_IN_REPORT = 100, BACKTRACES_ON_SIGNAL = 1000 };

/* Nothing reads it: it takes the layout into static programs. */
static const struct mt_layout *const layout __attribute__((used)) = &mt_layout;

static struct {
  struct sigaction segv, bus, dump; /* what was installed before us */
  bool dump_installed;
} saved;

/* ---- stack overflow */

/* A fault just below the calling thread's stack, or in its guard. */
static bool is_overflow(const struct mltp_thread *t, const char *address, const char **low,
                        size_t *size) {
  size_t page = 4096;
  if (t == NULL) return false;
  *low = t->stack != NULL ? t->stack->low : t->stack_low;
  *size = t->stack != NULL ? mt_stack_size(t->stack) : t->stack_size;
  if (*low == NULL) return false;
  const char *from = t->stack != NULL ? *low : *low - 16 * page;
  const char *to = *low + page;
  return address >= from && address < to;
}

/* A bound thread's stack also holds what libc put there. */
static size_t asked_for(const struct mltp_thread *t, size_t size) {
  return t->kind == MT_BOUND && t != mt_rt.main ? (size_t)1 << t->stack_class : size;
}

static void on_fault(int signo, siginfo_t *info, void *context) {
  const struct mltp_thread *t = mt_current();
  const char *low;
  size_t size;
  if (is_overflow(t, info->si_addr, &low, &size)) {
    mt_message(
        "stack overflow: thread %lu '%s' used all %zu KiB of its stack (give it a larger "
        "stack_size in mltp_attr_t, or set MLTP_STACK_SIZE)",
        (unsigned long)t->id, mt_name(t), asked_for(t, size) / 1024);
    mt_print_replay();
    mt_backtrace(2, mt_arch_ucontext_ip(context), (const void *)*mt_arch_ucontext_frame(context),
                 low, size, false);
    os_signal_default(SIGABRT);
    abort();
  }
  /* Not ours: what was there before handles it when the instruction faults again. */
  os_signal_restore(signo, signo == SIGSEGV ? &saved.segv : &saved.bus);
}

/* ---- deadlock */

void mt_deadlock_suspected(void) {
  static uint32_t reported; /* once */
  uint32_t vps = mt_load_relaxed(&mt_rt.vp_count);
  uint32_t known = vps + mt_load_relaxed(&mt_rt.outside_parked) + MT_SANITIZER_TASKS;
  int tasks = os_task_count();
  if (mt_options.deadlock == MT_DEADLOCK_OFF) return;
  /* a thread blocked in the kernel may come back, unless it waits for a lock of ours */
  if (mt_load_relaxed(&mt_rt.blocked) > mt_load_relaxed(&mt_rt.blocked_in_locks)) return;
  if (tasks == 0 || (uint32_t)tasks > known || mt_live() == 0) return;
  if (mt_load_relaxed(&mt_rt.awake) != 0 || mt_add_relaxed(&reported, 1) != 0) return;
  mt_message("deadlock: no thread can run, and no timer is pending:");
  mt_dump(2, BACKTRACES_IN_REPORT, true);
  mt_print_replay();
  if (mt_options.deadlock == MT_DEADLOCK_REPORT) return;
  mt_message(
      "deadlock: exiting with status %d (MLTP_DEADLOCK=report goes on waiting; "
      "MLTP_DEADLOCK=off does not look)",
      MLTP_EXIT_DEADLOCK);
  _exit(MLTP_EXIT_DEADLOCK);
}

void mt_report_livelock(uint64_t steps) {
  mt_message(
      "livelock: the program has not ended after %lu scheduling points (MLTP_STEPS_MAX allows "
      "more):",
      (unsigned long)steps);
  mt_dump(2, BACKTRACES_IN_REPORT, true);
  mt_print_replay();
  _exit(MLTP_EXIT_LIVELOCK);
}

/* ---- the rest */

static void on_dump_signal(int signo, siginfo_t *info, void *context) {
  (void)info, (void)context;
  mt_message("all threads, on signal %d:", signo);
  mt_dump(2, BACKTRACES_ON_SIGNAL, false);
}

static void dump_on_panic(void) { mt_dump(2, BACKTRACES_IN_REPORT, true); }

int mt_report_start(void) {
  mt_panic_hook = dump_on_panic;
  os_sigstack_make();
  int error = os_signal_install(SIGSEGV, on_fault, &saved.segv);
  if (error == 0) error = os_signal_install(SIGBUS, on_fault, &saved.bus);
  saved.dump_installed = error == 0 && mt_options.dump_signal != 0;
  if (saved.dump_installed)
    error = os_signal_install((int)mt_options.dump_signal, on_dump_signal, &saved.dump);
  return error;
}

void mt_report_stop(void) {
  mt_panic_hook = NULL;
  os_signal_restore(SIGSEGV, &saved.segv);
  os_signal_restore(SIGBUS, &saved.bus);
  if (saved.dump_installed) os_signal_restore((int)mt_options.dump_signal, &saved.dump);
}

void mt_report_stats(void) {
  uint32_t count = mt_load_relaxed(&mt_rt.vp_count);
  for (uint32_t i = 0; i < count; i++) {
    const struct mt_vp *vp = mt_rt.vps[i];
    const struct mt_stats *s = &vp->stats;
    mt_message(
        "VP %u: scheduling points %u, created %lu, ended %lu, parks %lu, thefts %lu, "
        "requests served %lu, sleeps %lu, wakes %lu",
        i, vp->tick, (unsigned long)s->created, (unsigned long)s->ended, (unsigned long)s->parks,
        (unsigned long)s->stolen, (unsigned long)s->served, (unsigned long)s->sleeps,
        (unsigned long)s->wakes);
  }
}

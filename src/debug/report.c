/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow, code on stacks, deadlock, panic, the dump signal, counters.
 *
 * Relaxed: counters for a report; a deadlock does not go away while it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "base/peek.h"
#include "core/life/end.h"
#include "core/life/fork.h"
#include "core/memory/descriptor.h"
#include "core/memory/pack.h"
#include "core/memory/stack.h"
#include "core/vp/poller.h"
#include "core/vp/vp.h"
#include "debug/backtrace.h"
#include "debug/dump.h"
#include "debug/layout.h"
#include "instrument/debug_hooks.h"
#include "mltp/debug.h"
#include "os/os.h"
#include "sync/lock.h"

enum { BACKTRACES_IN_REPORT = 100, BACKTRACES_ON_SIGNAL = 1000 };

/* Nothing reads it: it takes the layout into static programs. */
static const struct mt_layout *const layout __attribute__((used)) = &mt_layout;

/* The handlers we have installed, and what they replaced. */
static struct handled {
  int signo;
  os_handler *handler; /* NULL: not installed */
  struct sigaction before;
} segv, bus, dump;

/* ---- stack overflow */

/* A fault just below the calling thread's stack, or in its guard page; or the kernel found
 * no room there for a signal's frame, and then it names the stack pointer only. */
static bool is_overflow(const struct mltp_thread *t, const siginfo_t *info, const char *sp,
                        const char **low, size_t *size) {
  size_t page = os_page_size();
  size_t signal_frame = 16384; /* with all that a processor can have */
  if (t == NULL) return false;
  if (t->stack != NULL) {
    *low = t->stack->low;
    *size = mt_stack_size(t->stack);
  } else {
    mt_native_stack(t, low, size);
  }
  if (*low == NULL) return false;
  bool no_room = info->si_code == SI_KERNEL && info->si_addr == NULL;
  const char *address = no_room ? sp : info->si_addr;
  const char *from = t->stack != NULL ? *low : *low - 16 * page;
  size_t guard = t->stack != NULL ? mt_stack_guard(*size, page) : page;
  const char *to = *low + guard + (no_room ? signal_frame : 0);
  return address >= from && address < to;
}

/* A bound thread's stack also holds what libc put there. */
static size_t asked_for(const struct mltp_thread *t, size_t size) {
  return t->kind == MT_BOUND && t != mt_rt.main ? (size_t)1 << t->stack_class : size;
}

bool (*mt_overflow_is_taken)(int signo);
bool (*mt_overflow_hook)(const char *name, size_t kib, const void *context);

/* @return how to give this thread a larger stack. */
static const char *larger_stack(const struct mltp_thread *t) {
  if (t == mt_rt.main && mt_fork_is_inherited(mt_rt.main_low))
    return "its process was forked on that stack: give the thread that calls fork() a larger "
           "stack_size in mltp_attr_t, or set MLTP_STACK_SIZE";
  if (t == mt_rt.main) return "raise ulimit -s, or run this in a thread with a larger stack";
  return "give it a larger stack_size in mltp_attr_t, or set MLTP_STACK_SIZE";
}

static void report_overflow(const struct mltp_thread *t, size_t kib, void *context, const char *low,
                            size_t size) {
  struct mt_backtrace b;
  os_report_alone();
  if (mt_overflow_hook != NULL && mt_overflow_hook(mt_name(t), kib, context)) return;
  mt_message("stack overflow: thread %lu '%s' used all %zu KiB of its stack (%s)",
             (unsigned long)t->id, mt_name(t), kib, larger_stack(t));
  mt_print_replay();
  mt_backtrace_take(&b, mt_arch_ucontext_ip(context),
                    (const void *)*mt_arch_ucontext_frame(context), low, size);
  mt_backtrace_print(&b, &(struct mt_printer){.fd = 2}, false);
}

/* ---- code on a stack */

/* An object that was opened after mltp_init() may ask for executable stacks. libc changes those
 * that it knows; one of ours is changed when its thread first calls code there.
 * @return whether the thread can continue. */
static bool allow_code(const struct mltp_thread *t, const siginfo_t *info, const void *context) {
  if (t == NULL || t->stack == NULL || info->si_code != SEGV_ACCERR) return false;
  size_t size;
  const char *low = mt_stack_usable(t->stack, &size), *at = info->si_addr;
  if (at != mt_arch_ucontext_ip(context) || at < low || at >= low + size) return false;
  if (!os_wants_executable_stacks()) return false;
  if (os_enable((void *)(uintptr_t)low, size, true) == 0) return true;
  mt_message(
      "thread %lu '%s' calls code on its stack, and the kernel refuses executable stacks (build "
      "what it calls without functions within functions)",
      (unsigned long)t->id, mt_name(t));
  return false;
}

static void on_fault(int signo, siginfo_t *info, void *context) {
  const struct mltp_thread *t = mt_current();
  const char *low;
  size_t size;
  if (signo == SIGSEGV && allow_code(t, info, context)) return;
  bool is_taken = mt_overflow_is_taken != NULL && mt_overflow_is_taken(signo);
  if (!is_taken && is_overflow(t, info, mt_arch_ucontext_sp(context), &low, &size)) {
    report_overflow(t, asked_for(t, size) / 1024, context, low, size);
    os_signal_default(SIGABRT);
    abort();
  }
  os_signal_forward(signo, info, context, signo == SIGSEGV ? &segv.before : &bus.before);
}

/* ---- deadlock */

/* A waiter in the kernel for a lock without a holder has been woken, and waits only for a CPU.
 * On a busy machine that takes long. */
static void look_for_woken(const struct mltp_thread *t, void *woken) {
  struct mltp_thread copy;
  mltp_lock_t lock; /* the thread may have got it, and its memory may be gone */
  if (!mt_descriptor_peek(&copy, t) || mt_state(&copy) != MT_RUNNING || copy.why != MT_WHY_LOCK)
    return;
  const char *at = (const char *)((uintptr_t)copy.waitq - offsetof(mltp_lock_t, queue_));
  if (!mt_peek(&lock, at, sizeof lock)) return;
  const struct mt_lock_ops *ops = mt_lock_ops(&lock);
  if (ops != NULL && ops->holder(&lock) == NULL) *(bool *)woken = true;
}

static bool any_woken(void) {
  bool woken = false;
  if (mt_load_relaxed(&mt_rt.sleep.blocked_in_locks) != 0 ||
      mt_load_relaxed(&mt_rt.outside.in_locks) != 0)
    mt_descriptors_visit(look_for_woken, &woken);
  return woken;
}

/* What ends a wait for a descriptor comes from outside. */
static void look_for_io(const struct mltp_thread *t, void *waits) {
  struct mltp_thread copy;
  if (mt_descriptor_peek(&copy, t) && mt_state(&copy) == MT_PARKED && copy.why == MT_WHY_IO)
    *(bool *)waits = true;
}

static bool any_in_io(void) {
  bool waits = false;
  if (mt_poller() != NULL) mt_descriptors_visit(look_for_io, &waits);
  return waits;
}

uint32_t mt_deadlock_bystanders; /* [atomic] */

/* Counts the kernel threads that we know: VPs, waiters for our objects, and bystanders. */
static uint32_t known_tasks(void) {
  return mt_load_relaxed(&mt_rt.vp_count) + mt_load_relaxed(&mt_rt.outside.parked) +
         mt_load_relaxed(&mt_rt.handover.runs) + mt_load_relaxed(&mt_rt.poll.tasks) +
         mt_pack_tasks() + mt_load_relaxed(&mt_deadlock_bystanders) + MT_SANITIZER_TASKS;
}

static uint32_t deadlock_reported; /* once in a runtime's life */
bool (*mt_deadlock_hook)(void);
bool (*mt_deadlock_elsewhere)(void);

bool mt_deadlock_report(void) {
  if (mt_add_relaxed(&deadlock_reported, 1) != 0) return false;
  os_flush_output(); /* _exit() would lose it; and what the program printed comes first */
  mt_message("deadlock: no thread can run, and no timer is pending:");
  if (mt_deadlock_hook == NULL || !mt_deadlock_hook()) mt_dump(2, BACKTRACES_IN_REPORT, true);
  mt_print_replay();
  if (mt_options.deadlock == MT_DEADLOCK_REPORT) return false;
  mt_message(
      "deadlock: exiting with status %d (MLTP_DEADLOCK=report continues to wait; "
      "MLTP_DEADLOCK=off does not look)",
      MLTP_EXIT_DEADLOCK);
  return true;
}

static void check_deadlock(void) {
  if (mt_options.deadlock == MT_DEADLOCK_OFF) return;
  /* read again after the count, since the waker of a known thread may have ended meanwhile */
  uint32_t before = known_tasks(), tasks = (uint32_t)os_task_count(), after = known_tasks();
  /* a thread blocked in the kernel may come back, unless it waits for a lock of ours */
  if (mt_load_relaxed(&mt_rt.sleep.blocked) > mt_load_relaxed(&mt_rt.sleep.blocked_in_locks))
    return;
  if (tasks == 0 || tasks > before || tasks > after || mt_live() == 0 || any_woken()) return;
  if (any_in_io()) return;
  /* Last: what was read one after the other above may have been true at different times. */
  if (!mt_vps_still_rest()) return;
  if (mt_deadlock_elsewhere != NULL && (!mt_vps_note_rest() || mt_deadlock_elsewhere())) return;
  if (mt_deadlock_report()) _exit(MLTP_EXIT_DEADLOCK);
}

static void report_livelock(uint64_t steps) {
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

/* @return 0, or what the kernel says. */
static int handle(struct handled *handled, int signo, os_handler *handler) {
  struct sigaction before;
  int error = os_signal_install(signo, handler, &before);
  if (error != 0) return error;
  bool ours = (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == handler;
  if (!ours) handled->before = before; /* ours: of the process that forked this one */
  handled->signo = signo;
  handled->handler = handler;
  return 0;
}

static void unhandle(struct handled *handled) {
  if (handled->handler == NULL) return;
  os_signal_restore(handled->signo, handled->handler, &handled->before);
  handled->handler = NULL;
}

static int start(void) {
  mt_panic_hook = dump_on_panic;
  deadlock_reported = 0;
  os_sigstack_make();
  if (handle(&segv, SIGSEGV, on_fault) != 0 || handle(&bus, SIGBUS, on_fault) != 0)
    mt_message("stack overflows will be ordinary crashes: sigaction failed (allow it)");
  int signo = (int)mt_options.dump_signal;
  if (signo == 0 || handle(&dump, signo, on_dump_signal) == 0) return 0;
  mt_message("MLTP_DUMP_SIGNAL: signal %d cannot be caught (choose another)", signo);
  return EINVAL;
}

static void stop(void) {
  mt_panic_hook = NULL;
  unhandle(&segv);
  unhandle(&bus);
  unhandle(&dump);
}

static unsigned long counter(const uint64_t *value) {
  return (unsigned long)mt_load_relaxed(value); /* relaxed: the other VPs are about to end */
}

static void print_packer(void) {
  struct mt_pack_counts counts;
  mt_pack_counts(&counts);
  mt_message(
      "packer: pages packed %lu, back %lu (%lu ahead), first touches %lu, kept %lu; %lu pages in "
      "%lu KiB now",
      (unsigned long)counts.packed, (unsigned long)counts.back, (unsigned long)counts.ahead,
      (unsigned long)counts.touched, (unsigned long)counts.kept, (unsigned long)counts.pages,
      (unsigned long)counts.bytes / 1024);
}

static void print_stats(void) {
  uint32_t count = mt_load_relaxed(&mt_rt.vp_count);
  for (uint32_t i = 0; i < count; i++) {
    const struct mt_vp *vp = mt_rt.vps[i];
    const struct mt_stats *s = &vp->stats;
    mt_message(
        "VP %u: scheduling points %u, created %lu, ended %lu, parks %lu, thefts %lu (%lu from "
        "afar), requests served %lu, sleeps %lu, wakes %lu, strategy's locks %lu, waits for words: "
        "spins that paid %lu, spins that did not %lu, parks %lu",
        i, mt_load_relaxed(&vp->points.tick), counter(&s->created), counter(&s->ended),
        counter(&s->parks), counter(&s->stolen), counter(&s->stolen_far), counter(&s->served),
        counter(&s->sleeps), counter(&s->wakes), counter(&s->locks), counter(&s->awaits[0]),
        counter(&s->awaits[1]), counter(&s->awaits[2]));
  }
  if (mt_pack_tasks() != 0) print_packer();
  if (!mt_load_relaxed(&mt_rt.handover.runs)) return;
  mt_message("monitor: hand-overs %lu, wake-ups %lu", counter(&mt_rt.handover.count),
             counter(&mt_rt.handover.wakeups));
  for (int n = 0; n < MT_HANDOVER_TIMES; n++)
    if (counter(&mt_rt.handover.after[n]) != 0)
      mt_message("monitor: hand-overs of VPs silent for %s %lu ms: %lu",
                 n < MT_HANDOVER_TIMES - 1 ? "less than" : "any time from",
                 n < MT_HANDOVER_TIMES - 1 ? 1ul << n : 1ul << (n - 1),
                 counter(&mt_rt.handover.after[n]));
}

const struct mt_debug_hooks mt_debug = {
    .start = start,
    .stop = stop,
    .stats = print_stats,
    .deadlock_suspected = check_deadlock,
    .livelock = report_livelock,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken for a deadlock and for an overflow of a stack, and what the counters say, step by
 * step (src/debug/report.c): one kernel thread plays the runtime, and other files only note what is
 * asked of them.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "debug/report.c"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/support.h"

enum { THREADS = 2 };

/* ---- what others are asked */

static struct {
  int tasks;        /* kernel threads of the process */
  uint32_t packers; /* of the packer */
  uint64_t live;    /* threads of the library */
  bool rest, noted; /* the VPs sleep, as when it was suspected, and when that was noted */
  bool changes;     /* a kernel thread ends while they are counted */
  bool gone;        /* the descriptors are of no thread any more */
  struct mltp_thread threads[THREADS];
  struct mltp_thread *holder; /* of the lock that one of them waits for */
  bool no_class;              /* the lock's memory has other content by now */
  int refused;                /* signal that cannot be caught */
  bool executable, refuses_code;
  bool is_inherited; /* main's stack, from the thread that forked */
} world;

static char said[1000]; /* messages, a line each */

void __wrap_mt_message(const char *format, ...);
void __wrap_mt_message(const char *format, ...) {
  size_t length = strlen(said);
  va_list list;
  va_start(list, format);
  vsnprintf(said + length, sizeof said - length, format, list);
  va_end(list);
  strcat(said, "\n");
}

#define SAID(expected)                                                                             \
  do {                                                                                             \
    CHECK_TEXT(said, expected);                                                                    \
    said[0] = '\0';                                                                                \
  } while (0)

int __wrap_os_task_count(void);
int __wrap_os_task_count(void) {
  if (world.changes) mt_rt.outside.parked--;
  return world.tasks;
}

uint32_t __wrap_mt_pack_tasks(void);
uint32_t __wrap_mt_pack_tasks(void) { return world.packers; }

void __wrap_mt_pack_counts(struct mt_pack_counts *counts);
void __wrap_mt_pack_counts(struct mt_pack_counts *counts) {
  *counts = (struct mt_pack_counts){21, 22, 23, 24, 25, 26, 27 * 1024};
}

bool __wrap_mt_fork_is_inherited(const char *low);
bool __wrap_mt_fork_is_inherited(const char *low) {
  CHECK(low == mt_rt.main_low);
  return world.is_inherited;
}

uint64_t __wrap_mt_live(void);
uint64_t __wrap_mt_live(void) { return world.live; }

bool __wrap_mt_vps_still_rest(void);
bool __wrap_mt_vps_still_rest(void) { return world.rest; }

bool __wrap_mt_vps_note_rest(void);
bool __wrap_mt_vps_note_rest(void) { return world.noted; }

void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg);
void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg) {
  for (int i = 0; i < THREADS; i++) visit(&world.threads[i], arg);
}

bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t);
bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t) {
  *copy = *t;
  return !world.gone;
}

static struct mltp_thread *holder_of(const mltp_lock_t *lock) {
  CHECK_EQUAL(lock->class_, MLTP_LOCK_SEMAPHORE); /* the copy is whole */
  return world.holder;
}

const struct mt_lock_ops *__wrap_mt_lock_ops(const mltp_lock_t *lock);
const struct mt_lock_ops *__wrap_mt_lock_ops(const mltp_lock_t *lock) {
  static const struct mt_lock_ops ops = {.holder = holder_of};
  (void)lock;
  return world.no_class ? NULL : &ops;
}

void __wrap_mt_dump(int fd, int most, bool names);
void __wrap_mt_dump(int fd, int most, bool names) {
  CHECK_EQUAL(fd, 2);
  note("dump:%d%s", most, names ? ":names" : "");
}

void __wrap_os_flush_output(void);
void __wrap_os_flush_output(void) {
  CHECK_TEXT(said, ""); /* what the program printed comes first */
  note("flush");
}

void __wrap_mt_print_replay(void);
void __wrap_mt_print_replay(void) { note("replay"); }

void __wrap_os_sigstack_make(void);
void __wrap_os_sigstack_make(void) { note("sigstack"); }

static struct sigaction before; /* the handlers that were there */

int __wrap_os_signal_install(int signo, os_handler *handler, struct sigaction *old);
int __wrap_os_signal_install(int signo, os_handler *handler, struct sigaction *old) {
  (void)handler;
  note("install:%d", signo);
  *old = before;
  return signo == world.refused ? EINVAL : 0;
}

void __wrap_os_signal_restore(int signo, os_handler *handler, const struct sigaction *old);
void __wrap_os_signal_restore(int signo, os_handler *handler, const struct sigaction *old) {
  CHECK(handler != NULL && old->sa_handler == SIG_IGN);
  note("restore:%d", signo);
}

bool __wrap_os_wants_executable_stacks(void);
bool __wrap_os_wants_executable_stacks(void) { return world.executable; }

/* ---- deadlocks */

static mltp_lock_t awaited;

static void begin(void) {
  memset(&world, 0, sizeof world);
  memset(&mt_rt, 0, sizeof mt_rt);
  world.rest = world.noted = true;
  world.live = 1;
  mt_deadlock_bystanders = 0;
  mt_deadlock_hook = NULL;
  mt_deadlock_elsewhere = NULL;
  mt_options.deadlock = MT_DEADLOCK_REPORT; /* the process stays */
  deadlock_reported = 0;
  trace[0] = said[0] = '\0';
  awaited.class_ = MLTP_LOCK_SEMAPHORE;
}

/* @return whether a deadlock is reported, where the process has `tasks` kernel threads. */
static bool reports(int tasks) {
  world.tasks = tasks;
  trace[0] = said[0] = '\0';
  deadlock_reported = 0;
  mt_debug.deadlock_suspected();
  return strstr(trace, "dump") != NULL;
}

static void other_kernel_threads_may_make_a_thread_ready(void) {
  begin();
  CHECK(reports(MT_SANITIZER_TASKS) || MT_SANITIZER_TASKS == 0);
  CHECK(!reports(MT_SANITIZER_TASKS + 1));
  int known = MT_SANITIZER_TASKS;
  mt_rt.vp_count = 3;
  CHECK(reports(known += 3) && !reports(known + 1));
  mt_rt.outside.parked = 2;
  CHECK(reports(known += 2) && !reports(known + 1));
  mt_rt.handover.runs = true; /* the monitor */
  CHECK(reports(known += 1) && !reports(known + 1));
  mt_rt.poll.tasks = 4;
  CHECK(reports(known += 4) && !reports(known + 1));
  world.packers = 1;
  CHECK(reports(known += 1) && !reports(known + 1));
  mt_deadlock_bystanders = 5;
  CHECK(reports(known += 5) && !reports(known + 1));
  CHECK(reports(known - 1)); /* one has ended */
  CHECK(!reports(0));        /* nobody knows */
  world.changes = true;      /* a waiter was woken meanwhile, and its waker has ended */
  CHECK(!reports(known));
}

static bool elsewhere;

static bool is_elsewhere(void) { return elsewhere; }

static void what_may_still_end_a_wait(void) {
  begin();
  mt_rt.vp_count = 2;
  const int known = MT_SANITIZER_TASKS + 2;
  CHECK(reports(known));
  mt_options.deadlock = MT_DEADLOCK_OFF;
  CHECK(!reports(known));
  mt_options.deadlock = MT_DEADLOCK_REPORT;
  world.live = 0; /* all have ended */
  CHECK(!reports(known));
  world.live = 1;
  mt_rt.sleep.blocked = 2; /* in the kernel: one of them not for a lock of ours */
  mt_rt.sleep.blocked_in_locks = 1;
  world.holder = &world.threads[0];
  CHECK(!reports(known));
  mt_rt.sleep.blocked_in_locks = 2;
  CHECK(reports(known));
  world.rest = false; /* a VP has been awake since */
  CHECK(!reports(known));
  world.rest = true;
  world.noted = false; /* asked only where something else may end a wait */
  CHECK(reports(known));
  mt_deadlock_elsewhere = is_elsewhere;
  CHECK(!reports(known));
  world.noted = true;
  CHECK(reports(known));
  elsewhere = true;
  CHECK(!reports(known));
  elsewhere = false;
}

/* A waiter that was woken in the kernel, and waits for a CPU, looks as if it still waited. */
static void a_woken_waiter_for_a_lock_will_run(void) {
  begin();
  mt_rt.vp_count = 1;
  const int known = MT_SANITIZER_TASKS + 1;
  struct mltp_thread *waiter = &world.threads[1];
  mt_set_where(waiter, MT_RUNNING, 0);
  waiter->why = MT_WHY_LOCK;
  waiter->waitq = &awaited.queue_;
  CHECK(reports(known)); /* no thread waits for a lock in the kernel */
  for (int outside = 0; outside < 2; outside++) {
    mt_rt.sleep.blocked_in_locks = !outside;
    mt_rt.outside.in_locks = (uint32_t)outside;
    CHECK(!reports(known)); /* the lock has no holder */
    world.holder = &world.threads[0];
    CHECK(reports(known));
    world.holder = NULL;
  }
  world.no_class = true;
  CHECK(reports(known));
  world.no_class = false;
  world.gone = true;
  CHECK(reports(known));
  world.gone = false;
  mt_set_where(waiter, MT_PARKED, 0); /* not in the kernel */
  CHECK(reports(known));
  mt_set_where(waiter, MT_RUNNING, 0);
  waiter->why = MT_WHY_NOTHING;
  CHECK(reports(known));
  waiter->why = MT_WHY_LOCK;
  waiter->waitq = NULL; /* its memory is gone */
  CHECK(reports(known));
  waiter->waitq = &awaited.queue_;
  CHECK(!reports(known));
}

static void a_wait_for_a_descriptor_ends_from_outside(void) {
  static const struct mt_poller poller;
  begin();
  mt_rt.vp_count = 1;
  const int known = MT_SANITIZER_TASKS + 1;
  mt_set_where(&world.threads[0], MT_PARKED, 0);
  world.threads[0].why = MT_WHY_IO;
  CHECK(reports(
      known)); /* what is there was left by another runtime: no descriptor was ever awaited */
  mt_rt.poll.poller = &poller;
  CHECK(!reports(known));
  world.gone = true;
  CHECK(reports(known));
  world.gone = false;
  world.threads[0].why = MT_WHY_SEM;
  CHECK(reports(known));
  world.threads[0].why = MT_WHY_IO;
  mt_set_where(&world.threads[0], MT_READY, 0);
  CHECK(reports(known));
}

static bool leaves_dump_out;

static bool report_more(void) {
  note("more");
  return leaves_dump_out;
}

static void a_deadlock_is_reported_once(void) {
  begin();
  CHECK(!mt_deadlock_report()); /* the process stays */
  SAID("deadlock: no thread can run, and no timer is pending:\n");
  TRACE("flush dump:100:names replay");
  CHECK(!mt_deadlock_report());
  SAID("");
  TRACE("");
  mt_options.deadlock = MT_DEADLOCK_ABORT;
  mt_deadlock_hook = report_more;
  for (int left_out = 0; left_out < 2; left_out++) {
    deadlock_reported = 0;
    leaves_dump_out = left_out;
    CHECK(mt_deadlock_report()); /* the process has to end */
    SAID(
        "deadlock: no thread can run, and no timer is pending:\n"
        "deadlock: exiting with status 86 (MLTP_DEADLOCK=report continues to wait; "
        "MLTP_DEADLOCK=off does not look)\n");
    if (left_out)
      TRACE("flush more replay");
    else
      TRACE("flush more dump:100:names replay");
  }
}

/* ---- overflows of stacks */

static char *const low_end = (char *)0x7f0000000000;

/* @return whether an access there is taken for an overflow of a thread's stack. */
static bool overflows(const struct mltp_thread *t, const char *at, const char *low, size_t size) {
  siginfo_t info = {.si_code = SEGV_ACCERR};
  const char *found = NULL;
  size_t found_size = 0;
  info.si_addr = (void *)(uintptr_t)at;
  bool is = is_overflow(t, &info, NULL, &found, &found_size);
  if (is) CHECK(found == low && found_size == size);
  return is;
}

/* The same where the kernel found no room for a signal's frame. */
static bool has_no_room(const struct mltp_thread *t, const char *sp) {
  siginfo_t info = {.si_code = SI_KERNEL};
  const char *low;
  size_t size;
  return is_overflow(t, &info, sp, &low, &size);
}

static void the_guard_of_a_stack_of_ours(void) {
  const size_t page = os_page_size(), frame = 16384;
  for (int large = 0; large < 2; large++) {
    struct mt_stack stack = {.low = low_end, .class_log2 = large ? 24 : 16};
    const size_t size = (size_t)1 << stack.class_log2;
    const size_t guard = large ? MT_STACK_LARGE_GUARD : page;
    struct mltp_thread t = {.kind = MT_UNBOUND, .stack = &stack};
    CHECK(!overflows(&t, low_end - 1, low_end, size)); /* the next slot's */
    CHECK(overflows(&t, low_end, low_end, size));
    CHECK(overflows(&t, low_end + guard - 1, low_end, size));
    CHECK(!overflows(&t, low_end + guard, low_end, size)); /* a wild pointer */
    CHECK(!has_no_room(&t, low_end - 1));
    CHECK(has_no_room(&t, low_end + guard + frame - 1));
    CHECK(!has_no_room(&t, low_end + guard + frame));
  }
  CHECK(!overflows(NULL, low_end, low_end, 1)); /* a kernel thread that is no thread of ours */
}

static void below_a_stack_of_libc(void) {
  const size_t page = os_page_size(), size = 1 << 20;
  struct mltp_thread bound = {.kind = MT_BOUND, .stack_low = low_end, .stack_size = size};
  CHECK(!overflows(&bound, low_end - 16 * page - 1, low_end, size));
  CHECK(overflows(&bound, low_end - 16 * page, low_end, size));
  CHECK(overflows(&bound, low_end + page - 1, low_end, size));
  CHECK(!overflows(&bound, low_end + page, low_end, size));
  bound.stack_low = NULL; /* libc could not say where it is */
  CHECK(!overflows(&bound, NULL, NULL, size));
  struct mltp_thread at_start = {.kind = MT_UNBOUND}; /* main has no stack of ours */
  mt_rt.main_low = low_end;
  mt_rt.main_size = size;
  CHECK(overflows(&at_start, low_end, low_end, size));
}

static void the_size_that_was_asked_for(void) {
  struct mltp_thread bound = {.kind = MT_BOUND, .stack_class = 16}, unbound = {.kind = MT_UNBOUND};
  mt_rt.main = NULL;
  CHECK_EQUAL(asked_for(&bound, 100000), 65536); /* libc has put more there */
  CHECK_EQUAL(asked_for(&unbound, 100000), 100000);
  CHECK(strstr(larger_stack(&bound), "MLTP_STACK_SIZE") != NULL);
  mt_rt.main = &bound;
  CHECK_EQUAL(asked_for(&bound, 100000), 100000);
  CHECK(strstr(larger_stack(&bound), "ulimit -s") != NULL);
  world.is_inherited = true; /* the kernel did not make it */
  CHECK(strstr(larger_stack(&bound), "ulimit -s") == NULL);
  CHECK(strstr(larger_stack(&bound), "MLTP_STACK_SIZE") != NULL);
  world.is_inherited = false;
  mt_rt.main = NULL;
}

/* ---- code on stacks */

static size_t usable_size;

const char *__wrap_mt_stack_usable(const struct mt_stack *stack, size_t *size);
const char *__wrap_mt_stack_usable(const struct mt_stack *stack, size_t *size) {
  *size = usable_size;
  return stack->low;
}

int __wrap_os_enable(void *address, size_t size, bool executable);
int __wrap_os_enable(void *address, size_t size, bool executable) {
  CHECK(address == low_end && size == usable_size && executable);
  note("enable");
  return world.refuses_code ? EACCES : 0;
}

/* A call of what is there. @return whether the thread can continue. */
static bool calls(const struct mltp_thread *t, int code, char *at, const char *ip) {
  siginfo_t info = {.si_code = code};
  ucontext_t context;
  memset(&context, 0, sizeof context);
  info.si_addr = at;
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
#else
  context.uc_mcontext.pc = (uintptr_t)ip;
#endif
  return allow_code(t, &info, &context);
}

static void code_on_a_stack_is_allowed_when_it_is_called(void) {
  begin();
  struct mt_stack stack = {.low = low_end, .class_log2 = 16};
  struct mltp_thread t = {.kind = MT_UNBOUND, .stack = &stack, .id = 7}, libcs = {.kind = MT_BOUND};
  char *const end = low_end + (usable_size = 8192);
  world.executable = true;
  CHECK(calls(&t, SEGV_ACCERR, low_end, low_end));
  CHECK(calls(&t, SEGV_ACCERR, end - 1, end - 1));
  TRACE("enable enable");
  CHECK(!calls(&t, SEGV_ACCERR, end, end));
  CHECK(!calls(&t, SEGV_ACCERR, low_end - 1, low_end - 1));
  CHECK(!calls(&t, SEGV_ACCERR, low_end, low_end + 1)); /* it reads or writes there */
  CHECK(!calls(&t, SEGV_MAPERR, low_end, low_end));
  CHECK(!calls(&libcs, SEGV_ACCERR, low_end, low_end));
  CHECK(!calls(NULL, SEGV_ACCERR, low_end, low_end));
  world.executable = false; /* no object of the process asks for it: an attack, perhaps */
  CHECK(!calls(&t, SEGV_ACCERR, low_end, low_end));
  TRACE("");
  SAID("");
  world.executable = world.refuses_code = true;
  CHECK(!calls(&t, SEGV_ACCERR, low_end, low_end));
  TRACE("enable");
  CHECK(strstr(said, "thread 7 ") == said);
  CHECK(strstr(said, "the kernel refuses executable stacks") != NULL);
}

/* ---- handlers */

static void handlers_come_and_go(void) {
  begin();
  before.sa_handler = SIG_IGN;
  mt_options.dump_signal = 0;
  deadlock_reported = 1; /* by the runtime before */
  CHECK_EQUAL(mt_debug.start(), 0);
  CHECK_EQUAL(deadlock_reported, 0);
  TRACE("sigstack install:11 install:7");
  CHECK(mt_panic_hook == dump_on_panic);
  before.sa_flags = SA_SIGINFO; /* as a child of fork() finds its parent's */
  before.sa_sigaction = on_fault;
  mt_options.dump_signal = 10;
  CHECK_EQUAL(mt_debug.start(), 0);
  TRACE("sigstack install:11 install:7 install:10");
  dump.before.sa_handler = SIG_IGN;
  mt_debug.stop();
  TRACE("restore:11 restore:7 restore:10");
  CHECK(mt_panic_hook == NULL);
  mt_debug.stop();
  TRACE("");
  SAID("");
  before = (struct sigaction){.sa_handler = SIG_IGN};
  world.refused = 10;
  CHECK_EQUAL(mt_debug.start(), EINVAL);
  SAID("MLTP_DUMP_SIGNAL: signal 10 cannot be caught (choose another)\n");
  mt_debug.stop();
  TRACE("sigstack install:11 install:7 install:10 restore:11 restore:7");
  mt_options.dump_signal = 0;
  world.refused = SIGBUS;
  CHECK_EQUAL(mt_debug.start(), 0);
  SAID("stack overflows will be ordinary crashes: sigaction failed (allow it)\n");
  mt_debug.stop();
  TRACE("sigstack install:11 install:7 restore:11");
}

void __wrap_os_signal_forward(int signo, siginfo_t *info, void *context,
                              const struct sigaction *to);
void __wrap_os_signal_forward(int signo, siginfo_t *info, void *context,
                              const struct sigaction *to) {
  (void)info, (void)context;
  note("forward:%d:%s", signo, to == &segv.before ? "segv" : to == &bus.before ? "bus" : "?");
}

static bool is_another_runtimes(int signo) {
  note("taken:%d", signo);
  return true;
}

/* No thread of the library runs here. */
static void other_faults_are_passed_on(void) {
  siginfo_t info = {.si_code = SEGV_ACCERR};
  ucontext_t context;
  begin();
  memset(&context, 0, sizeof context);
  on_fault(SIGSEGV, &info, &context);
  on_fault(SIGBUS, &info, &context);
  TRACE("forward:11:segv forward:7:bus");
  mt_overflow_is_taken = is_another_runtimes;
  on_fault(SIGSEGV, &info, &context);
  TRACE("taken:11 forward:11:segv");
  mt_overflow_is_taken = NULL;
}

static void a_panic_and_a_signal_dump_all_threads(void) {
  begin();
  dump_on_panic();
  TRACE("dump:100:names");
  on_dump_signal(10, NULL, NULL);
  TRACE("dump:1000"); /* without names: they take libc's locks */
  SAID("all threads, on signal 10:\n");
}

/* ---- counters */

static void counters_have_their_names(void) {
  static struct mt_vp vps[2];
  begin();
  mt_rt.vp_count = 2;
  for (int i = 0; i < 2; i++) mt_rt.vps[i] = &vps[i];
  vps[1].points.tick = 1;
  vps[1].stats = (struct mt_stats){.created = 2,
                                   .ended = 3,
                                   .parks = 4,
                                   .stolen = 5,
                                   .stolen_far = 6,
                                   .served = 7,
                                   .sleeps = 8,
                                   .wakes = 9,
                                   .locks = 10,
                                   .awaits = {11, 12, 13}};
  mt_debug.stats();
  SAID(
      "VP 0: scheduling points 0, created 0, ended 0, parks 0, thefts 0 (0 from afar), requests "
      "served 0, sleeps 0, wakes 0, strategy's locks 0, waits for words: spins that paid 0, spins "
      "that did not 0, parks 0\n"
      "VP 1: scheduling points 1, created 2, ended 3, parks 4, thefts 5 (6 from afar), requests "
      "served 7, sleeps 8, wakes 9, strategy's locks 10, waits for words: spins that paid 11, "
      "spins that did not 12, parks 13\n");
  mt_rt.vp_count = 0;
  world.packers = 1;
  mt_debug.stats();
  SAID(
      "packer: pages packed 21, back 22 (23 ahead), first touches 24, kept 25; 26 pages in 27 KiB "
      "now\n");
  world.packers = 0;
  mt_rt.handover.runs = true;
  mt_rt.handover.count = 31;
  mt_rt.handover.wakeups = 32;
  mt_rt.handover.after[0] = 33;
  mt_rt.handover.after[2] = 34;
  mt_rt.handover.after[MT_HANDOVER_TIMES - 1] = 35;
  mt_debug.stats();
  SAID(
      "monitor: hand-overs 31, wake-ups 32\n"
      "monitor: hand-overs of VPs silent for less than 1 ms: 33\n"
      "monitor: hand-overs of VPs silent for less than 4 ms: 34\n"
      "monitor: hand-overs of VPs silent for any time from 16384 ms: 35\n");
  mt_rt.handover.runs = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(other_kernel_threads_may_make_a_thread_ready),
      TEST_BARE(what_may_still_end_a_wait),
      TEST_BARE(a_woken_waiter_for_a_lock_will_run),
      TEST_BARE(a_wait_for_a_descriptor_ends_from_outside),
      TEST_BARE(a_deadlock_is_reported_once),
      TEST_BARE(the_guard_of_a_stack_of_ours),
      TEST_BARE(below_a_stack_of_libc),
      TEST_BARE(the_size_that_was_asked_for),
      TEST_BARE(code_on_a_stack_is_allowed_when_it_is_called),
      TEST_BARE(handlers_come_and_go),
      TEST_BARE(other_faults_are_passed_on),
      TEST_BARE(a_panic_and_a_signal_dump_all_threads),
      TEST_BARE(counters_have_their_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a crash of a rank prints, and what is done in which order (src/tmpi/run/crash.c): faults,
 * signals that were sent, and overflows of stacks; a child that cannot print the lines; frames of
 * libraries that the rank has called. The test is the kernel, the loader and the child.
 */
#include "traced_calls.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

enum { RANK = 1, PID = 4000, CHILD = 55, STACK = 1 << 20, FRAMES = 70, LONG = 600 };

static char said[3000];

static void check_said(const char *expected) {
  assert_string_equal(said, expected);
  said[0] = '\0';
}

int os_write(int fd, const char *text, size_t length) {
  assert_int_equal(fd, 2);
  assert_true(strlen(said) + length < sizeof said);
  assert_null(memchr(text, '\0', length));
  strncat(said, text, length);
  return 0;
}

/* ---- the rank and the job */

static struct tm_process process = {.number = RANK}, *caller;
static int rank;
static bool taken, own, has_stack, looks;

struct tm_process *tm_process_self(void) { return caller; }
int tm_rank_number(void) { return rank; }
void tm_output_end_all(void) { note("end_output"); }
bool tm_checks_look(void) { return looks; }
void tm_signals_start(void) { note("signals"); }
void os_report_alone(void) { note("alone"); }

void tm_job_tell(int status, const char *format, ...) {
  char text[60];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note("tell:%d,%s", status, text);
}

static bool take(const char *how) {
  note("%s", how);
  errno = EIO;
  return taken;
}

bool tm_fault_to_rank(struct tm_process *to, int signo, siginfo_t *info, void *context) {
  assert_true(to == caller && signo > 0 && info != NULL && context != NULL);
  return take("to_rank");
}

bool tm_signal_to_ranks(int signo, siginfo_t *info, void *context) {
  assert_true(signo > 0 && info != NULL && context != NULL);
  return take("to_ranks");
}

bool tm_signal_is_own(int signo, const siginfo_t *info) {
  assert_true(signo > 0 && info != NULL);
  return own;
}

bool tm_fault_has_stack(const struct tm_process *of, int signo) {
  assert_true(of == &process && signo == SIGSEGV);
  return has_stack;
}

/* ---- signals */

static os_handler *handlers[NSIG];
static bool (*is_taken)(int signo);
static bool (*report)(const char *name, size_t kib, const void *context);

int os_signal_install(int signo, os_handler *handler, struct sigaction *old) {
  assert_non_null(old);
  handlers[signo] = handler;
  return 0;
}

void os_signal_default(int signo) { note("default:%s", sigabbrev_np(signo)); }

void mti_set_overflow_hooks(bool (*taken_hook)(int signo),
                            bool (*report_hook)(const char *name, size_t kib,
                                                const void *context)) {
  is_taken = taken_hook;
  report = report_hook;
}

int __wrap_raise(int signo);
int __wrap_raise(int signo) {
  note("raise:%s", sigabbrev_np(signo));
  return 0;
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) { return PID; }

/* ---- the child that prints lines */

static char stack[STACK];
static jmp_buf child_ends;
static bool no_stack, no_child, prints;
static int child_status, signalled, interruptions; /* signalled: children that SIGALRM ends */

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  assert_true(address == NULL && size == STACK && fd == -1 && offset == 0);
  assert_int_equal(protection, PROT_READ | PROT_WRITE);
  assert_int_equal(flags, MAP_PRIVATE | MAP_ANONYMOUS);
  return no_stack ? MAP_FAILED : stack;
}

int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size) {
  assert_true(address == stack && size == STACK);
  note("unmap");
  return 0;
}

int __wrap_clone(int (*function)(void *), void *top, int flags, void *argument, ...);
int __wrap_clone(int (*function)(void *), void *top, int flags, void *argument, ...) {
  assert_true(top == stack + STACK && flags == SIGCHLD);
  if (no_child) {
    note("no_child");
    return -1;
  }
  note("child(");
  if (setjmp(child_ends) == 0) function(argument);
  note(")");
  return CHILD;
}

void __wrap__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) {
  child_status = status << 8;
  longjmp(child_ends, 1);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int flags);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags) {
  assert_true(pid == CHILD && flags == 0);
  note("wait");
  if (interruptions-- > 0) {
    errno = EINTR;
    return -1;
  }
  *status = signalled-- > 0 ? SIGALRM : child_status;
  return pid;
}

unsigned __wrap_alarm(unsigned seconds);
unsigned __wrap_alarm(unsigned seconds) {
  note("alarm:%u", seconds);
  return 0;
}

int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  assert_true(how == SIG_UNBLOCK && old == NULL);
  for (int signo = 1; signo < NSIG; signo++)
    if (signo < 32 || signo > 34) assert_int_equal(sigismember(set, signo), 1);
  note("unblock");
  return 0;
}

int __wrap_fflush(FILE *stream);
int __wrap_fflush(FILE *stream) {
  assert_ptr_equal(stream, stderr); /* the program may have given it a buffer */
  note("flush");
  return 0;
}

static ucontext_t context;

bool tm_print_interrupted(const void *of, int most) {
  assert_ptr_equal(of, &context);
  note("print:%d", most);
  return prints;
}

/* ---- the program: one image at CODE, and what calls what */

#define CODE ((const char *)0x70000)
enum { CODE_SIZE = 0x1000 };

static char app_path[LONG + 1], *const short_path = "/srv/app";
static struct tm_image app, library = {.path = "/opt/lib.so"},
                            *images[] = {&library, &app, NULL}; /* two; a third one is opened */
static struct tm_program program = {.images = images, .image_count = 2};
struct tm_program *tm_the_program = &program;
static const char *name;
static bool changed, library_changed;
static int looked_at; /* return addresses */

const struct tm_image *tm_program_image_at(const struct tm_program *of, const void *address,
                                           size_t *offset) {
  assert_ptr_equal(of, &program);
  looked_at++;
  if ((const char *)address < CODE || (const char *)address >= CODE + CODE_SIZE) return NULL;
  *offset = (size_t)((const char *)address - CODE);
  return &app;
}

bool tm_image_has_changed(const struct tm_image *image) {
  assert_non_null(image);
  return image == &app ? changed : library_changed;
}

const char *tm_image_name_at(const struct tm_image *image, size_t offset) {
  assert_true(image == &app && offset == 0x44);
  return name;
}

static struct frame {
  const struct frame *caller;
  const char *return_address;
} frames[FRAMES];

bool mti_peek(void *to, const void *from, size_t size) {
  if ((const struct frame *)from < frames || (const struct frame *)from >= frames + FRAMES)
    return false;
  memcpy(to, from, size);
  return true;
}

/* The program calls a library: the frame of its call is frames[depth]. */
static void in_library(int depth) {
  for (int i = 0; i < FRAMES; i++)
    frames[i] = (struct frame){i + 1 < FRAMES ? &frames[i + 1] : NULL, (const char *)0x10};
  frames[depth].return_address = CODE + 0x45;
  context.uc_mcontext.gregs[REG_RIP] = 0x10;
  context.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)frames;
}

/* ---- a crash */

static int crashes(int signo, int code, int sender) {
  siginfo_t info = {.si_signo = signo, .si_code = code};
  if (code > 0)
    info.si_addr = (void *)8;
  else
    info.si_pid = sender;
  errno = ERANGE;
  handlers[signo](signo, &info, &context);
  return errno;
}

#define FAULT "to_rank alone "
#define PRINTS_FOR(seconds)                                                                        \
  "child( default:SEGV default:BUS default:FPE default:ILL default:ABRT default:ALRM unblock "     \
  "alarm:" #seconds " print:16 flush ) wait "
#define ENDS(number, name) "end_output tell:" #number ",rank 1: SIG" #name " default:" #name " "
#define CRASHED "tmpirun: rank 1 crashed: SIGSEGV at address 0x8\n"

static int start(void **state) {
  (void)state;
  app = (struct tm_image){.path = short_path};
  memset(app_path, 'x', LONG);
  caller = &process;
  rank = RANK;
  name = "work";
  taken = own = has_stack = looks = no_stack = no_child = changed = library_changed = false;
  prints = true;
  signalled = interruptions = 0;
  context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)(CODE + 0x44);
  context.uc_mcontext.gregs[REG_RBP] = 0;
  tm_crash_start();
  trace[0] = said[0] = '\0';
  return 0;
}

static void test_which_signals_are_crashes(void **state) {
  static const int crashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  int count = 0;
  (void)state;
  for (int signo = 1; signo < 32; signo++) {
    assert_int_equal(tm_crash_signal(signo), handlers[signo] != NULL);
    count += handlers[signo] != NULL;
  }
  assert_int_equal(count, 5);
  for (int i = 0; i < 5; i++) assert_non_null(handlers[crashing[i]]);
  tm_crash_start();
  check_trace("signals ");
}

static void test_a_child_prints_the_lines_of_a_fault(void **state) {
  (void)state;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT PRINTS_FOR(2) "unmap " ENDS(139, SEGV));
  check_said(CRASHED);
  interruptions = 2;
  crashes(SIGFPE, FPE_INTDIV, 0);
  check_trace(FAULT
              "child( default:SEGV default:BUS default:FPE default:ILL default:ABRT default:ALRM "
              "unblock alarm:2 print:16 flush ) wait wait wait unmap " ENDS(136, FPE));
}

static void test_a_handler_of_the_rank_takes_it(void **state) {
  (void)state;
  taken = true;
  assert_int_equal(crashes(SIGSEGV, SEGV_MAPERR, 0), ERANGE);
  check_trace("to_rank ");
  assert_int_equal(crashes(SIGABRT, SI_TKILL, 0), ERANGE);
  check_trace("to_ranks ");
  check_said("");
  caller = NULL; /* no rank's code */
  rank = -1;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace("alone end_output tell:139,rank -1: SIGSEGV default:SEGV ");
  check_said("");
}

/* Another thread may hold a lock that the child needs: then the child waits, and a second one has
 * more time. */
static void test_children_that_cannot_print(void **state) {
  static const char place[] = CRASHED
      "tmpirun: rank 1 was in work at 0x44 of '/srv/app' (its line: addr2line -f -e '/srv/app' "
      "0x44)\n";
  (void)state;
  signalled = 1;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT PRINTS_FOR(2) PRINTS_FOR(8) "unmap " ENDS(139, SEGV));
  check_said(CRASHED);
  signalled = 2;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT PRINTS_FOR(2) PRINTS_FOR(8) "unmap " ENDS(139, SEGV));
  check_said(place);
  signalled = 0;
  prints = false;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT PRINTS_FOR(2) "unmap " ENDS(139, SEGV));
  check_said(place);
  no_child = true;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT "no_child no_child unmap " ENDS(139, SEGV));
  check_said(place);
  no_stack = true;
  name = "";
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_trace(FAULT ENDS(139, SEGV));
  check_said(CRASHED
             "tmpirun: rank 1 was at 0x44 of '/srv/app' (its line: addr2line -f -e '/srv/app' "
             "0x44)\n");
}

/* ---- within a library that the program has called */

#define HINT                                                                                       \
  "tmpirun: where that is a call of MPI, a buffer may be too small, or ranks are in different "    \
  "collectives (--check looks)\n"

static void test_the_call_of_a_library_is_looked_for(void **state) {
  (void)state;
  no_stack = true;
  for (int i = 0; i < 2; i++) {
    in_library(i == 0 ? 0 : 63);
    crashes(SIGSEGV, SEGV_MAPERR, 0);
    check_said(CRASHED
               "tmpirun: rank 1 was in a library that was called in work at 0x44 of '/srv/app' "
               "(its line: addr2line -f -e '/srv/app' 0x44)\n" HINT);
  }
  no_stack = false;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_said(CRASHED HINT);
  looks = true; /* --check has looked */
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_said(CRASHED);
  looks = false;
  in_library(64); /* too deep */
  looked_at = 0;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  assert_int_equal(looked_at, 1 + 64);
  in_library(3);
  for (int i = 2; i >= 1; i--) {
    frames[2].caller = &frames[i]; /* no frame of a caller lies there */
    looked_at = 0;
    crashes(SIGSEGV, SEGV_MAPERR, 0);
    assert_int_equal(looked_at, 1 + 3);
  }
  no_stack = true;
  context.uc_mcontext.gregs[REG_RBP] = 0;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  check_said(CRASHED CRASHED CRASHED CRASHED);
}

/* ---- files that were written to */

#define CHANGED(path)                                                                              \
  "tmpirun: '" path                                                                                \
  "' was written to while its ranks ran, which changes their code (replace it by mv, not by "      \
  "cp)\n"

static void test_a_program_that_was_written_to(void **state) {
  (void)state;
  changed = no_stack = true; /* names of its functions are those of the old file */
  crashes(SIGBUS, BUS_ADRERR, 0);
  check_said("tmpirun: rank 1 crashed: SIGBUS at address 0x8\n" CHANGED(
      "/srv/app") "tmpirun: rank 1 was at 0x44 of '/srv/app' (its line: addr2line -f -e '/srv/app' "
                  "0x44)\n");
  changed = false;
  library_changed = true;
  rank = 0;
  crashes(SIGBUS, BUS_ADRERR, 0);
  check_said("tmpirun: rank 0 crashed: SIGBUS at address 0x8\n" CHANGED("/opt/lib.so")
             "tmpirun: rank 0 was in work at 0x44 of '/srv/app' (its line: addr2line -f -e "
             "'/srv/app' 0x44)\n");
}

/* A message has room for 511 bytes. */
static void test_long_paths_are_cut_off(void **state) {
  (void)state;
  app.path = app_path;
  changed = no_stack = true;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  assert_int_equal(strlen(said), strlen(CRASHED) + 511 + 511);
  said[0] = '\0';
  app_path[511 - strlen(CHANGED(""))] = '\0'; /* it fits */
  no_stack = false;
  crashes(SIGSEGV, SEGV_MAPERR, 0);
  assert_int_equal(strlen(said), strlen(CRASHED) + 511);
  assert_int_equal(said[strlen(said) - 1], '\n');
  no_stack = true;
  memset(app_path, 'x', LONG);
  app_path[512 - strlen(CHANGED(""))] = '\0'; /* one byte more, and shorter ones */
  for (char *end = strchr(app_path, '\0'); end > app_path; *--end = '\0')
    for (rank = 9; rank <= 10; rank++) {
      said[0] = trace[0] = '\0';
      crashes(SIGSEGV, SEGV_MAPERR, 0);
    }
}

/* ---- signals that were sent */

static void test_signals_of_the_rank_itself(void **state) {
  (void)state;
  own = true;
  crashes(SIGABRT, SI_TKILL, PID);
  check_trace("to_ranks alone " PRINTS_FOR(2) "unmap " ENDS(134, ABRT) "raise:ABRT ");
  check_said("tmpirun: rank 1 called abort()\n");
  crashes(SIGSEGV, SI_USER, PID);
  check_trace("to_ranks alone " PRINTS_FOR(2) "unmap " ENDS(139, SEGV) "raise:SEGV ");
  check_said("tmpirun: rank 1 raised SIGSEGV\n");
  rank = 0; /* which is a rank, too */
  crashes(SIGABRT, SI_TKILL, PID);
  check_trace("to_ranks alone " PRINTS_FOR(
      2) "unmap end_output tell:134,rank 0: SIGABRT default:ABRT raise:ABRT ");
  check_said("tmpirun: rank 0 called abort()\n");
}

static void test_signals_from_elsewhere(void **state) {
  (void)state;
  crashes(SIGSEGV, SI_USER, PID + 1);
  check_trace("to_ranks alone " ENDS(139, SEGV) "raise:SEGV ");
  check_said("tmpirun: SIGSEGV has come from outside (process 4001)\n");
  crashes(SIGABRT, SI_USER, PID);
  check_said("tmpirun: SIGABRT has come from the program itself (process 4000)\n");
  trace[0] = '\0';
  own = true; /* of a thread of no rank */
  rank = -1;
  crashes(SIGABRT, SI_TKILL, PID);
  check_trace("to_ranks alone end_output tell:134,rank -1: SIGABRT default:ABRT raise:ABRT ");
  check_said("tmpirun: SIGABRT has come from the program itself (process 4000)\n");
}

/* ---- stacks */

static void test_overflows_of_stacks(void **state) {
  (void)state;
  assert_false(is_taken(SIGSEGV));
  has_stack = true;
  assert_true(is_taken(SIGSEGV));
  caller = NULL;
  assert_false(is_taken(SIGSEGV));
  assert_true(report("rank 1", 64, &context));
  check_trace("alone " PRINTS_FOR(2) "unmap end_output tell:139,rank 1: stack overflow ");
  check_said(
      "tmpirun: rank 1: stack overflow: all 64 KiB of its stack are used (larger --stack, or "
      "ulimit "
      "-s)\n");
  rank = 0;
  no_stack = true;
  assert_true(report("rank 0", 16384, &context));
  check_said(
      "tmpirun: rank 0: stack overflow: all 16384 KiB of its stack are used (larger --stack, or "
      "ulimit -s)\n"
      "tmpirun: rank 0 was in work at 0x44 of '/srv/app' (its line: addr2line -f -e '/srv/app' "
      "0x44)\n");
  trace[0] = '\0';
  rank = -1; /* a thread of no rank: libmltp reports it */
  assert_false(report("a thread", 64, &context));
  check_trace("");
  check_said("");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_which_signals_are_crashes),
      ROW(test_a_child_prints_the_lines_of_a_fault),
      ROW(test_a_handler_of_the_rank_takes_it),
      ROW(test_children_that_cannot_print),
      ROW(test_the_call_of_a_library_is_looked_for),
      ROW(test_a_program_that_was_written_to),
      ROW(test_long_paths_are_cut_off),
      ROW(test_signals_of_the_rank_itself),
      ROW(test_signals_from_elsewhere),
      ROW(test_overflows_of_stacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

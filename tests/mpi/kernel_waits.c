/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of ranks in the kernel, step by step (src/tmpi/run/blocking.c, interrupted_calls.c): the
 * VP is given away for those calls alone that wait, errno is what the call has set whatever runs
 * meanwhile, and a handler ends the wait of the one thread that it is for. The kernel is a
 * stand-in.
 */
#include "traced_calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "os/os.h"
#include "os/pthreads.h"
#include "override_rows.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/streams.h"

enum { OTHERS_ERRNO = 999, MEANT = 40, RANK = 3, TASK = 4000, STACK = 64 };

/* ---- calls of the kernel that may wait: what each of them returns, and sets errno to */

static struct answer {
  long result;
  int error;
} first, waited; /* of a call that does not wait, and of one for which the VP was given away */
static bool is_away;

void mltp_blocking_begin(void) {
  note("begin");
  is_away = true;
}

/* Another kernel thread may run the rank from now on, with an errno of its own. */
void mltp_blocking_end(void) {
  note("end");
  is_away = false;
  errno = OTHERS_ERRNO;
}

void tm_set_errno(int error) { errno = error; }
int tm_streams_meant(int fd) { return fd == STDIN_FILENO ? MEANT : fd; }

static long answered(void) {
  struct answer answer = is_away ? waited : first;
  errno = answer.error;
  return answer.result;
}

int os_pthread_barrier_wait(pthread_barrier_t *barrier) {
  note("barrier:%d", barrier != NULL);
  return (int)answered();
}

int __wrap_sem_trywait(sem_t *semaphore);
int __wrap_sem_trywait(sem_t *semaphore) {
  note("try:%d", semaphore != NULL);
  return (int)answered();
}

int __wrap_sem_wait(sem_t *semaphore);
int __wrap_sem_wait(sem_t *semaphore) {
  note("wait:%d", semaphore != NULL);
  return (int)answered();
}

int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *time);
int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *time) {
  note("until:%d,%d,%d", semaphore != NULL, (int)clock, (int)time->tv_sec);
  return (int)answered();
}

int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  note("flock:%d,%d", fd, operation);
  return (int)answered();
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  long word[6];
  va_start(list, number);
  for (int i = 0; i < 6; i++) word[i] = va_arg(list, long);
  va_end(list);
  note("%ld(%ld,%ld,%ld,%ld,%ld,%ld)", number == SYS_futex ? 0 : number, word[0], word[1], word[2],
       word[3], word[4], word[5]);
  return answered();
}

#define CALL(type, name) ((type)override_row(tm_override_blocking, name))

static void answer(struct answer at_once, struct answer after_a_wait) {
  first = at_once;
  waited = after_a_wait;
  errno = 0;
}

/* ---- */

static pthread_barrier_t barrier;
static sem_t semaphore;

static void a_barrier_waits(void **state) {
  (void)state;
  answer((struct answer){0, 0}, (struct answer){PTHREAD_BARRIER_SERIAL_THREAD, 0});
  int result = CALL(int (*)(pthread_barrier_t *), "pthread_barrier_wait")(&barrier);
  assert_int_equal(result, PTHREAD_BARRIER_SERIAL_THREAD);
  check_trace("begin barrier:1 end ");
}

static void a_free_semaphore_takes_no_wait(void **state) {
  const struct timespec time = {7, 0};
  (void)state;
  answer((struct answer){0, 0}, (struct answer){-1, EINVAL});
  assert_int_equal(CALL(int (*)(sem_t *), "sem_wait")(&semaphore), 0);
  check_trace("try:1 ");
  assert_int_equal(
      CALL(int (*)(sem_t *, const struct timespec *), "sem_timedwait")(&semaphore, &time), 0);
  check_trace("try:1 ");
}

static void a_semaphore_waits(void **state) {
  const struct timespec time = {7, 0};
  (void)state;
  answer((struct answer){-1, EAGAIN}, (struct answer){-1, EINTR});
  assert_int_equal(CALL(int (*)(sem_t *), "sem_wait")(&semaphore), -1);
  assert_int_equal(errno, EINTR);
  check_trace("try:1 begin wait:1 end ");
  answer((struct answer){-1, EAGAIN}, (struct answer){-1, ETIMEDOUT});
  assert_int_equal(
      CALL(int (*)(sem_t *, const struct timespec *), "sem_timedwait")(&semaphore, &time), -1);
  assert_int_equal(errno, ETIMEDOUT);
  check_trace("try:1 begin until:1,0,7 end ");
  assert_int_equal(CALL(int (*)(sem_t *, clockid_t, const struct timespec *), "sem_clockwait")(
                       &semaphore, CLOCK_MONOTONIC, &time),
                   -1);
  check_trace("try:1 begin until:1,1,7 end ");
}

static int lock_file(int fd, int operation) {
  return CALL(int (*)(int, int), "flock")(fd, operation);
}

/* To unlock never waits, and a program may ask for no wait. */
static void a_lock_that_is_free(void **state) {
  (void)state;
  answer((struct answer){0, 0}, (struct answer){-1, EINVAL});
  assert_int_equal(lock_file(STDIN_FILENO, LOCK_EX), 0);
  assert_int_equal(lock_file(5, LOCK_UN), 0);
  check_trace("flock:40,6 flock:5,8 ");
  answer((struct answer){-1, EWOULDBLOCK}, (struct answer){0, 0});
  assert_int_equal(lock_file(5, LOCK_SH | LOCK_NB), -1);
  assert_int_equal(errno, EWOULDBLOCK);
  check_trace("flock:5,5 ");
}

static void a_lock_that_another_holds(void **state) {
  (void)state;
  answer((struct answer){-1, EWOULDBLOCK}, (struct answer){-1, EINTR});
  assert_int_equal(lock_file(5, LOCK_EX), -1);
  assert_int_equal(errno, EINTR);
  check_trace("flock:5,6 begin flock:5,2 end ");
  answer((struct answer){-1, EBADF}, (struct answer){0, 0});
  assert_int_equal(lock_file(5, LOCK_EX), -1);
  assert_int_equal(errno, EBADF);
  check_trace("flock:5,6 ");
}

/* Futures of C++ wait by number. */
static void calls_by_number(void **state) {
  long (*call)(long, ...) = CALL(long (*)(long, ...), "syscall");
  (void)state;
  answer((struct answer){8, EPERM}, (struct answer){-1, ETIMEDOUT});
  assert_int_equal(call(SYS_futex, 1L, (long)FUTEX_WAIT, 3L, 4L, 5L, 6L), -1);
  assert_int_equal(errno, ETIMEDOUT);
  check_trace("begin 0(1,0,3,4,5,6) end ");
  call(SYS_futex, 1L, (long)FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0L, 0L, 0L, 0L);
  check_trace("begin 0(1,137,0,0,0,0) end ");
  call(SYS_futex, 1L, (long)FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0L, 0L, 0L, 0L);
  check_trace("begin 0(1,262,0,0,0,0) end ");
  assert_int_equal(call(SYS_futex, 1L, (long)FUTEX_WAKE, 0L, 0L, 0L, 0L), 8);
  assert_int_equal(errno, EPERM);
  check_trace("0(1,1,0,0,0,0) ");
  call(77777L, 1L, (long)FUTEX_WAIT, 0L, 0L, 0L, 0L); /* no futex */
  check_trace("77777(1,0,0,0,0,0) ");
}

/* ---- a handler ends a wait. The rank's thread runs on a stack, or it waits somewhere */

static struct tm_process process, other_rank, *self;
static char memory[80], *const stack = memory + 8, *stack_low; /* NULL: it is not known */
static bool on_pthread, is_known;
static int task; /* that runs the rank's thread; -1: the calling one */
static int catches;

struct tm_process *tm_process_self(void) { return self; }
bool tm_on_pthread(void) { return on_pthread; }

struct tm_process *tm_process_of(int rank) {
  assert_int_equal(rank, RANK);
  return &process;
}

bool mti_stack_of(const struct mltp_thread *thread, const char **low, size_t *size) {
  assert_ptr_equal(thread, process.thread);
  *low = stack_low;
  *size = STACK;
  return stack_low != NULL;
}

bool mti_whereabouts(struct mti_whereabouts *where, const struct mltp_thread *thread) {
  assert_ptr_equal(thread, process.thread);
  *where = (struct mti_whereabouts){.task = task < 0 ? gettid() : task};
  return is_known;
}

int tm_signals_catch(int signo, bool on_stack) {
  assert_true(signo == SIGURG && !on_stack);
  catches++;
  return 0;
}

static siginfo_t sent;

int os_signal_send(int to, int signo, siginfo_t *info) {
  assert_true(signo == SIGURG && info->si_signo == SIGURG);
  note("send:%d", to);
  sent = *info;
  return 0;
}

/* ---- what was interrupted: a call that the kernel would make again */

static const unsigned char instruction[] = {0x0f, 0x05, 0x90};

static void interrupt_call(ucontext_t *context, const char *sp, long number, long one, long two) {
  greg_t *at = context->uc_mcontext.gregs;
  memset(context, 0, sizeof *context);
  at[REG_RIP] = (greg_t)instruction;
  at[REG_RCX] = (greg_t)instruction + 2;
  at[REG_RSP] = (greg_t)sp;
  at[REG_RAX] = number;
  at[REG_RDI] = one;
  at[REG_RSI] = two;
}

static bool has_failed(const ucontext_t *context) {
  return context->uc_mcontext.gregs[REG_RAX] == -EINTR;
}

static bool fails(long number, long one, long two) {
  ucontext_t context;
  interrupt_call(&context, stack, number, one, two);
  tm_call_fails(&context);
  return has_failed(&context);
}

static int begin(void **state) {
  (void)state;
  process = (struct tm_process){.number = RANK, .thread = (mltp_t *)&process};
  self = &process;
  on_pthread = false;
  is_known = true;
  stack_low = stack;
  task = -1;
  trace[0] = '\0';
  return 0;
}

/* signal(7) has the list. */
static void which_calls_fail(void **state) {
  (void)state;
  assert_true(fails(SYS_read, 0, 0) && fails(SYS_mq_timedsend, 0, 0) && fails(SYS_wait4, 0, 0));
  assert_false(fails(SYS_poll, 0, 0) || fails(SYS_getpid, 0, 0));
  assert_true(fails(SYS_futex, 0, FUTEX_WAIT) &&
              fails(SYS_futex, 0, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG));
  assert_false(fails(SYS_futex, 0, FUTEX_LOCK_PI) || fails(SYS_futex, 0, FUTEX_WAKE));
}

/* All ranks share the buffers of stdout and stderr, which would be lost. */
static void output_continues(void **state) {
  (void)state;
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    assert_false(fails(SYS_write, fd, 0) || fails(SYS_writev, fd, 0));
  assert_true(fails(SYS_write, 3, 0) && fails(SYS_writev, 0, 0) && fails(SYS_read, 1, 0));
}

static bool is_interrupted_at(const char *sp) {
  ucontext_t context;
  interrupt_call(&context, sp, SYS_read, 0, 0);
  return tm_has_interrupted(&process, &context);
}

static void which_thread_is_interrupted(void **state) {
  (void)state;
  assert_true(is_interrupted_at(stack) && is_interrupted_at(stack + STACK - 1));
  assert_false(is_interrupted_at(stack - 1) || is_interrupted_at(stack + STACK));
  task = TASK; /* a switch is under way */
  assert_false(is_interrupted_at(stack));
  process.task = TASK; /* --one-to-one: nothing else is on its kernel thread */
  assert_true(is_interrupted_at(stack - 1));
  on_pthread = true;
  assert_false(is_interrupted_at(stack));
  begin(NULL);
  is_known = false;
  assert_false(is_interrupted_at(stack));
  begin(NULL);
  stack_low = NULL;
  assert_false(is_interrupted_at(stack));
  begin(NULL);
  self = &other_rank;
  assert_false(is_interrupted_at(stack));
}

static void the_signal_is_caught_once(void **state) {
  (void)state;
  tm_wait_prepare();
  tm_wait_prepare();
  assert_int_equal(catches, 1);
}

static bool end_here(uint64_t flags) {
  ucontext_t context;
  interrupt_call(&context, stack, SYS_read, 0, 0);
  tm_wait_end(&process, flags, &context);
  return has_failed(&context);
}

/* The handler has interrupted the call itself. */
static void a_wait_ends_where_it_is(void **state) {
  (void)state;
  assert_true(end_here(0));
  assert_false(end_here(SA_RESTART));
  tm_wait_end(&process, 0, NULL); /* the rank's own thread runs: it waits in no call */
  check_trace("");
}

/* The handler runs on another thread. */
static void a_wait_ends_elsewhere(void **state) {
  (void)state;
  task = TASK;
  self = &other_rank;
  assert_false(end_here(0));
  check_trace("send:4000 ");
  ucontext_t context;
  interrupt_call(&context, stack, SYS_read, 0, 0);
  begin(NULL);
  assert_true(tm_wait_is_ended(&sent, &context) && has_failed(&context));
  self = &other_rank;
  process.task = TASK + 1;
  tm_wait_end(&process, SA_RESTART, NULL);
  check_trace("send:4001 ");
  begin(NULL);
  interrupt_call(&context, stack, SYS_read, 0, 0);
  assert_true(tm_wait_is_ended(&sent, &context) && !has_failed(&context));
}

/* A pthread of the rank runs the handler; or the rank's own thread is on no kernel thread. */
static void a_wait_that_another_thread_ends(void **state) {
  (void)state;
  on_pthread = true;
  task = TASK;
  tm_wait_end(&process, 0, NULL);
  check_trace("send:4000 ");
  task = 0;
  tm_wait_end(&process, 0, NULL);
  check_trace("");
}

/* The thread has left the call before the signal came. */
static void a_signal_that_comes_late(void **state) {
  (void)state;
  ucontext_t context;
  task = TASK;
  self = &other_rank;
  tm_wait_end(&process, 0, NULL);
  interrupt_call(&context, stack, SYS_read, 0, 0);
  assert_true(tm_wait_is_ended(&sent, &context) && !has_failed(&context));
}

static void a_signal_of_the_program(void **state) {
  siginfo_t info = {.si_code = SI_USER, .si_pid = getpid()};
  (void)state;
  assert_false(tm_wait_is_ended(&info, NULL));
  task = TASK;
  self = &other_rank;
  tm_wait_end(&process, 0, NULL);
  info = sent;
  info.si_pid++;
  assert_false(tm_wait_is_ended(&info, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_barrier_waits),
      cmocka_unit_test(a_free_semaphore_takes_no_wait),
      cmocka_unit_test(a_semaphore_waits),
      cmocka_unit_test(a_lock_that_is_free),
      cmocka_unit_test(a_lock_that_another_holds),
      cmocka_unit_test(calls_by_number),
      cmocka_unit_test_setup(which_calls_fail, begin),
      cmocka_unit_test_setup(output_continues, begin),
      cmocka_unit_test_setup(which_thread_is_interrupted, begin),
      cmocka_unit_test_setup(the_signal_is_caught_once, begin),
      cmocka_unit_test_setup(a_wait_ends_where_it_is, begin),
      cmocka_unit_test_setup(a_wait_ends_elsewhere, begin),
      cmocka_unit_test_setup(a_wait_that_another_thread_ends, begin),
      cmocka_unit_test_setup(a_signal_that_comes_late, begin),
      cmocka_unit_test_setup(a_signal_of_the_program, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

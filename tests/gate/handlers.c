/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that interrupt the gate (src/gate/handlers.c), with the kernel's signals: the test says
 * when the thread has gt_lock. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include "gate/handlers.h"
#include "gate/next.h"
#include "support/plain.h"

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct gt_next gt_next;

void gt_next_find(void) { CHECK(false); }

static volatile sig_atomic_t calls, early, last_signo, has_context, value, code, jumps;
static sigjmp_buf before;

static void on_number(int signo) {
  early += gt_me.locked;
  calls++;
  last_signo = signo;
  if (jumps) siglongjmp(before, 1);
}

static void on_info(int signo, siginfo_t *info, void *context) {
  has_context = context != NULL && info->si_signo == signo;
  value = info->si_value.sival_int;
  code = info->si_code;
  on_number(signo);
}

static void install(int signo, int flags) {
  struct sigaction action = {.sa_flags = flags};
  if ((flags & SA_SIGINFO) != 0)
    action.sa_sigaction = on_info;
  else
    action.sa_handler = on_number;
  EQUAL(gt_handlers_set(signo, &action, NULL), 0);
}

static bool is_blocked(int signo) {
  sigset_t set;
  EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
  return sigismember(&set, signo) == 1;
}

static void unlock(void) {
  gt_me.locked = false;
  if (gt_me.put_off) gt_handlers_run(&gt_me);
}

static void send_value(int signo, int number) {
  EQUAL(sigqueue(getpid(), signo, (union sigval){.sival_int = number}), 0);
}

static void without_the_lock_it_runs_at_once(void) {
  install(SIGUSR1, 0);
  calls = 0;
  raise(SIGUSR1);
  EQUAL(calls, 1);
  EQUAL(last_signo, SIGUSR1);
  CHECK(!gt_me.put_off);
}

static void with_the_lock_it_waits(void) {
  install(SIGUSR1, SA_SIGINFO | SA_RESTART);
  install(SIGUSR2, 0);
  calls = 0;
  gt_me.locked = true;
  errno = EDOM;
  send_value(SIGUSR1, 17);
  EQUAL(errno, EDOM);
  CHECK(gt_me.put_off && is_blocked(SIGUSR1) && is_blocked(SIGUSR2) && !is_blocked(SIGSEGV));
  raise(SIGUSR2);
  EQUAL(calls, 0);
  unlock();
  EQUAL(errno, EDOM);
  EQUAL(calls, 2);
  EQUAL(value, 17);
  EQUAL(code, SI_QUEUE);
  CHECK(has_context && early == 0);
  CHECK(!gt_me.put_off && !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
}

/* What the program blocked stays blocked. */
static void the_mask_is_as_before(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
  install(SIGUSR1, 0);
  install(SIGUSR2, 0);
  calls = 0;
  gt_me.locked = true;
  raise(SIGUSR1);
  raise(SIGUSR2);
  unlock();
  EQUAL(calls, 1);
  CHECK(is_blocked(SIGUSR2) && !is_blocked(SIGUSR1));
  EQUAL(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
  EQUAL(calls, 2);
}

static void it_may_jump(void) {
  install(SIGUSR1, 0);
  calls = 0;
  jumps = 1;
  if (sigsetjmp(before, 1) == 0) {
    gt_me.locked = true;
    raise(SIGUSR1);
    unlock();
    CHECK(false);
  }
  jumps = 0;
  EQUAL(calls, 1);
  CHECK(!gt_me.put_off && !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
}

/* A fault, and a handler that the kernel has removed. */
static void some_cannot_wait(void) {
  calls = 0;
  gt_me.locked = true;
  install(SIGSEGV, 0);
  raise(SIGSEGV);
  EQUAL(calls, 1);
  install(SIGALRM, (int)SA_RESETHAND);
  raise(SIGALRM);
  CHECK(calls == 2 && early == 2);
  unlock();
  EQUAL(calls, 2);
  struct sigaction now;
  EQUAL(gt_handlers_set(SIGALRM, NULL, &now), 0);
  CHECK(now.sa_handler == SIG_DFL);
}

static void the_program_sees_its_own(void) {
  struct sigaction action = {.sa_handler = SIG_IGN}, now;
  install(SIGUSR1, SA_RESTART);
  EQUAL(gt_handlers_set(SIGUSR1, NULL, &now), 0);
  CHECK(now.sa_handler == on_number && (now.sa_flags & SA_SIGINFO) == 0);
  CHECK((now.sa_flags & SA_RESTART) != 0);
  install(SIGUSR1, SA_SIGINFO);
  EQUAL(gt_handlers_set(SIGUSR1, &action, &now), 0);
  CHECK(now.sa_sigaction == on_info && (now.sa_flags & SA_SIGINFO) != 0);
  EQUAL(gt_handlers_set(SIGUSR1, NULL, &now), 0);
  CHECK(now.sa_handler == SIG_IGN);
  action.sa_handler = on_number;
  CHECK(gt_handlers_set(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
  CHECK(gt_handlers_set(0, &action, NULL) == -1 && errno == EINVAL);
  CHECK(gt_handlers_set(_NSIG, &action, NULL) == -1 && errno == EINVAL);
}

static int refuse(int signo, const struct sigaction *action, struct sigaction *old) {
  (void)signo, (void)action, (void)old;
  errno = EPERM;
  return -1;
}

static void where_the_kernel_refuses_the_old_one_stays(void) {
  struct sigaction other = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_info};
  install(SIGUSR1, 0);
  has_context = calls = 0;
  gt_next.set_action = refuse;
  CHECK(gt_handlers_set(SIGUSR1, &other, NULL) == -1 && errno == EPERM);
  gt_next.set_action = sigaction;
  raise(SIGUSR1);
  CHECK(calls == 1 && !has_context);
}

static void old_calls_do_the_same(void) {
  CHECK(signal(SIGUSR2, SIG_DFL) == on_number);
  CHECK(signal(SIGUSR2, on_number) == SIG_DFL && signal(SIGUSR2, on_number) == on_number);
  CHECK(signal(SIGKILL, on_number) == SIG_ERR && signal(-1, on_number) == SIG_ERR);
  calls = 0;
  gt_me.locked = true;
  raise(SIGUSR2);
  EQUAL(calls, 0);
  unlock();
  EQUAL(calls, 1);
}

int main(void) {
  gt_next.create = pthread_create;
  gt_next.set_action = sigaction;
  *(void **)&gt_next.signal = dlsym(RTLD_NEXT, "signal");
  gt_me.tid = getpid();
  without_the_lock_it_runs_at_once();
  with_the_lock_it_waits();
  the_mask_is_as_before();
  it_may_jump();
  some_cannot_wait();
  the_program_sees_its_own();
  where_the_kernel_refuses_the_old_one_stays();
  old_calls_do_the_same();
  return 0;
}

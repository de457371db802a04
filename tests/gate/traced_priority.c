/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate knows of priorities, and the signal masks of programs in single steps
 * (src/gate/priority.c, step_signals.c). */
#include "gate/priority.h"

#include <sched.h>
#include <signal.h>

#include "gate/step.h"
#include "traced.h"

enum { WAITS = 256 /* that a known priority counts for */ };

NOTED(set_policy, (pid_t tid, int policy, const struct sched_param *parameters))
NOTED(set_parameters, (pid_t tid, const struct sched_param *parameters))
NOTED(set_thread_policy, (pthread_t thread, int policy, const struct sched_param *parameters))
NOTED(set_thread_priority, (pthread_t thread, int priority))
NOTED(set_defaults, (const pthread_attr_t *attr))

int asked, priority;

int __wrap_os_priority(void);
int __wrap_os_priority(void) {
  asked++;
  return priority;
}

/* @return whether it asks the kernel. */
static bool asks(void) {
  int before = asked;
  gt_priority_refresh(&gt_me);
  if (asked != before) EQUAL(gt_me.priority, gt_seeded ? 0 : priority);
  return asked != before;
}

static void a_known_priority_counts_for_some_waits(void) {
  begin();
  priority = 7;
  CHECK(asks());
  for (int i = 0; i < WAITS; i++) CHECK(!asks());
  CHECK(asks());
  CHECK(!asks());
  gt_me.asked_for = 0;
  gt_seeded = true; /* the seed alone says which thread runs */
  gt_priority_refresh(&gt_me);
  EQUAL(gt_me.priority, 0);
}

static void calls_that_set_priorities(void) {
  const struct sched_param parameters = {.sched_priority = 9};
  pthread_t me = pthread_self(), other = (pthread_t)((uintptr_t)me ^ 64);
  begin();
  gt_next.create = pthread_create;
  CHECK(asks());
  for (int failed = 0; failed < 2; failed++) {
    ANSWER(failed, failed, failed, failed);
    EQUAL(sched_setscheduler(1, SCHED_FIFO, &parameters), failed);
    CHECK(asks() == !failed);
    EQUAL(sched_setparam(1, &parameters), failed);
    CHECK(asks() == !failed);
    EQUAL(pthread_setschedprio(other, 1), failed);
    CHECK(asks() == !failed);
    EQUAL(pthread_setschedparam(other, SCHED_FIFO, &parameters), failed);
    CHECK(asks() == !failed);
    TRACE("set_policy set_parameters set_thread_priority set_thread_policy");
  }
  static const struct {
    int policy, error, priority;
    bool seeded, asks;
  } own[] = {
      {SCHED_FIFO, 0, 9, false, false},     {SCHED_RR, 0, 9, false, false},
      {SCHED_OTHER, 0, 0, false, false},    {SCHED_BATCH, 0, 4, false, true},
      {SCHED_FIFO, EPERM, 4, false, false}, {SCHED_FIFO, 0, 4, true, true},
  };
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    gt_seeded = own[i].seeded;
    gt_me.priority = 4;
    ANSWER(own[i].error);
    EQUAL(pthread_setschedparam(me, own[i].policy, &parameters), own[i].error);
    EQUAL(gt_me.priority, own[i].priority);
    TRACE("set_thread_policy");
    bool did = asks(); /* it does not ask where it knows */
    EQUAL(did || (gt_seeded && gt_me.asked_for == 1), own[i].asks);
  }
}

static void what_new_threads_inherit(void) {
  pthread_attr_t inherits, own;
  begin();
  gt_next.create = pthread_create;
  pthread_attr_init(&inherits);
  pthread_attr_init(&own);
  pthread_attr_setinheritsched(&own, PTHREAD_EXPLICIT_SCHED);
  priority = 0;
  CHECK(asks());
  CHECK(gt_priority_inherited(&gt_me, NULL).has_none &&
        gt_priority_inherited(&gt_me, &inherits).has_none);
  CHECK(!gt_priority_inherited(&gt_me, &own).has_none);
  struct gt_inherited none = gt_priority_inherited(&gt_me, NULL);
  gt_me.priority = 1;
  CHECK(!gt_priority_inherited(&gt_me, NULL).has_none &&
        !gt_priority_inherited(&gt_me, &inherits).has_none);
  CHECK(!gt_priority_inherit(&gt_me, &(struct gt_inherited){.seen = none.seen}));
  EQUAL(gt_me.priority, 1);
  gt_me.asked_for = WAITS + 1;
  gt_me.priority_seen = none.seen + 1;
  CHECK(gt_priority_inherit(&gt_me, &none));
  EQUAL(gt_me.priority, 0);
  EQUAL(gt_me.asked_for, 1);
  CHECK(!asks());
  EQUAL(pthread_setattr_default_np(&own), 0);
  TRACE("set_defaults");
  CHECK(!gt_priority_inherited(&gt_me, NULL).has_none &&
        gt_priority_inherited(&gt_me, &inherits).has_none);
}

/* ---- signals */

bool steps;
const void *set_seen; /* by libc */
sigset_t blocked;
int how_seen;

bool gt_step_is_on(void) { return steps; }

static int libc_set_mask(int how, const sigset_t *set, sigset_t *old) {
  (void)old;
  how_seen = how;
  set_seen = set;
  if (set != NULL) blocked = *set;
  return 0;
}

static int libc_set_action(int signo, const struct sigaction *action, struct sigaction *old) {
  EQUAL(signo, SIGUSR1);
  (void)old;
  set_seen = action;
  if (action != NULL) blocked = action->sa_mask;
  if (action != NULL) CHECK(action->sa_handler == SIG_IGN && action->sa_flags == SA_RESTART);
  return 0;
}

static void masks_without_the_trap(void) {
  sigset_t all, some;
  struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};
  begin();
  sigfillset(&all);
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  gt_next.create = pthread_create;
  gt_next.set_mask = gt_next.set_first_mask = libc_set_mask;
  gt_next.set_action = libc_set_action;
  static const int hows[] = {SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
  for (int i = 0; i < 2 * 3; i++)
    for (int on = 0; on < 2; on++)
      for (int which = 0; which < 3; which++) {
        const sigset_t *set = which == 0 ? &all : which == 1 ? &some : NULL;
        bool changes = on && which == 0 && hows[i % 3] != SIG_UNBLOCK;
        steps = on;
        EQUAL(i < 3 ? pthread_sigmask(hows[i % 3], set, NULL) : sigprocmask(hows[i % 3], set, NULL),
              0);
        EQUAL(how_seen, hows[i % 3]);
        CHECK((set_seen == set) == !changes);
        if (changes)
          CHECK(sigismember(&blocked, SIGTRAP) == 0 && sigismember(&blocked, SIGUSR2) == 1);
      }
  for (int on = 0; on < 2; on++)
    for (int which = 0; which < 2; which++) {
      bool changes = on && which == 0;
      steps = on;
      action.sa_mask = which == 0 ? all : some;
      EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
      CHECK((set_seen == &action) == !changes);
      EQUAL(sigismember(&blocked, SIGTRAP), which == 0 && !on);
      EQUAL(sigismember(&blocked, SIGUSR1), 1);
    }
  EQUAL(sigaction(SIGUSR1, NULL, NULL), 0);
  CHECK(set_seen == NULL);
  TRACE("");
  gt_next.create = NULL; /* before the gate has started */
  EQUAL(pthread_sigmask(SIG_BLOCK, NULL, NULL) + sigprocmask(SIG_BLOCK, NULL, NULL) +
            sigaction(SIGUSR1, NULL, NULL),
        0);
  TRACE("find find find");
}

static void priorities_before_the_start(void) {
  const struct sched_param parameters = {.sched_priority = 9};
  begin();
  gt_next.create = NULL;
  EQUAL(sched_setscheduler(1, SCHED_FIFO, &parameters) + sched_setparam(1, &parameters), 0);
  EQUAL(pthread_setschedparam(pthread_self(), SCHED_OTHER, &parameters) +
            pthread_setschedprio(pthread_self(), 1),
        0);
  EQUAL(pthread_setattr_default_np(&(pthread_attr_t){0}), 0);
  TRACE(
      "find set_policy find set_parameters find set_thread_policy find set_thread_priority find "
      "set_defaults");
}

int main(void) {
  gt_next = (struct gt_next){
      .set_policy = libc_set_policy,
      .set_parameters = libc_set_parameters,
      .set_thread_policy = libc_set_thread_policy,
      .set_thread_priority = libc_set_thread_priority,
      .set_defaults = libc_set_defaults,
  };
  a_known_priority_counts_for_some_waits();
  calls_that_set_priorities();
  what_new_threads_inherit();
  masks_without_the_trap();
  priorities_before_the_start();
}

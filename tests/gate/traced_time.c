/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping, yielding, clocks, signals and lent permits: what these calls ask of libc and of the lot
 * (traced.h). */
#include <signal.h>
#include <sys/time.h>

#include "gate/lend.h"
#include "traced.h"

NOTED(nanosleep, (const struct timespec *time, struct timespec *left))
NOTED(clock_nanosleep,
      (clockid_t clock, int flags, const struct timespec *time, struct timespec *left))
NOTED(sched_yield, (void))
NOTED(clock_gettime, (clockid_t clock, struct timespec *time))
NOTED(gettimeofday, (struct timeval * time, void *zone))
NOTED(sigwait, (const sigset_t *set, int *signo))
NOTED(sigwaitinfo, (const sigset_t *set, siginfo_t *info))
NOTED(sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time))

static unsigned libc_sleep(unsigned seconds) {
  EQUAL(seconds, 12);
  note("sleep");
  return (unsigned)answer();
}

static time_t libc_time(time_t *at) {
  CHECK(at == NULL || *at == 5);
  note("time");
  return answer();
}

void gt_grant(void) { note("grant"); }

/* Stands before libc's: calls that look for a cancellation, of which there is none. */
static int looks;

void pthread_testcancel(void) { looks++; }

static const uint64_t second = 1000000000;
static struct timespec length = {3, 5};

/* Of a wait in a seeded run. */
static void check_sleep(uint64_t until, clockid_t clock) {
  TRACE("( in wait:sleep");
  CHECK(key_seen == &gt_me && limit_seen.cancellable && limit_seen.interruptible &&
        limit_seen.until != NULL);
  EQUAL(limit_seen.clock, clock);
  EQUAL((uint64_t)until_seen.tv_sec * second + (uint64_t)until_seen.tv_nsec, until);
}

static void sleeps_by_the_kernel(void) {
  struct timespec bad = {0, 1000000000}, past = {-1, 0}, shortest = {0, 1};
  begin();
  ANSWER(-1);
  EQUAL(nanosleep(&length, NULL), -1);
  TRACE("leave nanosleep back");
  EQUAL(nanosleep(&shortest, NULL) + clock_nanosleep(CLOCK_MONOTONIC, 0, &shortest, NULL), 0);
  TRACE("leave nanosleep back leave clock_nanosleep back");
  ANSWER(EINTR);
  EQUAL(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &length, NULL), EINTR);
  TRACE("leave clock_nanosleep back");
  ANSWER(4);
  EQUAL(sleep(12), 4);
  TRACE("leave sleep back");
  EQUAL(usleep(1500000), 0);
  TRACE("leave nanosleep back");
  for (int seeded = 0; seeded < 2; seeded++) { /* no time: libc reports it */
    gt_seeded = seeded;
    EQUAL(nanosleep(&bad, NULL) + nanosleep(&past, NULL), 0);
    EQUAL(clock_nanosleep(CLOCK_REALTIME, 0, &bad, NULL) +
              clock_nanosleep(CLOCK_REALTIME, 0, &past, NULL),
          0);
    TRACE("nanosleep nanosleep clock_nanosleep clock_nanosleep");
  }
  refuses = true;
  gt_me.open = 0;
  EQUAL(nanosleep(&length, NULL) + clock_nanosleep(CLOCK_REALTIME, 0, &length, NULL), 0);
  EQUAL(sleep(12), 0);
  TRACE("nanosleep clock_nanosleep sleep");
}

static void sleeps_by_the_seed(void) {
  struct timespec left = {1, 1};
  begin();
  gt_seeded = true;
  now = 100 * second + 7;
  EQUAL(nanosleep(&length, &left), 0);
  check_sleep(103 * second + 12, CLOCK_MONOTONIC);
  EQUAL(clock_seen, CLOCK_MONOTONIC);
  EQUAL(left.tv_sec, 1);
  for (int i = 0; i < 2; i++) {
    ANSWER(EINTR);
    errno = 0;
    EQUAL(nanosleep(&length, i == 0 ? &left : NULL), -1);
    EQUAL(errno, EINTR);
    check_sleep(103 * second + 12, CLOCK_MONOTONIC);
    CHECK(left.tv_sec == 3 && left.tv_nsec == 5);
  }
  looks = 0;
  ANSWER(EAGAIN, ETIMEDOUT); /* it left the wait in a handler */
  EQUAL(nanosleep(&length, NULL), 0);
  TRACE("( in wait:sleep ( in wait:sleep");
  EQUAL(looks, 2);   /* before each wait */
  ANSWER(ETIMEDOUT); /* as it should be */
  EQUAL(nanosleep(&length, NULL), 0);
  check_sleep(103 * second + 12, CLOCK_MONOTONIC);
  EQUAL(looks, 3);
  ANSWER(ECANCELED); /* and the cancellation is disabled */
  EQUAL(nanosleep(&length, NULL), 0);
  check_sleep(103 * second + 12, CLOCK_MONOTONIC);
  EQUAL(looks, 5);
  EQUAL(clock_nanosleep(CLOCK_REALTIME, 0, &length, NULL), 0);
  check_sleep(103 * second + 12, CLOCK_MONOTONIC);
  ANSWER(EINTR);
  EQUAL(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &length, NULL), EINTR);
  check_sleep(3 * second + 5, CLOCK_REALTIME);
  EQUAL(usleep(1000000), 0);
  check_sleep(101 * second + 7, CLOCK_MONOTONIC);
  struct timespec longest = {INT64_MAX, 5}; /* nanoseconds would not fit */
  EQUAL(nanosleep(&longest, NULL), 0);
  check_sleep(4000000100 * second + 12, CLOCK_MONOTONIC);
  EQUAL(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &longest, NULL), 0);
  check_sleep(4000000000 * second + 5, CLOCK_REALTIME);
  EQUAL(usleep(2500001), 0);
  check_sleep(102 * second + 500001007, CLOCK_MONOTONIC);
  EQUAL(sleep(12), 0);
  check_sleep(112 * second + 7, CLOCK_MONOTONIC);
  ANSWER(EINTR);
  EQUAL(sleep(12), 12);
  check_sleep(112 * second + 7, CLOCK_MONOTONIC);
}

/* The seed has no such clocks, and no thread sleeps by its own time of CPU: libc reports that. */
static void sleeps_by_other_clocks(void) {
  begin();
  gt_seeded = true;
  for (int flags = 0; flags <= TIMER_ABSTIME; flags += TIMER_ABSTIME) {
    ANSWER(EINVAL, 0);
    EQUAL(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, flags, &length, NULL), EINVAL);
    EQUAL(clock_nanosleep(CLOCK_BOOTTIME, flags, &length, NULL), 0);
    TRACE("clock_nanosleep clock_nanosleep");
  }
}

static void yields(void) {
  begin();
  ANSWER(1);
  EQUAL(sched_yield(), 0);
  TRACE("@sched_yield yield");
  ANSWER(0, 9);
  EQUAL(sched_yield(), 9);
  TRACE("@sched_yield yield sched_yield");
  gt_seeded = true; /* the yield is the choice */
  ANSWER(1);
  EQUAL(sched_yield(), 0);
  TRACE("yield");
  refuses = true;
  gt_me.open = 0;
  EQUAL(sched_yield(), 0);
  TRACE("sched_yield");
}

static void clocks(void) {
  struct timespec at = {0, 0};
  struct timeval day = {0, 0};
  time_t seconds = 5;
  begin();
  now = 1700000000 * second + 123456789;
  ANSWER(0, 0, 8);
  EQUAL(clock_gettime(CLOCK_REALTIME, &at) + gettimeofday(&day, NULL), 0);
  EQUAL(time(&seconds), 8);
  TRACE("clock_gettime gettimeofday time");
  gt_seeded = true;
  for (int clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
    at = (struct timespec){0, 0};
    EQUAL(clock_gettime(clock, &at), 0);
    EQUAL(clock_seen, clock);
    CHECK(at.tv_sec == 1700000000 && at.tv_nsec == 123456789);
    TRACE("@clock_gettime");
  }
  ANSWER(EINVAL);
  EQUAL(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  TRACE("clock_gettime");
  EQUAL(gettimeofday(&day, NULL), 0);
  EQUAL(clock_seen, CLOCK_REALTIME);
  CHECK(day.tv_sec == 1700000000 && day.tv_usec == 123456);
  clock_seen = CLOCK_MONOTONIC;
  EQUAL(time(NULL), 1700000000);
  EQUAL(time(&seconds), 1700000000);
  EQUAL(seconds, 1700000000);
  EQUAL(clock_seen, CLOCK_REALTIME);
  TRACE("@gettimeofday @time @time");
  refuses = true;
  gt_me.open = 0;
  seconds = 5;
  EQUAL(clock_gettime(CLOCK_REALTIME, &at) + gettimeofday(&day, NULL) + time(&seconds), 0);
  TRACE("clock_gettime gettimeofday time");
  gt_next.clock_gettime = NULL; /* libc's functions are looked for, and that asks for the time */
  at.tv_sec = 0;
  EQUAL(clock_gettime(CLOCK_REALTIME, &at), 0);
  CHECK(at.tv_sec > 0);
  EQUAL(gettimeofday(&day, NULL) + time(&seconds), 0);
  TRACE("find find gettimeofday find time");
  gt_next.clock_gettime = libc_clock_gettime;
}

static void waits_for_signals(void) {
  sigset_t none;
  int signo;
  siginfo_t info;
  begin();
  sigemptyset(&none);
  ANSWER(7, 8, 9);
  EQUAL(sigwait(&none, &signo), 7);
  EQUAL(sigwaitinfo(&none, &info), 8);
  EQUAL(sigtimedwait(&none, &info, &length), 9);
  TRACE("leave sigwait back leave sigwaitinfo back leave sigtimedwait back");
  gt_seeded = true;
  EQUAL(sigwait(&none, &signo) + sigwaitinfo(&none, &info) + sigtimedwait(&none, &info, &length),
        0);
  TRACE("sigwait sigwaitinfo sigtimedwait");
}

static void permits_are_lent(void) {
  begin();
  struct gt_thread *me = gt_lend(true);
  CHECK(me == &gt_me && gt_me.lent == 1);
  TRACE("@call");
  errno = ERANGE;
  gt_take_back(&me);
  EQUAL(gt_me.lent, 0);
  EQUAL(errno, ERANGE);
  TRACE("");
  me = gt_lend(true);
  gt_me.open = 0; /* another thread has taken it */
  gt_take_back(&me);
  TRACE("@call @call");
  gt_me.state = GT_CAUGHT; /* it has none to lend */
  CHECK(gt_lend(true) == &gt_me && gt_me.lent == 0);
  TRACE("");
  gt_me.state = GT_RUNS;
  gt_me.open = 1;
  CHECK(gt_lend(false) == NULL);
  gt_seeded = true;
  CHECK(gt_lend(true) == NULL);
  gt_seeded = false;
  refuses = true;
  gt_me.open = 0;
  CHECK(gt_lend(true) == NULL && gt_me.lent == 0);
  me = NULL;
  gt_take_back(&me);
  CHECK(!gt_is_wanted(NULL) && !gt_is_wanted(&gt_me));
  gt_gate.eager = 1;
  CHECK(!gt_is_wanted(NULL) && gt_is_wanted(&gt_me));
  TRACE("");
  gt_give(&gt_me);
  TRACE("( grant )");
}

int main(void) {
  gt_next = (struct gt_next){
      .nanosleep = libc_nanosleep,
      .clock_nanosleep = libc_clock_nanosleep,
      .sleep = libc_sleep,
      .sched_yield = libc_sched_yield,
      .clock_gettime = libc_clock_gettime,
      .gettimeofday = libc_gettimeofday,
      .time = libc_time,
      .sigwait = libc_sigwait,
      .sigwaitinfo = libc_sigwaitinfo,
      .sigtimedwait = libc_sigtimedwait,
  };
  sleeps_by_the_kernel();
  sleeps_by_the_seed();
  sleeps_by_other_clocks();
  yields();
  clocks();
  waits_for_signals();
  permits_are_lent();
}

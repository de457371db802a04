/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers. The kernel has one of setitimer(2) for the process. Here each rank has its own, made by
 * timer_create(2). A signal of a timer goes to the rank that has made it (signals.c asks). Timers
 * of CPU time count that of all ranks, which is reported once.
 *
 * A handler looks a timer up without the internal lock. Entries stay until the job ends, and what
 * changes in one is a word. An entry whose timer is gone takes another timer of its bucket.
 *
 * Relaxed: that word is all there is; `any` is set before a rank's own timer is.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum { BUCKETS = 256, THOUSAND = 1000, MILLION = 1000000, OWN = 3 /* ITIMER_... */ };

struct timer {
  struct timer *next; /* [const] in its bucket */
  uint64_t word; /* [atomic] the kernel's number of it, its kind, the rank and 1; 0: it is gone */
};

static struct timer *buckets[BUCKETS]; /* [atomic] */
static uint32_t ilock;
static uint32_t any; /* [atomic] 1: there was a timer */

static struct timer **bucket_of(int id) { return &buckets[(unsigned)id % BUCKETS]; }

static uint32_t rank_of(uint64_t word) { return (uint32_t)word & 0xffffff; }
static int kind_of(uint64_t word) { return (int)(word >> 24 & 0xff); }
static int id_of(uint64_t word) { return (int)(word >> 32); }

static uint64_t word_of(const struct timer *timer) { return mt_load_relaxed(&timer->word); }

/* libc's number of a timer that sends a signal is the kernel's. */
static timer_t handle_of(const struct timer *timer) {
  return (timer_t)(intptr_t)id_of(word_of(timer));
}

static struct timer *first_in(struct timer **bucket) {
  return mt_load_acquire(bucket); /* TI-1 acquire: fields of the entry; pairs TI-2 */
}

int tm_timer_rank(int id) {
  const struct timer *timer = first_in(bucket_of(id));
  for (; timer != NULL; timer = timer->next)
    if (id_of(word_of(timer)) == id) return (int)rank_of(word_of(timer)) - 1;
  return TM_TIMER_UNKNOWN;
}

static bool is_outside(void) { return tm_rank_number() < 0 || tm_the_program->ranks == 1; }

/* ---- the list */

/* @return an entry of the bucket whose timer is gone, or a new one; NULL: no memory. */
static struct timer *entry_in(struct timer **bucket) {
  struct timer *entry = first_in(bucket);
  while (entry != NULL && rank_of(word_of(entry)) != 0) entry = entry->next;
  if (entry != NULL) return entry;
  entry = calloc(1, sizeof *entry);
  if (entry == NULL) return NULL;
  entry->next = *bucket;
  mt_store_release(bucket, entry); /* TI-2 release: its fields; pairs TI-1 */
  return entry;
}

/* A handler may start a timer, so none may interrupt the holder. @return false: no memory. */
static bool note(timer_t timer, int kind) {
  uint64_t id = (uint32_t)(intptr_t)timer, rank = (uint64_t)tm_rank_number() + 1;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  mti_lock(&ilock);
  struct timer *entry = entry_in(bucket_of((int)id));
  if (entry != NULL) mt_store_relaxed(&entry->word, id << 32 | (uint64_t)kind << 24 | rank);
  mti_unlock(&ilock);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  mt_store_relaxed(&any, 1);
  return entry != NULL;
}

/* The number stays: a signal of it may be on its way, and would otherwise come to all ranks. */
static void forget(struct timer *timer) {
  uint64_t word = word_of(timer);
  mt_store_relaxed(&timer->word, word - rank_of(word));
}

static struct timer *timer_of(int rank, int kind) {
  for (int i = 0; i < BUCKETS; i++)
    for (struct timer *timer = first_in(&buckets[i]); timer != NULL; timer = timer->next) {
      uint64_t word = word_of(timer);
      if (rank_of(word) == (uint32_t)rank + 1 && kind_of(word) == kind) return timer;
    }
  return NULL;
}

static int create(clockid_t clock, struct sigevent *event, timer_t *timer, int kind) {
  if (timer_create(clock, event, timer) != 0) return -1;
  if (note(*timer, kind)) return 0;
  timer_delete(*timer);
  errno = EAGAIN;
  return -1;
}

bool tm_timers_were_made(void) { return mt_load_relaxed(&any) != 0; }

void tm_timers_end(int rank) {
  if (mt_load_relaxed(&any) == 0) return;
  for (int i = 0; i < BUCKETS; i++)
    for (struct timer *timer = first_in(&buckets[i]); timer != NULL; timer = timer->next) {
      if (rank_of(word_of(timer)) != (uint32_t)rank + 1) continue;
      timer_t handle = handle_of(timer);
      forget(timer);
      timer_delete(handle);
    }
}

/* ---- those of setitimer() */

static const struct {
  clockid_t clock;
  int signo;
} kinds[] = {[ITIMER_REAL] = {CLOCK_MONOTONIC, SIGALRM},
             [ITIMER_VIRTUAL] = {CLOCK_PROCESS_CPUTIME_ID, SIGVTALRM},
             [ITIMER_PROF] = {CLOCK_PROCESS_CPUTIME_ID, SIGPROF}};

static void warn_of_cpu_time(const char *call) {
  static uint32_t warned; /* [atomic] a message twice would do no harm */
  if (mt_or_relaxed(&warned, 1) != 0) return;
  fprintf(stderr,
          "tmpirun: rank %d called %s() for CPU time: its timer counts that of all ranks (use "
          "ITIMER_REAL)\n",
          tm_rank_number(), call);
}

static struct timer *own_timer(int kind) {
  struct timer *timer = timer_of(tm_rank_number(), kind);
  if (timer != NULL) return timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = kinds[kind].signo};
  timer_t made;
  if (kind != ITIMER_REAL) warn_of_cpu_time("setitimer");
  return create(kinds[kind].clock, &event, &made, kind) == 0 ? timer_of(tm_rank_number(), kind)
                                                             : NULL;
}

static struct timespec to_spec(struct timeval time) {
  return (struct timespec){time.tv_sec, time.tv_usec * THOUSAND};
}

/* What is left is at least a microsecond, since 0 means a timer that does not run. */
static struct timeval to_val(struct timespec time) {
  long microseconds = (time.tv_nsec + THOUSAND - 1) / THOUSAND;
  return (struct timeval){time.tv_sec + microseconds / MILLION, microseconds % MILLION};
}

static void convert(const struct itimerspec *from, struct itimerval *to) {
  if (to == NULL) return;
  to->it_interval = to_val(from->it_interval);
  to->it_value = to_val(from->it_value);
}

static bool is_kind(int kind) {
  return kind == ITIMER_REAL || kind == ITIMER_VIRTUAL || kind == ITIMER_PROF;
}

static int setitimer_rank(__itimer_which_t kind, const struct itimerval *new,
                          struct itimerval *old) {
  struct itimerspec wanted = {{0, 0}, {0, 0}}, before;
  if (is_outside() || !is_kind((int)kind)) return setitimer(kind, new, old);
  const struct timer *timer = own_timer((int)kind);
  if (timer == NULL) return -1;
  if (new != NULL) wanted = (struct itimerspec){to_spec(new->it_interval), to_spec(new->it_value)};
  if (timer_settime(handle_of(timer), 0, &wanted, &before) != 0) return -1;
  convert(&before, old);
  return 0;
}

static int getitimer_rank(__itimer_which_t kind, struct itimerval *value) {
  struct itimerspec now = {{0, 0}, {0, 0}};
  if (is_outside() || !is_kind((int)kind) || value == NULL) return getitimer(kind, value);
  const struct timer *timer = timer_of(tm_rank_number(), (int)kind);
  if (timer != NULL && timer_gettime(handle_of(timer), &now) != 0) return -1;
  convert(&now, value);
  return 0;
}

/* The calls cannot tell the program that there is no timer: it would wait for a signal that never
 * comes. @return the time that was left, in microseconds. */
static uint64_t start_alarm(struct timeval first, struct timeval then) {
  struct itimerval new = {then, first}, old = {{0, 0}, {0, 0}};
  bool ends = first.tv_sec == 0 && first.tv_usec == 0;
  if (ends && timer_of(tm_rank_number(), ITIMER_REAL) == NULL) return 0;
  if (setitimer_rank(ITIMER_REAL, &new, &old) != 0)
    fprintf(stderr,
            "tmpirun: rank %d: alarm() has no timer, so its signal does not come: %s (allow "
            "pending signals by ulimit -i)\n",
            tm_rank_number(), strerror(errno));
  return (uint64_t)old.it_value.tv_sec * MILLION + (uint64_t)old.it_value.tv_usec;
}

static unsigned alarm_rank(unsigned seconds) {
  if (is_outside()) return alarm(seconds);
  uint64_t left = start_alarm((struct timeval){seconds, 0}, (struct timeval){0, 0});
  uint64_t rounded = (left + MILLION / 2) / MILLION; /* as the kernel does, but never to 0 */
  return (unsigned)(left != 0 && rounded == 0 ? 1 : rounded);
}

static unsigned ualarm_rank(unsigned microseconds, unsigned interval) {
  if (is_outside()) return ualarm(microseconds, interval);
  return (unsigned)start_alarm((struct timeval){microseconds / MILLION, microseconds % MILLION},
                               (struct timeval){interval / MILLION, interval % MILLION});
}

/* ---- those of timer_create() */

static int timer_create_rank(clockid_t clock, struct sigevent *event, timer_t *timer) {
  bool by_signal = event == NULL || event->sigev_notify == SIGEV_SIGNAL ||
                   event->sigev_notify == SIGEV_THREAD_ID;
  if (is_outside() || !by_signal) return timer_create(clock, event, timer);
  if (clock == CLOCK_PROCESS_CPUTIME_ID) warn_of_cpu_time("timer_create");
  return create(clock, event, timer, OWN);
}

static int timer_delete_rank(timer_t timer) {
  struct timer *entry = first_in(bucket_of((int)(intptr_t)timer));
  while (entry != NULL && handle_of(entry) != timer) entry = entry->next;
  if (entry != NULL && !is_outside()) forget(entry);
  return timer_delete(timer);
}

const struct tm_override tm_override_timers[] = {
    {"alarm", (tm_any *)alarm_rank},
    {"ualarm", (tm_any *)ualarm_rank},
    {"setitimer", (tm_any *)setitimer_rank},
    {"getitimer", (tm_any *)getitimer_rank},
    {"timer_create", (tm_any *)timer_create_rank},
    {"timer_delete", (tm_any *)timer_delete_rank},
    {NULL, NULL},
};

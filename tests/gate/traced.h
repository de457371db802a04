/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file traced.h
 * The gate's calls (src/gate/mutex.c and others) over a libc and a lot that only note what is asked
 * of them: a trace. libc's answers are given beforehand, in turn.
 *
 *   @NAME      gt_point() of a call        NAME        libc's function
 *   ( )        gt_lock() and gt_unlock()   leave back  gt_leave() and gt_return()
 *   in out     gt_lot_enter(), _leave()    wait:WHY    gt_lot_wait(); wait!: before other waiters
 *   wake:N     gt_lot_wake()               wakes:N     gt_lot_lock_and_wake()
 *
 * No variable is static that a call changes: libc's headers say that functions such as
 * sched_yield() change none of their caller's.
 */
#ifndef TESTS_GATE_TRACED_H
#define TESTS_GATE_TRACED_H

#include <errno.h>
#include <string.h>

#include "gate/layout.h"
#include "gate/next.h"
#include "gate/seed.h"
#include "gate/sync.h"
#include "support/plain.h"

enum { TID = 4711, ANSWERS = 16 };

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct gt_next gt_next;
struct gt_queue gt_slots[GT_SLOTS];
uint32_t gt_waiters[GT_SLOTS];
static uint32_t granted;
struct mt_client_view mt_client_view = {.granted = &granted};
bool gt_seeded;

char trace[2000];
int answers[ANSWERS], answer_count, answers_given; /* of libc and of the lot, in their order */
struct gt_limit limit_seen;                        /* of the last wait */
struct timespec until_seen;                        /* likewise */
const void *key_seen, *woken_seen;
clockid_t clock_seen;
bool refuses;         /* the thread goes straight to libc */
clockid_t libc_clock; /* of the last call that libc got a deadline of */
const struct timespec *libc_until;

static inline void note(const char *word) {
  size_t length = strlen(trace);
  snprintf(trace + length, sizeof trace - length, "%s%s", length > 0 ? " " : "", word);
}

static inline int answer(void) {
  return answers_given < answer_count ? answers[answers_given++] : 0;
}

/** What libc and the lot answer from now on; then 0. */
#define ANSWER(...)                                                                                \
  (memcpy(answers, (int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__}),                              \
   answer_count = sizeof(int[]){__VA_ARGS__} / sizeof(int), answers_given = 0)

/** The trace since the last look; all answers were asked for. */
#define TRACE(expected)                                                                            \
  do {                                                                                             \
    if (strcmp(trace, expected) != 0) {                                                            \
      fprintf(stderr, "%s:%d: the trace is\n  %s\nnot\n  %s\n", __FILE__, __LINE__, trace,         \
              expected);                                                                           \
      exit(1);                                                                                     \
    }                                                                                              \
    trace[0] = '\0';                                                                               \
    EQUAL(answers_given, answer_count);                                                            \
    ANSWER(0);                                                                                     \
    answer_count = 0;                                                                              \
  } while (0)

/* ---- the gate's other files */

#ifndef TRACES_THREADS /* it has its own */
struct gt_thread *gt_enter_slow(void) { return refuses ? NULL : &gt_me; }

struct gt_thread *gt_enter_again_slow(void) { return refuses ? NULL : &gt_me; }
#endif

void gt_lock(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("(");
}

void gt_unlock(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note(")");
}

void gt_attend(struct gt_thread *me, const char *call) {
  char word[64];
  CHECK(me == &gt_me);
  snprintf(word, sizeof word, "@%s", call);
  note(word);
}

void gt_leave(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("leave");
}

void gt_return(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("back");
}

void gt_returned(struct gt_thread **me) {
  if (*me != NULL) gt_return(*me);
}

void gt_lot_enter(const void *key) {
  key_seen = key;
  note("in");
}

void gt_lot_leave(const void *key) {
  CHECK(key == key_seen);
  note("out");
}

int gt_lot_wait(struct gt_thread *me, const void *key, enum gt_why why,
                const struct gt_limit *limit, bool first) {
  static const char *const kinds[] = {"nothing", "mutex", "cond", "sem",  "barrier", "read",
                                      "write",   "spin",  "once", "word", "join",    "sleep"};
  char word[64];
  CHECK(me == &gt_me && key == key_seen);
  snprintf(word, sizeof word, "wait%s:%s", first ? "!" : "", kinds[why]);
  note(word);
  limit_seen = *limit;
  if (limit->until != NULL) until_seen = *limit->until;
  return answer();
}

int woken_there;

int gt_lot_wake(const void *key, int most) {
  char word[64];
  woken_seen = key;
  snprintf(word, sizeof word, "wake:%d", most);
  note(word);
  return woken_there;
}

void gt_lot_lock_and_wake(struct gt_thread *me, const void *key, int most) {
  char word[64];
  CHECK(me == &gt_me);
  key_seen = key;
  snprintf(word, sizeof word, "wakes:%d", most);
  note(word);
}

int waiting_there;

int gt_lot_count(const void *key) {
  key_seen = key;
  return waiting_there;
}

bool gt_yield(struct gt_thread *me) {
  CHECK(me == &gt_me);
  note("yield");
  return answer() != 0;
}

uint64_t now;

uint64_t gt_seed_now(clockid_t clock) {
  clock_seen = clock;
  return now;
}

#ifndef TRACES_THREADS
void gt_next_find(void) { note("find"); }
#endif

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  key_seen = word;
  note(count == 1 ? "futex" : "futex of another number");
}

/* ---- libc */

#define NOTED(name, parameters)                                                                    \
  _Pragma("GCC diagnostic push")                                                                   \
      _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"") static int libc_##name parameters { \
    note(#name);                                                                                   \
    return answer();                                                                               \
  }                                                                                                \
  _Pragma("GCC diagnostic pop")

/** Of libc's functions with a clock. */
static inline int with_clock(const char *name, clockid_t clock, const struct timespec *until) {
  libc_clock = clock;
  libc_until = until;
  note(name);
  return answer();
}

static inline void begin(void) {
  memset(&gt_gate, 0, sizeof gt_gate);
  memset(gt_waiters, 0, sizeof gt_waiters);
  memset(gt_slots, 0, sizeof gt_slots);
  gt_gate.attend = 1; /* each point is noted */
  gt_gate.permits = 1;
  gt_me = (struct gt_thread){.open = 1, .tid = TID};
  gt_seeded = refuses = false;
  waiting_there = woken_there = 0;
}

/** Threads wait under a key, or in its slot. */
static inline void let_wait(const void *key, int number) {
  gt_waiters[gt_slot_of(key)] = (uint32_t)number;
}

/** What the last wait was given. */
static inline void check_limit(const struct timespec *time, clockid_t clock, bool cancellable,
                               bool interruptible) {
  CHECK(limit_seen.until == time);
  if (time != NULL) EQUAL(limit_seen.clock, clock);
  EQUAL(limit_seen.cancellable, cancellable);
  EQUAL(limit_seen.interruptible, interruptible);
}

#endif

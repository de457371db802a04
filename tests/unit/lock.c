/* SPDX-License-Identifier: Apache-2.0 */
/* Critical section locking, thesis 3.3.3: every class under every kind of thread. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

enum { WORKERS = 6 };

/* What the lock protects: not atomic, and the two are equal outside critical sections. */
struct guarded {
  mltp_lock_t lock;
  long first, second;
  int rounds;
  void (*inside)(int round);
  atomic_long violations;
};

static void *enter_often(void *p0) {
  struct guarded *g = p0;
  for (int i = 0; i < g->rounds; i++) {
    if (mltp_lock(&g->lock) != 0) atomic_fetch_add(&g->violations, 1);
    if (g->first != g->second) atomic_fetch_add(&g->violations, 1);
    g->first++;
    g->inside(i);
    g->second++;
    if (mltp_unlock(&g->lock) != 0) atomic_fetch_add(&g->violations, 1);
  }
  return NULL;
}

/* Every thread entered as often as it wanted (a lost wake-up would hang), and none while
 * another was inside. */
static void check_class(int class, int rounds, void (*inside)(int round)) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s lock, %s threads", lock_classes[class].name, kind_names[kind]);
    struct guarded g = {.rounds = rounds, .inside = inside};
    CHECK_EQUAL(mltp_lock_init(&g.lock, lock_classes[class].id, "guard"), 0);
    workers_run(WORKERS, (enum kind)kind, enter_often, &g);
    CHECK_EQUAL(atomic_load(&g.violations), 0);
    CHECK_EQUAL(g.first, (long)WORKERS * rounds);
    CHECK_EQUAL(g.second, (long)WORKERS * rounds);
    CHECK_EQUAL(mltp_lock_try(&g.lock), 0); /* it is free again */
    CHECK_EQUAL(mltp_unlock(&g.lock), 0);
    CHECK_EQUAL(mltp_lock_destroy(&g.lock), 0);
  }
}

static void mostly_short(int round) {
  if (round % 64 == 0) mltp_yield();
}

static void check_class_of(mltp_lock_class_t id, int rounds) {
  int class = 0;
  while (class < LOCK_CLASSES && lock_classes[class].id != id) class ++;
  CHECK(class < LOCK_CLASSES);
  check_class(class, scaled(rounds), mostly_short);
}

#define EXCLUSION_TEST(function, id, rounds)                                                       \
  static void function(void) { check_class_of((id), (rounds)); }
EXCLUSION_TEST(mltp_lock_standard, MLTP_LOCK_STANDARD, 500)
EXCLUSION_TEST(mltp_lock_reactive, MLTP_LOCK_REACTIVE, 500)
EXCLUSION_TEST(mltp_lock_recursive, MLTP_LOCK_RECURSIVE, 500)
/* Fewer: with more waiters than CPUs, the kernel has to give a CPU to the next in turn each
 * time. */
EXCLUSION_TEST(mltp_lock_spin, MLTP_LOCK_SPIN, 30)
EXCLUSION_TEST(mltp_lock_yield_end, MLTP_LOCK_ALT_YIELD_END, 500)
EXCLUSION_TEST(mltp_lock_yield_front, MLTP_LOCK_ALT_YIELD_FRONT, 500)
EXCLUSION_TEST(mltp_lock_semaphore, MLTP_LOCK_SEMAPHORE, 500)
EXCLUSION_TEST(mltp_lock_queue, MLTP_LOCK_QUEUE, 500)
#if MLTP_ALTERNATIVES
EXCLUSION_TEST(mltp_lock_exchange, MLTP_LOCK_ALT_EXCHANGE, 100)
EXCLUSION_TEST(mltp_lock_read, MLTP_LOCK_ALT_READ, 100)
EXCLUSION_TEST(mltp_lock_backoff, MLTP_LOCK_ALT_BACKOFF, 100)
EXCLUSION_TEST(mltp_lock_persistent, MLTP_LOCK_ALT_PERSISTENT, 100)
EXCLUSION_TEST(mltp_lock_array, MLTP_LOCK_ALT_ARRAY, 30)
EXCLUSION_TEST(mltp_lock_mcs, MLTP_LOCK_ALT_MCS, 30)
EXCLUSION_TEST(mltp_lock_clh, MLTP_LOCK_ALT_CLH, 30)
#endif

static void always_yield(int round) {
  (void)round;
  mltp_yield();
}

static void holders_that_yield(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) check_class(class, 20, always_yield);
}

static void sleep_inside(int round) {
  (void)round;
  mltp_sleep(100000);
}

static void holders_that_sleep(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) check_class(class, 3, sleep_inside);
}

static void compute_long(int round) {
  (void)round;
  uint64_t end = mltp_after(300000);
  while (mltp_now() < end) continue;
}

static void holders_that_compute_long(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) check_class(class, 2, compute_long);
}

/* --------------------------------------------- a process of one kernel thread */

static int class_taken;

static void *try_and_unlock(void *p0) {
  int error = mltp_lock_try(p0);
  if (error == 0) mltp_unlock(p0);
  return (void *)(intptr_t)error;
}

/* Until the process has another kernel thread, locks need no locked instructions. */
static void take_alone(void) {
  mltp_lock_t lock;
  struct worker worker;
  if (mltp_lock_init(&lock, lock_classes[class_taken].id, NULL) != 0 || mltp_init(1) != 0) _exit(1);
  if (mltp_lock(&lock) != 0) _exit(2);
  worker_start(&worker, FOREIGN, try_and_unlock, &lock);
  if ((intptr_t)worker_join(&worker) != EBUSY) _exit(3);
  if (mltp_unlock(&lock) != 0) _exit(4);
  worker_start(&worker, FOREIGN, try_and_unlock, &lock);
  if (worker_join(&worker) != NULL) _exit(5);
  if (mltp_finalize() != 0) _exit(6);
}

static void locks_taken_alone_hold_against_threads_made_later(void) {
  static const char *const settings[] = {NULL};
  struct outcome *outcome = shared_memory(sizeof *outcome);
  for (class_taken = 0; class_taken < LOCK_CLASSES; class_taken++) {
    check_case("%s", lock_classes[class_taken].name);
    run_child(outcome, take_alone, settings);
    CHECK_EQUAL(outcome->status, 0);
  }
}

/* ---------------------------------------------------- order and fairness */

static char order[16];

static void *append_locked(void *p0) {
  mltp_lock_t *lock = p0;
  mltp_lock(lock);
  strcat(order, mltp_name(mltp_self()));
  mltp_unlock(lock);
  return NULL;
}

static void check_first_come_first_served(mltp_lock_class_t class) {
  static const char *const names[] = {"A", "B", "C", "D"};
  mltp_lock_t lock = MLTP_LOCK_INIT_CLASS(class);
  mltp_t *threads[4];
  order[0] = '\0';
  mltp_lock(&lock);
  for (int i = 0; i < 4; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.name = names[i];
    CHECK_EQUAL(mltp_create(&threads[i], &attr, append_locked, &lock), 0);
    mltp_yield(); /* it takes its place */
  }
  CHECK_TEXT(order, "");
  mltp_unlock(&lock);
  for (int i = 0; i < 4; i++) mltp_join(threads[i], NULL);
  CHECK_TEXT(order, "ABCD");
}

static void mltp_lock_spin_is_first_come_first_served(void) {
  check_first_come_first_served(MLTP_LOCK_SPIN);
}

static void mltp_lock_queue_is_first_come_first_served(void) {
  check_first_come_first_served(MLTP_LOCK_QUEUE);
}

#if MLTP_ALTERNATIVES
static void queued_spin_locks_are_first_come_first_served(void) {
  for (mltp_lock_class_t class = MLTP_LOCK_ALT_ARRAY; class <= MLTP_LOCK_ALT_CLH; class ++) {
    check_case("lock class %u", class);
    check_first_come_first_served(class);
  }
}
#endif

#if !MLTP_ALTERNATIVES
static void alternatives_are_refused(void) {
  mltp_lock_t lock;
  CHECK_EQUAL(mltp_lock_init(&lock, MLTP_LOCK_ALT_EXCHANGE, NULL), EINVAL);
  CHECK_EQUAL(mltp_lock_init(&lock, MLTP_LOCK_ALT_CLH, NULL), EINVAL);
}
#endif

static void *give_up_soon(void *p0) {
  return (void *)(intptr_t)mltp_lock_timed(p0, mltp_after(1000000));
}

/* Waiters whose deadline comes leave from the front, the middle and the end; the others
 * keep their places. */
static void mltp_lock_queue_may_be_left(void) {
  static const char *const names[] = {"A", "B", "C", "D"};
  mltp_lock_t lock = MLTP_LOCK_INIT_CLASS(MLTP_LOCK_QUEUE);
  mltp_t *patient[2], *impatient[3];
  order[0] = '\0';
  mltp_lock(&lock);
  for (int i = 0; i < 3; i++) {
    impatient[i] = spawn(give_up_soon, &lock);
    mltp_yield();
    if (i == 2) break;
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.name = names[i];
    CHECK_EQUAL(mltp_create(&patient[i], &attr, append_locked, &lock), 0);
    mltp_yield();
  }
  for (int i = 0; i < 3; i++) {
    void *error;
    mltp_join(impatient[i], &error);
    CHECK_EQUAL((intptr_t)error, ETIMEDOUT);
  }
  mltp_unlock(&lock);
  for (int i = 0; i < 2; i++) mltp_join(patient[i], NULL);
  CHECK_TEXT(order, "AB");
  CHECK_EQUAL(mltp_lock_destroy(&lock), 0);
}

struct greed {
  mltp_lock_t lock;
  atomic_int stop;
};

static void *greedy(void *p0) {
  struct greed *greed = p0;
  while (!atomic_load(&greed->stop)) {
    mltp_lock(&greed->lock);
    compute_long(0);
    mltp_unlock(&greed->lock);
    mltp_yield();
  }
  return NULL;
}

/* A thread gets the lock again and again from one that hardly ever lets go of it (else
 * this hangs). */
static void check_starves_nobody(mltp_lock_class_t class) {
  struct greed greed = {.lock = MLTP_LOCK_INIT_CLASS(class)};
  struct worker worker;
  worker_start(&worker, UNBOUND, greedy, &greed);
  for (int i = 0; i < 10; i++) {
    mltp_lock(&greed.lock);
    mltp_unlock(&greed.lock);
    mltp_yield();
  }
  atomic_store(&greed.stop, 1);
  worker_join(&worker);
}

enum { FIGHT_MS = 100, MS = 1000000, MOST_PERCENT = 150, NAP_US = 61 };

static atomic_bool fight_ends;
static mltp_lock_t fought_for = MLTP_LOCK_INIT_CLASS(MLTP_LOCK_REACTIVE);

static void *lock_again_and_again(void *p0) {
  long *count = p0;
  while (!atomic_load_explicit(&fight_ends, memory_order_relaxed)) {
    mltp_lock(&fought_for);
    ++*count;
    mltp_unlock(&fought_for);
  }
  return NULL;
}

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static atomic_long naps; /* of waiters: of the length that the child's options give them */

/* The library calls this in place of its own. */
void __real_os_nap(uint64_t ns);
void __wrap_os_nap(uint64_t ns);

void __wrap_os_nap(uint64_t ns) {
  if (ns == NAP_US * 1000) atomic_fetch_add_explicit(&naps, 1, memory_order_relaxed);
  __real_os_nap(ns);
}

/* Prints the CPU time of two threads in percent of the time, their naps, and how often each got the
 * lock: it ends when both had it. */
static void fight(void) {
  static struct {
    _Alignas(128) long count; /* in lines of their own */
  } sides[2];
  if (mltp_init(2) != 0) _exit(1);
  mltp_t *other = spawn(lock_again_and_again, &sides[1].count);
  uint64_t begin = mltp_now(), cpu = cpu_ns(), end = begin + (uint64_t)FIGHT_MS * MS;
  for (bool both = false; !both || mltp_now() < end;) {
    for (int i = 0; i < 1000; i++) {
      mltp_lock(&fought_for);
      sides[0].count++;
      both = sides[1].count != 0;
      mltp_unlock(&fought_for);
    }
  }
  int percent = (int)((cpu_ns() - cpu) * 100 / (mltp_now() - begin));
  atomic_store(&fight_ends, true);
  mltp_join(other, NULL);
  fprintf(stderr, "%d %ld %ld %ld\n", percent, atomic_load(&naps), sides[0].count, sides[1].count);
  if (mltp_finalize() != 0) _exit(2);
}

/* Where two threads lock and unlock as fast as they can, the waiter does not use a CPU, and both
 * get the lock (else this hangs). The best of some tries counts. Under ThreadSanitizer the threads
 * fight for the lock's internal lock most of the time: there it is enough that the waiter naps. */
static void a_lock_fought_for_leaves_a_cpu_to_others(void) {
  static struct outcome outcome;
  static const char *const settings[] = {"MLTP_BACKEND=native", "MLTP_SCHED=default",
                                         "MLTP_SPIN_US=61" /* NAP_US */, NULL};
  int percent;
  long slept, first, second;
  bool leaves = false;
  for (int i = 0; i < 10 && !leaves; i++) {
    run_child(&outcome, fight, settings);
    CHECK_EQUAL(outcome.status, 0);
    CHECK_EQUAL(sscanf(outcome.said, "%d %ld %ld %ld", &percent, &slept, &first, &second), 4);
    print_message(
        "two threads use %d %% of a CPU, nap %ld times, and get the lock %ld and %ld "
        "times\n",
        percent, slept, first, second);
    leaves = percent <= MOST_PERCENT || (THREAD_SANITIZED && slept > 0);
  }
  CHECK(leaves);
}

static void mltp_lock_reactive_starves_nobody(void) { check_starves_nobody(MLTP_LOCK_REACTIVE); }

static void mltp_lock_queue_starves_nobody(void) { check_starves_nobody(MLTP_LOCK_QUEUE); }

/* ----------------------------------------------------------- odds and ends */

static void mltp_lock_init_refuses_unknown_class(void) {
  mltp_lock_t lock;
  CHECK_EQUAL(mltp_lock_init(&lock, MLTP_LOCK_RECURSIVE + 1, NULL), EINVAL);
  CHECK_EQUAL(mltp_lock_init(&lock, MLTP_LOCK_ALT_CLH + 1, NULL), EINVAL);
  CHECK_EQUAL(mltp_lock_init(&lock, UINT32_MAX, NULL), EINVAL);
}

static mltp_lock_t static_lock = MLTP_LOCK_INIT;

static void mltp_lock_static_initialisers(void) {
  CHECK_EQUAL(mltp_lock(&static_lock), 0);
  CHECK_EQUAL(mltp_lock_try(&static_lock), EBUSY);
  CHECK_EQUAL(mltp_unlock(&static_lock), 0);
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    mltp_lock_t lock = MLTP_LOCK_INIT_CLASS(lock_classes[class].id);
    check_case("%s", lock_classes[class].name);
    CHECK_EQUAL(mltp_lock(&lock), 0);
    CHECK_EQUAL(mltp_unlock(&lock), 0);
    CHECK_EQUAL(mltp_lock_destroy(&lock), 0);
  }
}

/* ---------------------------------------------------------- recursive locks */

static void *try_lock(void *p0) { return (void *)(intptr_t)mltp_lock_try(p0); }

static int tried_by_another(mltp_lock_t *lock, enum kind kind) {
  struct worker worker;
  worker_start(&worker, kind, try_lock, lock);
  return (int)(intptr_t)worker_join(&worker);
}

static void recursive_lock_is_free_after_the_last_unlock(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    mltp_lock_t lock = MLTP_LOCK_INIT_CLASS(MLTP_LOCK_RECURSIVE);
    CHECK_EQUAL(mltp_lock(&lock), 0);
    CHECK_EQUAL(mltp_lock(&lock), 0);
    CHECK_EQUAL(mltp_lock_try(&lock), 0);
    CHECK_EQUAL(mltp_lock_timed(&lock, 0), 0);
    for (int held = 4; held > 0; held--) {
      CHECK_EQUAL(tried_by_another(&lock, (enum kind)kind), EBUSY);
      CHECK_EQUAL(mltp_unlock(&lock), 0);
    }
    CHECK_EQUAL(mltp_lock_destroy(&lock), 0);
  }
}

static mltp_lock_t recursive = MLTP_LOCK_INIT_CLASS(MLTP_LOCK_RECURSIVE);
static long twice_inside, violations;

static void *enter_twice(void *p0) {
  for (int i = 0; i < scaled(200); i++) {
    mltp_lock(&recursive);
    long before = ++twice_inside;
    if (i % 4 == 0) mltp_yield();
    mltp_lock(&recursive);
    if (i % 4 == 1) mltp_yield();
    mltp_unlock(&recursive);
    if (i % 4 == 2) mltp_yield(); /* once unlocked, still held */
    violations += twice_inside != before;
    mltp_unlock(&recursive);
  }
  return p0;
}

static void recursive_lock_excludes_others(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    twice_inside = violations = 0;
    workers_run(WORKERS, (enum kind)kind, enter_twice, NULL);
    CHECK_EQUAL(twice_inside, WORKERS * scaled(200));
    CHECK_EQUAL(violations, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_lock_standard),
      TEST(mltp_lock_reactive),
      TEST(mltp_lock_recursive),
      TEST(mltp_lock_spin),
      TEST(mltp_lock_yield_end),
      TEST(mltp_lock_yield_front),
      TEST(mltp_lock_semaphore),
      TEST(mltp_lock_queue),
#if MLTP_ALTERNATIVES
      TEST(mltp_lock_exchange),
      TEST(mltp_lock_read),
      TEST(mltp_lock_backoff),
      TEST(mltp_lock_persistent),
      TEST(mltp_lock_array),
      TEST(mltp_lock_mcs),
      TEST(mltp_lock_clh),
      TEST_ONE_VP(queued_spin_locks_are_first_come_first_served),
#else
      TEST(alternatives_are_refused),
#endif
      TEST(holders_that_yield),
      TEST(holders_that_sleep),
      TEST(holders_that_compute_long),
      TEST_BARE(locks_taken_alone_hold_against_threads_made_later),
      TEST_ONE_VP(mltp_lock_spin_is_first_come_first_served),
      TEST_ONE_VP(mltp_lock_queue_is_first_come_first_served),
      TEST_ONE_VP(mltp_lock_queue_may_be_left),
      TEST_BARE(a_lock_fought_for_leaves_a_cpu_to_others),
      TEST(mltp_lock_reactive_starves_nobody),
      TEST(mltp_lock_queue_starves_nobody),
      TEST(mltp_lock_init_refuses_unknown_class),
      TEST(mltp_lock_static_initialisers),
      TEST(recursive_lock_is_free_after_the_last_unlock),
      TEST(recursive_lock_excludes_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The strategies of Anderson et al. do what the paper says of them: locks acquired, lengths of
 * free lists, which VP takes what. Looks into the runtime. That all else works with them is what
 * the other tests' .sched-* runs show. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alternatives/strategy/ready_queue.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/vp/vp.h"
#include "support/support.h"

static const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};

/* Without a monitor: a VP that it makes in place of one that seems to stand still is not counted on
 * here. */
static void start(const char *strategy, int vps) {
  check_case("%s", strategy);
  setenv("MLTP_SCHED", strategy, 1);
  setenv("MLTP_MONITOR", "off", 1);
  CHECK_EQUAL(mltp_init(vps), 0);
}

static void stop(void) {
  CHECK_EQUAL(mltp_finalize(), 0);
  unsetenv("MLTP_SCHED");
  unsetenv("MLTP_MONITOR");
}

static uint64_t locks(void) { return mt_load_relaxed(&mt_here()->stats.locks); }

/* -------------------------------------------------------- acquisitions of locks */

enum { LIVES = 100, WARM = 10 /* until the free lists have what is needed */ };

static struct {
  int left;
  uint64_t first, last; /* acquisitions, in the first and the last thread */
  mltp_sem_t ended;
} chain;

static void *create_the_next(void *p0) {
  if (chain.left-- == LIVES - WARM) chain.first = locks();
  chain.last = locks();
  if (chain.left > 0)
    CHECK_EQUAL(mltp_create(NULL, &detached, create_the_next, NULL), 0);
  else
    mltp_sem_post(&chain.ended);
  return p0;
}

/* Created, started, finished: with one lock, once to create and once to finish and start the
 * next; with many, twice for each of descriptor, stack and queue; with free lists of its own
 * twice for the queue. */
static void a_null_life_acquires_so_many_locks(void) {
  static const struct {
    const char *strategy;
    uint64_t locks;
  } cases[] = {{"single", 2}, {"multi", 6}, {"freelist", 2}, {"idleq", 2}, {"local", 2}};
  for (int i = 0; i < 5; i++) {
    start(cases[i].strategy, 1);
    mltp_sem_init(&chain.ended, 0, NULL);
    chain.left = LIVES;
    CHECK_EQUAL(mltp_create(NULL, &detached, create_the_next, NULL), 0);
    mltp_sem_wait(&chain.ended);
    CHECK_EQUAL(chain.last - chain.first, (LIVES - WARM - 1) * cases[i].locks);
    stop();
  }
}

static void *yield_often(void *p0) {
  for (int i = 0; i < LIVES; i++) mltp_yield();
  return p0;
}

static void a_yield_acquires_one_lock(void) {
  for (int i = 0; i < 5; i++) {
    static const char *const names[] = {"single", "multi", "freelist", "idleq", "local"};
    start(names[i], 1);
    mltp_t *other = spawn(yield_often, NULL);
    mltp_yield(); /* it has its stack */
    uint64_t before = locks();
    for (int n = 0; n < 10; n++) mltp_yield();
    CHECK_EQUAL(locks() - before, 20); /* ten of ours, ten of its */
    mltp_join(other, NULL);
    stop();
  }
}

static void *return_it(void *p0) { return p0; }

/* A thread with a kernel thread of its own enters no queue, so its creator releases the lock under
 * which it took the descriptor. */
static void creating_a_bound_thread_leaves_no_lock_held(void) {
  static const char *const names[] = {"single", "multi", "freelist", "idleq", "local"};
  for (int i = 0; i < 5; i++) {
    start(names[i], 1);
    for (int n = 0; n < 3; n++) {
      mltp_t *bound = spawn_bound(return_it, NULL);
      CHECK(mt_here()->alternative->holds == NULL);
      mltp_join(bound, NULL);
    }
    stop();
  }
}

/* ------------------------------------------------------------------ wake-ups */

static void *set_flag(void *p0) {
  atomic_store((atomic_int *)p0, 1);
  return NULL;
}

/* The creator never gives way, so the thread runs on the VP that sleeps. That one wakes up by
 * itself at times, so not each thread wakes it. */
static void a_ready_thread_wakes_a_sleeping_vp(void) {
  static const char *const names[] = {"single", "multi", "freelist", "local"};
  for (int i = 0; i < 4; i++) {
    start(names[i], 2);
    uint64_t wakes = 0;
    for (int n = 0; n < 20; n++) {
      atomic_int ran = 0;
      const struct mt_vp *here = mt_here(), *other = mt_rt.vps[1 - here->index];
      while (mt_load_relaxed(&other->sleep.status) != MT_VP_ASLEEP) continue;
      uint64_t before = mt_load_relaxed(&here->stats.wakes);
      mltp_t *thread = spawn(set_flag, &ran);
      while (atomic_load(&ran) == 0) continue;
      wakes += mt_load_relaxed(&here->stats.wakes) - before;
      mltp_join(thread, NULL);
    }
    CHECK(wakes > 0);
    stop();
  }
}

/* ------------------------------------------------------------------- free lists */

enum { VPS = 4, THREADS = 400 };

static atomic_int too_long;

static void *look_at_the_lists(void *p0) {
  const struct mt_vp *vp = mt_here();
  uint32_t length = 0;
  for (const struct mltp_thread *t = vp->alternative->free; t != NULL; t = t->next) length++;
  const struct mt_stack *stack = vp->caches.stacks.head;
  if (length != vp->alternative->free_count || length > VPS ||
      (stack != NULL && stack->next != NULL))
    atomic_fetch_add(&too_long, 1);
  return p0;
}

/* Half of the threads start, wait and end on whatever VP comes. */
static void *look_and_wait(void *p0) {
  mltp_sem_wait(p0);
  return look_at_the_lists(p0);
}

static void free_lists_hold_the_threshold_at_most(void) {
  static const char *const names[] = {"freelist", "idleq", "local"};
  for (int i = 0; i < 3; i++) {
    start(names[i], VPS);
    atomic_store(&too_long, 0);
    for (int round = 0; round < scaled(20); round++) {
      mltp_t *threads[THREADS];
      mltp_sem_t sem = MLTP_SEM_INIT(0);
      for (int n = 0; n < THREADS; n++)
        threads[n] = spawn(n % 2 == 0 ? look_at_the_lists : look_and_wait, &sem);
      for (int n = 0; n < THREADS / 2; n++) mltp_sem_post(&sem);
      for (int n = 0; n < THREADS; n++) mltp_join(threads[n], NULL);
      look_at_the_lists(NULL);
    }
    CHECK_EQUAL(atomic_load(&too_long), 0);
    stop();
  }
}

static void *nothing(void *p0) { return p0; }

/* One VP creates what ends on any: descriptors come back by way of the pool, so there are no
 * more than were alive at a time, and what the lists may hold. */
static void balanced_lists_need_little_more_than_a_central_one(void) {
  enum { ROUNDS = 200, ALIVE = 20 };
  start("freelist", VPS);
  for (int round = 0; round < ROUNDS; round++) {
    mltp_t *threads[ALIVE];
    for (int i = 0; i < ALIVE; i++) threads[i] = spawn(nothing, NULL);
    for (int i = 0; i < ALIVE; i++) mltp_join(threads[i], NULL);
  }
  CHECK(mt_load_relaxed(&mt_slabs[0].used) <= 1 + ALIVE + VPS * VPS);
  stop();
}

/* ------------------------------------------------------------------- idle queue */

/* The creator never gives way, so the thread can only run on the VP that waits. It gets the
 * descriptor that VP has allocated, none of the creator's; one lock, the idle queue's, is
 * acquired, so it does not pass through the ready queue. */
static void creation_hands_over_to_an_idle_vp(void) {
  setenv("MLTP_SPIN_US", "1000000", 1);
  start("idleq", 2);
  for (int i = 0; i < 100; i++) {
    atomic_int ran = 0;
    const struct mt_vp *vp = mt_rt.vps[1 - mt_here()->index];
    while (!mt_load_relaxed(&vp->alternative->queued)) continue;
    uint32_t own = mt_here()->alternative->free_count;
    uint64_t before = locks();
    mltp_t *thread = spawn(set_flag, &ran);
    while (mt_state(thread) != MT_DONE) continue; /* or to join it would be to give way */
    CHECK_EQUAL(atomic_load(&ran), 1);
    CHECK_EQUAL(mt_here()->alternative->free_count, own);
    CHECK_EQUAL(locks() - before, 1);
    mltp_join(thread, NULL);
  }
  stop();
  unsetenv("MLTP_SPIN_US");
}

/* ---------------------------------------------------------- local ready queues */

/* One VP is awake, so that what lies in the queues stays there: about as much in each. Then it
 * runs them all: no VP's queue is its own affair. */
static void new_threads_go_to_random_queues(void) {
  enum { MANY = 4000, FAIR = MANY / VPS, OFF = 200 /* seven standard deviations */ };
  static mltp_t *threads[MANY];
  start("local", VPS);
  CHECK_EQUAL(mltp_set_vps(1), 0);
  while (mt_load_relaxed(&mt_rt.idle.awake) != 1) mltp_yield();
  for (int i = 0; i < MANY; i++) threads[i] = spawn(nothing, NULL);
  for (int i = 0; i < VPS; i++) {
    CHECK(mt_queue_length(&mt_ready_queues[i]) > FAIR - OFF);
    CHECK(mt_queue_length(&mt_ready_queues[i]) < FAIR + OFF);
  }
  for (int i = 0; i < MANY; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_null_life_acquires_so_many_locks),
      TEST_BARE(a_yield_acquires_one_lock),
      TEST_BARE(creating_a_bound_thread_leaves_no_lock_held),
      TEST_BARE(a_ready_thread_wakes_a_sleeping_vp),
      TEST_BARE(free_lists_hold_the_threshold_at_most),
      TEST_BARE(balanced_lists_need_little_more_than_a_central_one),
      TEST_BARE(creation_hands_over_to_an_idle_vp),
      TEST_BARE(new_threads_go_to_random_queues),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

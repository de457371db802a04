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

/* ------------------------------------------- lists and queues, without a runtime */

enum { LISTED = 12 };

static struct mt_vp vps[2];
static struct mt_vp_alternative alternatives[2];
static struct mltp_thread listed[LISTED];

static void reset_lists(void) {
  memset(vps, 0, sizeof vps);
  memset(alternatives, 0, sizeof alternatives);
  memset(listed, 0, sizeof listed);
  memset(mt_ready_queues, 0, sizeof mt_ready_queues);
  for (int i = 0; i < 2; i++) vps[i].alternative = &alternatives[i];
  mt_strategy_lock_init();
}

/* A list that reaches the number of VPs, made even, gives half of it to the pool, and an empty one
 * claims as much: the newest. */
static void a_full_list_gives_half(void) {
  const int wanted = mt_rt.wanted;
  reset_lists();
  mt_rt.wanted = 5;
  mt_freelist_init();
  for (int i = 0; i < 5; i++) CHECK(mt_freelist_put(&vps[0], &listed[i]));
  CHECK_EQUAL(alternatives[0].free_count, 5);
  CHECK(mt_freelist_take(&vps[1]) == NULL);
  CHECK(mt_freelist_put(&vps[0], &listed[5]));
  CHECK_EQUAL(alternatives[0].free_count, 3);
  for (int i = 0; i < 3; i++) { /* the newest went to the pool */
    CHECK(mt_freelist_take(&vps[1]) == &listed[5 - i]);
    CHECK_EQUAL(alternatives[1].free_count, 2 - i);
    CHECK(mt_freelist_take(&vps[0]) == &listed[2 - i]);
    CHECK_EQUAL(alternatives[0].free_count, 2 - i);
  }
  CHECK(mt_freelist_take(&vps[0]) == NULL && mt_freelist_take(&vps[1]) == NULL);
  mt_rt.wanted = 6;
  mt_freelist_init();
  for (int i = 0; i < 2 * 3; i++) CHECK(mt_freelist_put(&vps[0], &listed[i]));
  CHECK_EQUAL(alternatives[0].free_count, 3);
  for (int i = 6; i < 6 + 3; i++) CHECK(mt_freelist_put(&vps[0], &listed[i]));
  for (int i = 8; i > 2; i--) /* the pool has two lists: the one that came last is the first */
    CHECK(mt_freelist_take(&vps[1]) == &listed[i]);
  CHECK(mt_freelist_take(&vps[1]) == NULL);
  CHECK_EQUAL(alternatives[0].free_count, 3);
  mt_freelist_init(); /* a fork() may have left lists */
  mt_rt.wanted = wanted;
}

static void check_queue(const struct mt_ready_queue *q, const char *expected) {
  const struct mltp_thread *at = q->head, *last = NULL;
  CHECK_EQUAL(mt_queue_length(q), strlen(expected));
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == &listed[*c - '0']);
    if (at != &listed[*c - '0']) return;
    CHECK(at->prev == last);
    last = at;
    at = at->next;
  }
  CHECK(at == NULL && q->tail == last);
}

static void high_threads_jump_now_and_then(void) {
  struct mt_ready_queue *q = &mt_ready_queues[0];
  reset_lists();
  q->index = 3;
  q->turns = 10;
  for (int i = 0; i < 2; i++) mt_queue_put(q, &listed[i]);
  for (int i = 2; i < 6; i++) listed[i].special = MT_HIGH;
  mt_queue_put(q, &listed[2]);
  check_queue(q, "201");
  CHECK_EQUAL(mt_state(&listed[2]), MT_READY);
  mt_queue_put(q, &listed[3]); /* one has just jumped */
  check_queue(q, "2013");
  q->turns += 3;
  mt_queue_put(q, &listed[4]);
  check_queue(q, "20134");
  q->turns++;
  mt_queue_put(q, &listed[5]);
  check_queue(q, "520134");
}

static void a_queue_lends_its_list(void) {
  struct mt_ready_queue *q = &mt_ready_queues[1];
  reset_lists();
  q->index = 1;
  for (int i = 0; i < 3; i++) mt_queue_put(q, &listed[i]);
  mt_queue_lock(&vps[0], q);
  CHECK(alternatives[0].holds == q);
  vps[0].ctx.after = 0;
  mt_queue_lend(&vps[0]);
  CHECK_EQUAL(q->turns, 1);
  CHECK(vps[0].runq.head == &listed[0] && vps[0].runq.tail == &listed[2]);
  CHECK_EQUAL(mt_load_relaxed(&vps[0].runq.length), 3);
  CHECK_EQUAL(vps[0].runq.index, 1);
  CHECK_EQUAL(mt_queue_length(q), 3); /* for others that look */
  CHECK_EQUAL(vps[0].ctx.after, MT_AFTER_RETURN);
  listed[1].prev = NULL; /* the VP takes the first */
  vps[0].runq.head = &listed[1];
  mt_store_relaxed(&vps[0].runq.length, 2);
  mt_queue_take_back(&vps[0]);
  check_queue(q, "12");
  CHECK(vps[0].runq.head == NULL && vps[0].runq.tail == NULL && alternatives[0].holds == NULL);
  CHECK_EQUAL(mt_load_relaxed(&vps[0].runq.length), 0);
  CHECK_EQUAL(vps[0].ctx.after, 0);
  CHECK_EQUAL(mt_load_relaxed(&vps[0].stats.locks), 1);
  mt_queue_lock(NULL, q); /* it is free again */
  mt_queue_unlock(NULL, q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_full_list_gives_half),
      TEST_BARE(high_threads_jump_now_and_then),
      TEST_BARE(a_queue_lends_its_list),
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

/* SPDX-License-Identifier: Apache-2.0 */
/* How threads come, are joined, are cancelled and go (traced_threads.h). */
#include "traced_threads.h"

/* ---- threads that are known */

static void check_known(const char *expected) {
  const struct gt_thread *at = gt_gate.all, *last = NULL;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == &t[*c - '0'] && at->earlier == last);
    CHECK(gt_thread_find(at->handle) == at);
    last = at;
    at = at->later;
  }
  CHECK(at == NULL);
  EQUAL(gt_gate.threads, strlen(expected));
}

static void threads_are_found_by_their_handles(void) {
  pthread_t handle = 1;
  stage(false);
  for (int i = 0; i < 5; i++, handle++) { /* all in one slot */
    while (slot_of(handle) != slot_of(1)) handle++;
    t[i].handle = handle;
    link_thread(&t[i]);
  }
  CHECK(gt_thread_find(handle) == NULL);
  check_known("43210");
  unlink_thread(&t[2]);
  check_known("4310");
  CHECK(gt_thread_find(t[2].handle) == NULL);
  unlink_thread(&t[4]);
  unlink_thread(&t[0]);
  check_known("31");
  t[2].earlier = NULL; /* as of a new one */
  link_thread(&t[2]);
  check_known("231");
  unlink_thread(&t[2]);
  unlink_thread(&t[1]);
  unlink_thread(&t[3]);
  check_known("");
}

/* ---- creation */

static void *function(void *arg) { return arg; }
static int function_c11(void *arg) { return arg == &world ? -3 : 0; }

static void creations(void) {
  static pthread_attr_t attr;
  pthread_t thread;
  stage(false);
  EQUAL(pthread_create(&thread, NULL, function, &world), 0);
  TRACE("( ) malloc ( ) create @pthread_create");
  EQUAL(thread, 77);
  EQUAL(gt_gate.ids, 1);
  stage_new();
  CHECK(created(created_with) == &world);
  TRACE("inherits ( begin ) key permit step");
  CHECK(stepped == (uintptr_t)function);
  EQUAL(gt_me.id, 1);
  EQUAL(gt_me.tid, TID + 1);
  EQUAL(gt_me.state, GT_CALL);
  CHECK(pthread_equal(gt_me.handle, pthread_self()) && gt_gate.all == &gt_me);
  gt_me.open = 1; /* it creates others: its beginning is used again */
  ANSWER(EAGAIN);
  EQUAL(pthread_create(&thread, &attr, function, NULL), EAGAIN);
  TRACE("( ) create ( ) @pthread_create");
  const struct gt_start c11 = {.c11 = function_c11, .arg = &world};
  EQUAL(gt_create(&gt_me, &thread, &attr, &c11), 0);
  TRACE("( ) create @pthread_create");
  EQUAL(gt_gate.ids, 3);
  stage_new();
  world.asks = true;
  CHECK(created(created_with) == (void *)-3);
  TRACE("inherits:attr asks ( begin ) key permit step");
  CHECK(stepped == (uintptr_t)function_c11);
  EQUAL(gt_me.id, 3);
  gt_me.open = 1;
  EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
  TRACE("( ) create @pthread_create");
  gt_me.state = GT_RUNS; /* a handler of the new thread's has made a call before */
  CHECK(created(created_with) == NULL);
  TRACE("( ) step");
  EQUAL(gt_me.id, 3);
  EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
  TRACE("( ) create @pthread_create");
  world.no_memory = true;
  EQUAL(pthread_create(&thread, NULL, function, NULL), EAGAIN);
  TRACE("( ) malloc");
  EQUAL(gt_gate.ids, 5);
  off();
  EQUAL(pthread_create(&thread, NULL, function, &mark), 0);
  TRACE("create");
  CHECK(created == function && created_with == &mark);
}

/* Of two that began at a time. */
static void beginnings_are_used_again(void) {
  pthread_t thread;
  void *with[2];
  stage(false);
  for (int i = 0; i < 2; i++) {
    EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
    TRACE("( ) malloc ( ) create @pthread_create");
    with[i] = created_with;
  }
  for (int i = 0; i < 2; i++) {
    stage_new();
    CHECK(created(with[i]) == NULL);
    gt_me.open = 1;
  }
  trace[0] = '\0';
  for (int i = 0; i < 2; i++) {
    EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
    TRACE("( ) create @pthread_create");
    CHECK(created_with == with[1 - i]);
  }
}

static void creations_by_the_seed_and_in_children(void) {
  pthread_t thread;
  stage(true);
  EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
  TRACE("( ) malloc ( ) create comes @pthread_create");
  EQUAL(awaited, 1);
  ANSWER(EAGAIN);
  EQUAL(pthread_create(&thread, NULL, function, NULL), EAGAIN);
  TRACE("( ) malloc ( ) create ( ) @pthread_create");
  EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
  TRACE("( ) create comes @pthread_create");
  EQUAL(awaited, 3);
  stage_new();
  CHECK(created(created_with) == NULL);
  TRACE("inherits ( seed begin ) key permit step");
  stage(false);
  joins_later = true;
  gt_gate.most = 3;
  world.is_joined = true;
  EQUAL(pthread_create(&thread, NULL, function, NULL), 0);
  TRACE("joins:3 ( ) malloc ( ) create @pthread_create");
  CHECK(gt_gate.joined && !joins_later);
}

/* ---- the end */

static void a_thread_that_waits_leaves_the_lot_first(void) {
  static const char *const ends[] = {"( release:ended monitor ends )",
                                     "quit ( release:ended monitor ends )"};
  for (int state = GT_NEW; state <= GT_ENDED; state++)
    for (int open = 0; open < 2; open++)
      for (int locked = 0; locked < 2; locked++) {
        bool waits = state == GT_PARKED || state == GT_READY || state == GT_RUNS;
        stage(false);
        link_thread(&gt_me);
        gt_me.state = (uint32_t)state;
        gt_me.open = (uint32_t)open;
        gt_me.locked = locked;
        gt_thread_end(&gt_me);
        TRACE(ends[waits && open == 0 && !locked]);
        EQUAL(gt_gate.threads, 0);
      }
  stage(true);
  link_thread(&t[0]);
  link_thread(&gt_me);
  gt_thread_end(&gt_me);
  TRACE("( wake:2147483647 release:ended )");
  CHECK(woken_seen == &gt_me);
  check_known("0");
}

/* In the last round of destructors, if the program has any. */
static void a_thread_ends_behind_its_destructors(void) {
  pthread_key_t key;
  tss_t key_c11;
  stage(false);
  for (int i = 0; i < 3; i++) {
    EQUAL(pthread_key_create(&key, NULL) + tss_create(&key_c11, NULL), 0);
    TRACE("key_create tss_create");
    CHECK(!has_destructors);
    link_thread(&gt_me);
    at_destructors(&gt_me);
    TRACE("( release:ended monitor ends )");
    EQUAL(gt_me.rounds, 1);
    ANSWER(4);
    if (i == 0) EQUAL(pthread_key_create(&key, free), 4);
    if (i == 1) EQUAL(__pthread_key_create(&key, free), 4);
    if (i == 2) EQUAL(tss_create(&key_c11, free), 4);
    TRACE(i < 2 ? "key_create" : "tss_create");
    gt_me.rounds = 0;
    link_thread(&gt_me);
    for (int round = 1; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
      at_destructors(&gt_me);
      TRACE("key");
    }
    at_destructors(&gt_me);
    TRACE("( release:ended monitor ends )");
    stage(false);
  }
  gt_next.create = NULL; /* before the gate has started */
  EQUAL(pthread_key_create(&key, NULL) + tss_create(&key_c11, NULL), 0);
  TRACE("find key_create tss_create");
  gt_next.create = NULL;
  EQUAL(tss_create(&key_c11, NULL), 0);
  TRACE("find tss_create");
}

/* ---- joins */

static int join_until(clockid_t clock) {
  void *result = NULL;
  int error = pthread_clockjoin_np(77, &result, clock, &until);
  if (error != EINVAL) CHECK(result == &world);
  return error;
}

static int (*volatile called_join)(pthread_t, void **) = pthread_join;

/* The address of the call is in this function, which is small. */
static __attribute__((noinline)) int join_here(void **result) {
  int error = called_join(77, result);
  __asm__ volatile("" ::: "memory");
  return error;
}

static void joins_by_libc(void) {
  void *result = NULL;
  stage(false);
  ANSWER(ESRCH);
  EQUAL(join_here(&result), ESRCH);
  CHECK(result == &world && (uintptr_t)gt_me.at - (uintptr_t)join_here < 100);
  TRACE("@pthread_join testcancel tryjoin");
  ANSWER(EBUSY, 3);
  EQUAL(pthread_join(77, &result), 3);
  TRACE("@pthread_join testcancel tryjoin leave join back");
  EQUAL(gt_me.away, 0);
  ANSWER(EBUSY, 3);
  EQUAL(pthread_timedjoin_np(77, &result, &until), 3);
  TRACE("@pthread_join testcancel tryjoin leave clockjoin back");
  EQUAL(clock_seen, CLOCK_REALTIME);
  ANSWER(EBUSY, ETIMEDOUT);
  EQUAL(join_until(CLOCK_MONOTONIC), ETIMEDOUT);
  TRACE("@pthread_join testcancel tryjoin leave clockjoin back");
  EQUAL(clock_seen, CLOCK_MONOTONIC);
  EQUAL(join_until(CLOCK_REALTIME), 0);
  TRACE("@pthread_join testcancel tryjoin");
  EQUAL(join_until(CLOCK_BOOTTIME), EINVAL);
  off();
  EQUAL(pthread_join(77, &result) + join_until(CLOCK_MONOTONIC), 0);
  TRACE("join clockjoin");
}

static void joins_by_the_seed(void) {
  void *result = NULL;
  stage(true); /* libc knows the thread */
  EQUAL(pthread_join(77, &result), 0);
  TRACE("@pthread_join testcancel ( ) join");
  gt_me.handle = 77; /* its own */
  link_thread(&gt_me);
  ANSWER(EDEADLK);
  EQUAL(pthread_join(77, &result), EDEADLK);
  TRACE("@pthread_join testcancel ( ) join");
  unlink_thread(&gt_me);
  t[3].handle = 77;
  link_thread(&t[3]);
  ANSWER(EAGAIN, 0, 3);
  EQUAL(pthread_join(77, &result), 3);
  TRACE("@pthread_join testcancel ( in wait:join ( in wait:join join");
  CHECK(key_seen == &t[3] && limit_seen.until == NULL && limit_seen.cancellable &&
        !limit_seen.interruptible);
  ANSWER(ECANCELED, 3);
  EQUAL(pthread_join(77, &result), 3); /* a cancellation that is disabled */
  TRACE("@pthread_join testcancel ( in wait:join testcancel join");
  ANSWER(ETIMEDOUT, ETIMEDOUT);
  EQUAL(join_until(CLOCK_MONOTONIC), ETIMEDOUT);
  TRACE("@pthread_join testcancel ( in wait:join clockjoin");
  CHECK(limit_seen.until == &until && limit_seen.clock == CLOCK_MONOTONIC &&
        limit_seen.cancellable);
  EQUAL(pthread_timedjoin_np(77, &result, &until), 0);
  TRACE("@pthread_join testcancel ( in wait:join clockjoin");
  CHECK(limit_seen.until == &until && limit_seen.clock == CLOCK_REALTIME && limit_seen.cancellable);
}

/* ---- cancellations */

static void cancellations(void) {
  static const struct {
    uint32_t state;
    bool cancellable, ends;
  } rows[] = {{GT_PARKED, true, true}, {GT_PARKED, false, false}, {GT_READY, true, false}};
  stage(false);
  ANSWER(ESRCH);
  EQUAL(pthread_cancel(77), ESRCH);
  TRACE("@pthread_cancel cancel");
  EQUAL(gt_gate.cancels, 1);
  EQUAL(pthread_cancel(77), 0); /* it has ended */
  TRACE("@pthread_cancel cancel ( )");
  for (int i = 0; i < 3; i++) {
    stage(false);
    t[1] = (struct gt_thread){
        .handle = 77, .state = rows[i].state, .cancellable = rows[i].cancellable};
    link_thread(&t[1]);
    EQUAL(pthread_cancel(77), 0);
    TRACE(rows[i].ends ? "@pthread_cancel cancel ( end:125 )" : "@pthread_cancel cancel ( )");
    CHECK(t[1].cancelled);
  }
  off();
  gt_gate.cancels = 0;
  EQUAL(pthread_cancel(77), 0);
  TRACE("cancel");
  EQUAL(gt_gate.cancels, 1);
}

int main(void) {
  threads_are_found_by_their_handles();
  creations();
  beginnings_are_used_again();
  creations_by_the_seed_and_in_children();
  a_thread_that_waits_leaves_the_lot_first();
  a_thread_ends_behind_its_destructors();
  joins_by_libc();
  joins_by_the_seed();
  cancellations();
}

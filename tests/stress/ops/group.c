/* SPDX-License-Identifier: Apache-2.0 */
/* Small groups of threads that live for one operation: they meet at a barrier, or wait for a
 * condition that is broadcast. */
#include "ops.h"

enum { MEMBERS_MAX = 6, ROUNDS_MAX = 4 };

struct group {
  int size, rounds;
  mltp_barrier_t barrier;
  atomic_int arrived[ROUNDS_MAX], serial[ROUNDS_MAX];
  mltp_lock_t lock;
  mltp_cond_t cond;
  int go;            /* under the lock */
  atomic_int inside; /* members that wait or will */
};

static void start(mltp_t **members, int count, mltp_userf_t *func, struct group *g,
                  unsigned *random) {
  for (int i = 0; i < count; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.bound = one_in(random, 16);
    attr.name = "member";
    CHECK_EQUAL(mltp_create(&members[i], &attr, func, g), 0);
  }
}

static void join(mltp_t **members, int count, struct group *g) {
  for (int i = 0; i < count; i++) {
    void *result = NULL;
    CHECK_EQUAL(mltp_join(members[i], &result), 0);
    CHECK(result == g);
  }
}

/* ------------------------------------------------------------------- barrier */

static void *meet(void *p0) {
  struct group *g = p0;
  for (int round = 0; round < g->rounds; round++) {
    atomic_fetch_add(&g->arrived[round], 1);
    int result = mltp_barrier_wait(&g->barrier);
    CHECK_EQUAL(atomic_load(&g->arrived[round]), g->size);
    if (result == MLTP_BARRIER_SERIAL) {
      atomic_fetch_add(&g->serial[round], 1);
    } else {
      CHECK_EQUAL(result, 0);
    }
  }
  return p0;
}

static void act_meet(unsigned *random) {
  mltp_t *members[MEMBERS_MAX];
  int others = 1 + (int)pick(random, MEMBERS_MAX);
  struct group g = {.size = others + 1, .rounds = 1 + (int)pick(random, ROUNDS_MAX)};
  CHECK_EQUAL(mltp_barrier_init(&g.barrier, (unsigned)g.size, "group"), 0);
  start(members, others, meet, &g, random);
  meet(&g);
  join(members, others, &g);
  for (int round = 0; round < g.rounds; round++) CHECK_EQUAL(atomic_load(&g.serial[round]), 1);
  CHECK_EQUAL(mltp_barrier_destroy(&g.barrier), 0);
}

const struct operation op_meet = {"meet", 1, 0, NULL, act_meet, NULL};

/* ----------------------------------------------------------------- broadcast */

static void *wait_for_go(void *p0) {
  struct group *g = p0;
  mltp_lock(&g->lock);
  while (!g->go) CHECK_EQUAL(mltp_cond_wait(&g->cond, &g->lock), 0);
  mltp_unlock(&g->lock);
  return p0;
}

/* The thesis's wait, without a lock: misses a broadcast that comes too early. */
static void *wait_once(void *p0) {
  struct group *g = p0;
  CHECK_EQUAL(mltp_cond_wait_unlocked(&g->cond), 0);
  atomic_fetch_sub(&g->inside, 1);
  return p0;
}

static void act_crowd(unsigned *random) {
  mltp_t *members[MEMBERS_MAX];
  int count = 1 + (int)pick(random, MEMBERS_MAX);
  struct group g = {.inside = count};
  mltp_lock_class_t class = lock_classes[pick(random, LOCK_CLASSES)].id;
  CHECK_EQUAL(mltp_lock_init(&g.lock, class, "group"), 0);
  CHECK_EQUAL(mltp_cond_init(&g.cond, "group"), 0);
  if (one_in(random, 2)) {
    start(members, count, wait_for_go, &g, random);
    if (one_in(random, 2)) mltp_yield();
    mltp_lock(&g.lock);
    g.go = 1;
    CHECK_EQUAL(mltp_cond_broadcast(&g.cond), 0);
    mltp_unlock(&g.lock);
  } else {
    start(members, count, wait_once, &g, random);
    while (atomic_load(&g.inside) > 0) {
      CHECK_EQUAL(mltp_cond_broadcast(&g.cond), 0);
      mltp_sleep(10000);
    }
  }
  join(members, count, &g);
  CHECK_EQUAL(mltp_cond_destroy(&g.cond), 0);
  CHECK_EQUAL(mltp_lock_destroy(&g.lock), 0);
}

const struct operation op_crowd = {"crowd", 1, 0, NULL, act_crowd, NULL};

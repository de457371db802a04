/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of threads: what threads leave is used again, a copy is of a thread that there is,
 * and a visit meets each once. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "support/support.h"

enum { ROUNDS = 100, MANY = 2000, FRESH = MT_SLAB_PER_CHUNK + 100 };

static uint32_t made(void) { return mt_load_relaxed(&mt_slabs[0].used); }
static uint32_t foreign_made(void) { return mt_load_relaxed(&mt_slabs[1].used); }

static void *nothing(void *p0) { return p0; }

/* ---- used again */

static void *create_and_join(void *p0) {
  for (int i = 0; i < scaled(ROUNDS); i++) {
    mltp_t *thread = spawn(nothing, p0);
    CHECK(thread != NULL);
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
  return p0;
}

/* Without a VP descriptors come from the pool and go there. */
static void one_after_the_other_they_need_one(void) {
  for (int kind = BOUND; kind <= FOREIGN; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(1, (enum kind)kind, create_and_join, NULL);
    uint32_t before = made();
    workers_run(1, (enum kind)kind, create_and_join, NULL);
    CHECK(made() <= before + 2); /* its own and that of one thread, which others may have taken */
  }
  uint32_t before = foreign_made();
  for (int i = 0; i < ROUNDS / 10; i++) workers_run(1, FOREIGN, nothing, NULL);
  CHECK(foreign_made() <= before + 1);
}

static void *note_end(void *ended) {
  atomic_fetch_add((atomic_int *)ended, 1);
  return NULL;
}

static void run_many_detached(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  atomic_int ended = 0;
  attr.detached = 1;
  for (int i = 0; i < MANY; i++) CHECK_EQUAL(mltp_create(NULL, &attr, note_end, &ended), 0);
  while (atomic_load(&ended) < MANY) mltp_yield();
  mltp_yield(); /* the last one has left its descriptor */
}

static void *wait_at(void *barrier) {
  mltp_barrier_wait(barrier);
  return NULL;
}

/* @return how many stacks there is room for yet, when many threads have each had one. */
static size_t run_many_at_once(void) {
  static mltp_t *threads[MANY];
  int count = scaled(MANY);
  mltp_barrier_t barrier;
  CHECK_EQUAL(mltp_barrier_init(&barrier, (unsigned)count, NULL), 0);
  for (int i = 0; i < count; i++) threads[i] = spawn(wait_at, &barrier);
  for (int i = 0; i < count; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  return mt_stacks_left();
}

/* The one VP keeps some and the pool has the rest: the next threads need no more. */
static void as_many_again_need_no_more(void) {
  run_many_detached();
  uint32_t before = made();
  run_many_detached();
  CHECK_EQUAL(made(), before);
  size_t left = run_many_at_once();
  before = made();
  for (int i = 0; i < 2; i++) CHECK_EQUAL(run_many_at_once(), left);
  CHECK_EQUAL(made(), before);
  for (int i = 0; i < 2; i++) workers_run(1, BOUND, create_and_join, NULL);
  CHECK(made() <= before + 2); /* the VP keeps the others for itself */
  CHECK_EQUAL(mt_stacks_left(), left);
}

/* ---- copies */

static bool is_thread(const void *t) {
  struct mltp_thread copy;
  return mt_descriptor_peek(&copy, t);
}

static void check_copies(const struct mltp_thread *t) {
  struct mltp_thread copy;
  CHECK(mt_descriptor_peek(&copy, t));
  CHECK(copy.id == t->id && copy.kind == t->kind);
  CHECK(!is_thread((const char *)t + 1));
  CHECK(!is_thread((const char *)t - sizeof(void *)));
  CHECK(!is_thread((const char *)t + sizeof *t / 2));
}

static mltp_sem_t hold;
static _Atomic(mltp_t *) held;

static void *be_held(void *p0) {
  atomic_store(&held, mltp_self());
  CHECK_EQUAL(mltp_sem_wait(&hold), 0);
  return p0;
}

static bool is_waiting(const struct mltp_thread *t) {
  return t != NULL && mt_state(t) == MT_PARKED && mt_load_relaxed(&t->why) == MT_WHY_SEM;
}

/* A copy is out of date as soon as one of these differs. */
static void check_changes(const struct mltp_thread *t) {
  struct mltp_thread copy, other;
  CHECK(mt_descriptor_peek(&copy, t));
  CHECK(mt_descriptor_unchanged(&copy, t));
#define DIFFERS(change)                                                                            \
  do {                                                                                             \
    other = copy;                                                                                  \
    change;                                                                                        \
    CHECK(!mt_descriptor_unchanged(&other, t));                                                    \
  } while (0)
  DIFFERS(other.id++);
  DIFFERS(other.where ^= 1);
  DIFFERS(other.why ^= 1);
  DIFFERS(other.waitq++);
  DIFFERS(other.context.ip = (void *)((char *)other.context.ip + 1));
  DIFFERS(other.context.bp = (void *)((char *)other.context.bp + 1));
#undef DIFFERS
  other = copy;
  other.name = "anything else";
  CHECK(mt_descriptor_unchanged(&other, t));
}

static void copies_are_of_threads(void) {
  check_copies(mt_current());
  CHECK(!is_thread(NULL) && !is_thread(&hold));
  const struct mltp_thread *chunk = mt_slabs[0].chunks[0];
  CHECK(!is_thread(chunk + MT_SLAB_PER_CHUNK) && !is_thread(chunk + made()));
  CHECK_EQUAL(mltp_sem_init(&hold, 0, NULL), 0);
  for (int kind = 0; kind < MIXED; kind++) {
    struct worker worker;
    check_case("%s", kind_names[kind]);
    atomic_store(&held, NULL);
    worker_start(&worker, (enum kind)kind, be_held, NULL);
    while (!is_waiting(atomic_load(&held))) mltp_yield();
    const struct mltp_thread *t = atomic_load(&held);
    mt_ilock_lock(&hold.queue_.ilock_); /* which is free when its registers are saved */
    mt_ilock_unlock(&hold.queue_.ilock_);
    check_copies(t);
    if (kind == UNBOUND && !on_kernel_backend()) check_changes(t);
    CHECK_EQUAL(mltp_sem_post(&hold), 0);
    worker_join(&worker);
    CHECK(!is_thread(t)); /* nobody has its descriptor yet */
  }
}

/* ---- visits */

static mltp_t *fresh[FRESH];
static uint32_t visits;
static const struct mltp_thread *last_visited;

static void note_visit(const struct mltp_thread *t, void *chunks) {
  const uint32_t *used = chunks;
  visits++;
  CHECK(visits <= used[0] + used[1]);
  const struct mt_slab *slab = &mt_slabs[visits > used[0]];
  uint32_t i = visits - 1 - (visits > used[0] ? used[0] : 0);
  CHECK(t == &slab->chunks[i / MT_SLAB_PER_CHUNK][i % MT_SLAB_PER_CHUNK]);
  last_visited = t;
}

static void a_visit_meets_each_once(void) {
  for (int i = 0; i < FRESH; i++) fresh[i] = spawn(nothing, NULL);
  uint32_t used[] = {made(), foreign_made()};
  CHECK(used[0] > FRESH); /* main is one, too */
  for (int i = 0; i < FRESH; i++) CHECK(is_thread(fresh[i]));
  visits = 0;
  mt_descriptors_visit(note_visit, used);
  CHECK_EQUAL(visits, used[0] + used[1]);
  for (int i = 0; i < FRESH; i++) CHECK_EQUAL(mltp_join(fresh[i], NULL), 0);
  CHECK_EQUAL(made(), used[0]);
}

/* ---- the end */

static void nothing_is_left_at_the_end(void) {
  for (int round = 0; round < 2; round++) {
    CHECK_EQUAL(mltp_init(0), 0);
    workers_run(3, MIXED, create_and_join, NULL);
    CHECK_EQUAL(mltp_finalize(), 0);
    CHECK_EQUAL(made(), 0);
    CHECK(mt_slabs[0].pool.head == NULL && mt_slabs[0].pool.count == 0);
    for (int i = 0; i < 3; i++) CHECK(mt_slabs[0].chunks[i] == NULL);
    for (int i = 0; i < MT_VPS_MAX; i++) CHECK(mt_rt.vps[i] == NULL);
    CHECK_EQUAL(mt_slabs[1].pool.count, foreign_made()); /* all have ended */
    CHECK_EQUAL(mt_rt.running, 0);
    CHECK(!mt_rt.handover.runs && !mt_rt.handover.prepared);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(one_after_the_other_they_need_one),
      TEST_ONE_VP(as_many_again_need_no_more),
      TEST(copies_are_of_threads),
      TEST_ONE_VP(a_visit_meets_each_once),
      TEST_BARE(nothing_is_left_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own spin locks, by kernel threads: every kind. */
#define _GNU_SOURCE /* the registers of arch.h */
#include "alternatives/spin/spinlock.h"

#include <pthread.h>

#include "support/support.h"

enum { CONTENDERS = 6 };

struct shared {
  struct mt_spinlock lock;
  int rounds;
  long first, second; /* under the lock */
};

static void enter_once(struct shared *shared, struct mt_spin_node *node) {
  shared->first++;
  if (shared->first % 16 == 0) sched_yield(); /* now and then the holder loses its CPU */
  shared->second++;
  mt_spinlock_unlock(&shared->lock, node);
}

static void *contend(void *p0) {
  struct shared *shared = p0;
  struct mt_spin_node node = {NULL};
  for (int i = 0; i < shared->rounds; i++) {
    mt_spinlock_lock(&shared->lock, &node);
    enter_once(shared, &node);
    while (!mt_spinlock_trylock(&shared->lock, &node)) sched_yield();
    enter_once(shared, &node);
  }
  mt_spin_node_end(&node);
  return NULL;
}

static void check_kind(enum mt_spin_kind kind, int rounds) {
  struct shared shared = {.rounds = rounds};
  pthread_t threads[CONTENDERS];
  print_message("%s\n", mt_spin_kinds[kind]->name);
  mt_spinlock_init(&shared.lock, kind);
  for (int i = 0; i < CONTENDERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, contend, &shared), 0);
  for (int i = 0; i < CONTENDERS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(shared.first, 2L * CONTENDERS * rounds);
  assert_int_equal(shared.second, shared.first);
}

static void spinlocks_exclude(void **state) {
  (void)state;
  for (int kind = 0; kind < MT_SPIN_KINDS; kind++) check_kind((enum mt_spin_kind)kind, 200);
}

/* Locks held at the same time, and released in another order than they were taken in. */
static void spinlocks_may_be_nested(void **state) {
  (void)state;
  enum { LOCKS = 5 };
  for (int kind = 0; kind < MT_SPIN_KINDS; kind++) {
    struct mt_spinlock lock[LOCKS];
    struct mt_spin_node node = {NULL}, other = {NULL};
    for (int i = 0; i < LOCKS; i++) {
      mt_spinlock_init(&lock[i], (enum mt_spin_kind)kind);
      mt_spinlock_lock(&lock[i], &node);
      assert_false(mt_spinlock_trylock(&lock[i], &other));
    }
    for (int i = 0; i < LOCKS; i++) {
      mt_spinlock_unlock(&lock[i], &other);
      assert_true(mt_spinlock_trylock(&lock[i], &node));
      mt_spinlock_unlock(&lock[i], &node);
    }
    mt_spin_node_end(&node);
    mt_spin_node_end(&other);
  }
}

static const char *const in_order[] = {"array", "mcs", "clh"};

struct line {
  struct mt_spinlock lock;
  int waits, next, order[CONTENDERS]; /* waits: atomic; the rest under the lock */
};

struct comer {
  struct line *line;
  int number;
};

static bool print_and_relax(struct mt_spin_wait *wait);

/* A waiter that says, once it has its place, that it waits. */
struct loud_wait {
  struct mt_spin_wait wait;
  struct line *line;
};

static bool print_and_relax(struct mt_spin_wait *wait) {
  struct loud_wait *loud = (struct loud_wait *)wait;
  if (wait->round == 0) mt_add_acq_rel(&loud->line->waits, 1);
  return mt_relax(&wait->round);
}

static void *come(void *p0) {
  struct comer *comer = p0;
  struct line *line = comer->line;
  struct mt_spin_node node = {NULL};
  struct loud_wait loud = {{print_and_relax, 0}, line};
  line->lock.ops->lock(&line->lock.state, &node, &loud.wait);
  line->order[line->next++] = comer->number;
  line->lock.ops->unlock(&line->lock.state, &node);
  mt_spin_node_end(&node);
  return NULL;
}

static void check_order(enum mt_spin_kind kind) {
  struct line line = {.next = 0};
  struct comer comers[CONTENDERS];
  pthread_t threads[CONTENDERS];
  struct mt_spin_node node = {NULL};
  mt_spinlock_init(&line.lock, kind);
  mt_spinlock_lock(&line.lock, &node);
  for (int i = 0; i < CONTENDERS; i++) {
    comers[i] = (struct comer){&line, i};
    assert_int_equal(pthread_create(&threads[i], NULL, come, &comers[i]), 0);
    while (mt_load_acquire(&line.waits) <= i) sched_yield();
  }
  mt_spinlock_unlock(&line.lock, &node);
  for (int i = 0; i < CONTENDERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < CONTENDERS; i++) assert_int_equal(line.order[i], i);
  mt_spin_node_end(&node);
}

static void queued_kinds_are_first_come_first_served(void **state) {
  (void)state;
  for (int kind = MT_SPIN_ARRAY; kind <= MT_SPIN_CLH; kind++) {
    assert_string_equal(mt_spin_kinds[kind]->name, in_order[kind - MT_SPIN_ARRAY]);
    check_order((enum mt_spin_kind)kind);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spinlocks_exclude),
      cmocka_unit_test(spinlocks_may_be_nested),
      cmocka_unit_test(queued_kinds_are_first_come_first_served),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

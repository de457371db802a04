/* SPDX-License-Identifier: Apache-2.0 */
/* The index of waiters for words, beside plain lists: each group has its waiters, in the order in
 * which they came. */
#include <stdbool.h>
#include <string.h>

#include "core/wait/await_index.h"
#include "support/support.h"

enum { WORDS = 3, VALUES = 40, WAITERS = 300, STEPS = 6000 };

static uint32_t words[WORDS * 64]; /* in several cache lines */
static struct mt_await_index tree;
static struct mt_await predicates[WAITERS];
static struct mt_await_waiter waiters[WAITERS];
static int order[WAITERS], count; /* the waiters in the index, as they came */
static uint32_t seed;

static uint32_t any(uint32_t below) {
  seed = seed * 1664525 + 1013904223;
  return (seed >> 8) % below;
}

static bool is_in(const struct mt_await *group, const struct mt_await *waiter) {
  return waiter->word == group->word &&
         (group->equal == MT_AWAIT_ANY ||
          (waiter->equal == group->equal && (!group->equal || waiter->value == group->value)));
}

/* Looks for a group, and compares it with the list. */
static void check_group(const struct mt_await *group) {
  const struct mt_await_node *first = mt_await_index_find(&tree, group), *node = first,
                             *before = NULL;
  for (int i = 0; i < count; i++) {
    if (!is_in(group, &predicates[order[i]])) continue;
    CHECK(node != NULL && node->waiter == &waiters[order[i]]);
    if (node == NULL) return;
    if (before != NULL) CHECK(node->prev == before);
    before = node;
    node = node->next;
  }
  CHECK(node == NULL);
  if (first != NULL) CHECK(first->prev == before); /* the last one */
}

static void check_all(void) {
  for (int w = 0; w < WORDS; w++) {
    struct mt_await group = {&words[w * 64], 0, MT_AWAIT_ANY};
    check_group(&group);
    group.equal = false;
    check_group(&group);
    group.equal = true;
    for (group.value = 0; group.value <= VALUES; group.value++) check_group(&group);
  }
}

static void add(int i) {
  /* of the last word there is one value, which nobody waits for otherwise */
  uint32_t w = any(WORDS);
  predicates[i] = (struct mt_await){&words[w * 64], any(w == WORDS - 1 ? 2 : VALUES), any(4) != 0};
  waiters[i].thread = NULL;
  waiters[i].predicate = &predicates[i];
  mt_await_index_add(&tree, &waiters[i]);
  order[count++] = i;
}

static void remove_at(int at) {
  int i = order[at];
  mt_await_index_remove(&tree, &waiters[i]);
  memset(&waiters[i], 0xa5, sizeof waiters[i]); /* it is on a stack that goes */
  memmove(&order[at], &order[at + 1], (size_t)(--count - at) * sizeof order[0]);
}

static int free_waiter(void) {
  bool used[WAITERS] = {false};
  for (int i = 0; i < count; i++) used[order[i]] = true;
  int i = 0;
  while (used[i]) i++;
  return i;
}

static void groups_have_their_waiters_in_order(void) {
  const int steps = scaled(STEPS);
  for (seed = 1; seed <= 3; seed++) {
    uint32_t kept = seed;
    check_case("%u", kept);
    for (int i = 0; i < steps; i++) {
      bool grows = i / (steps / 4) % 2 == 0; /* it fills and empties twice */
      if (count < WAITERS && (count == 0 || any(4) < (grows ? 3u : 1u)))
        add(free_waiter());
      else
        remove_at((int)any((uint32_t)count));
      if (i % 16 == 0 || count < 8) check_all();
    }
    while (count > 0) remove_at((int)any((uint32_t)count));
    check_all();
    for (int i = 0; i < MT_AWAIT_ROOTS; i++) CHECK(tree.roots[i] == NULL);
    seed = kept;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(groups_have_their_waiters_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

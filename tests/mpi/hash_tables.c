/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables (src/tmpi/object/hash.c): what is in one is found, whatever the order in which nodes
 * come and leave, and whether there is memory for more buckets or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "tmpi/object/hash.h"

enum { NODES = 200, FIRST_BUCKETS = 16 };

static struct tm_hash table;
static struct tm_hash_node nodes[NODES];

static int start(void **state) {
  (void)state;
  table = (struct tm_hash){NULL, NULL, 0, 0};
  memory_is_out = false;
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_hash_empty(&table);
  assert_true(table.buckets == NULL && table.one == NULL);
  assert_true(table.bucket_count == 0 && table.count == 0);
  assert_int_equal(blocks, 0);
  return 0;
}

/* Far from each other and in the same buckets of small tables, by turns; three nodes have one. */
static uint64_t hash_of(int number) {
  uint64_t kind = (uint64_t)number / 3;
  return kind % 2 == 0 ? kind << 32 : kind * 7;
}

static void add(int number) { tm_hash_add(&table, &nodes[number], hash_of(number)); }

/* The table has the nodes from a number up to the end, and no others: it finds each by its hash,
 * newest first, and a walk meets each once. */
static void has(int from, int end_number) {
  int seen[NODES] = {0};
  for (int first = 0; first < NODES; first += 3) {
    struct tm_hash_node *found = tm_hash_first(&table, hash_of(first));
    for (int i = first + 2; i >= first; i--) {
      if (i < from || i >= end_number) continue;
      assert_ptr_equal(found, &nodes[i]);
      found = tm_hash_next(found);
    }
    assert_null(found);
  }
  for (struct tm_hash_node *at = tm_hash_walk(&table, NULL); at != NULL;
       at = tm_hash_walk(&table, at))
    seen[at - nodes]++;
  for (int i = 0; i < NODES; i++) assert_int_equal(seen[i], i >= from && i < end_number);
  assert_int_equal(table.count, end_number - from);
}

static void an_empty_table_has_no_node(void **state) {
  (void)state;
  has(0, 0);
}

static void what_was_added_is_found_and_what_was_removed_is_not(void **state) {
  (void)state;
  for (int i = 0; i < NODES; i++) {
    add(i);
    has(0, i + 1);
  }
  for (int i = 0; i < NODES; i++) {
    tm_hash_remove(&table, &nodes[i]);
    has(i + 1, NODES);
  }
}

/* Lists are short in a table of any size: it has no more nodes than buckets, but for the last one.
 */
static void buckets_double_with_the_nodes(void **state) {
  uint32_t expected = 0;
  (void)state;
  for (int i = 0; i < NODES; i++) {
    if ((uint32_t)i > expected) expected = expected == 0 ? FIRST_BUCKETS : 2 * expected;
    add(i);
    assert_int_equal(table.bucket_count, expected);
  }
  assert_int_equal(blocks, 1); /* the former buckets are freed */
  for (int i = 0; i < NODES; i++) tm_hash_remove(&table, &nodes[i]);
  assert_int_equal(table.bucket_count, expected);
}

/* small: as many nodes have been added when memory ends. */
static void fill_without_memory(int small) {
  for (int i = 0; i < small; i++) add(i);
  uint32_t buckets = table.bucket_count;
  memory_is_out = true;
  for (int i = small; i < NODES; i++) add(i);
  assert_int_equal(table.bucket_count, buckets);
  has(0, NODES);
  for (int i = 0; i < NODES / 2; i++) tm_hash_remove(&table, &nodes[i]);
  has(NODES / 2, NODES);
  memory_is_out = false;
  for (int i = 0; i < NODES / 2; i++) tm_hash_add(&table, &nodes[i], hash_of(NODES + i));
  assert_true(table.bucket_count > buckets); /* the long lists are divided */
  for (int i = 0; i < NODES; i++)
    assert_non_null(tm_hash_first(&table, hash_of(i < NODES / 2 ? NODES + i : i)));
}

static void without_memory_lists_get_longer(void **state) {
  (void)state;
  fill_without_memory(0);
  tm_hash_empty(&table);
  fill_without_memory(FIRST_BUCKETS);
}

#define TABLE(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TABLE(an_empty_table_has_no_node),
      TABLE(what_was_added_is_found_and_what_was_removed_is_not),
      TABLE(buckets_double_with_the_nodes),
      TABLE(without_memory_lists_get_longer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Matching against a list searched from its head: the same partner, whatever was put in and taken
 * out. */
#include "tmpi/mailbox/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tmpi/mpi.h"

enum { ENTRIES = 400, STEPS = 30000, SOURCES = 5, TAGS = 4, CONTEXTS = 2 };

struct item {
  struct tm_message_entry entry; /* first */
  bool in;
  unsigned age;
};

static struct item items[ENTRIES];
static unsigned ages;
static bool has_wildcards; /* some receives have */

static int pick(int count) { return rand() % count; }

static struct tm_envelope envelope(bool wild) {
  struct tm_envelope e = {(uint64_t)pick(CONTEXTS), pick(SOURCES), pick(TAGS)};
  if (wild && pick(4) == 0) e.source = MPI_ANY_SOURCE;
  if (wild && pick(4) == 0) e.tag = MPI_ANY_TAG;
  return e;
}

static bool fits(const struct tm_envelope *message, const struct tm_envelope *wanted) {
  return message->context == wanted->context &&
         (wanted->source == MPI_ANY_SOURCE || wanted->source == message->source) &&
         (wanted->tag == MPI_ANY_TAG || wanted->tag == message->tag);
}

/* The oldest that fits, by looking at all. */
static struct item *expected(const struct tm_envelope *e, bool messages) {
  struct item *best = NULL;
  for (int i = 0; i < ENTRIES; i++) {
    struct item *item = &items[i];
    const struct tm_envelope *its = &item->entry.entry.envelope;
    bool match = messages ? fits(its, e) : fits(e, its);
    if (item->in && match && (best == NULL || item->age < best->age)) best = item;
  }
  return best;
}

static void add(struct tm_queue *queue, struct item *item, bool messages) {
  item->entry.entry.envelope = envelope(!messages && has_wildcards);
  item->in = true;
  item->age = ages++;
  if (messages)
    tm_queue_add_message(queue, &item->entry);
  else
    tm_queue_add_receive(queue, &item->entry.entry);
}

static void drop(struct tm_queue *queue, struct item *item, bool messages) {
  if (messages)
    tm_queue_remove_message(queue, &item->entry);
  else
    tm_queue_remove_receive(queue, &item->entry.entry);
  item->in = false;
}

/* A receive may be found and removed, or taken at once. */
static void look_up(struct tm_queue *queue, bool messages) {
  struct tm_envelope e = envelope(messages);
  struct item *right = expected(&e, messages);
  bool takes = !messages && pick(2) == 0;
  void *found = messages ? (void *)tm_queue_find_message(queue, &e)
                : takes  ? (void *)tm_queue_take_receive(queue, &e)
                         : (void *)tm_queue_find_receive(queue, &e);
  assert_ptr_equal(found, right);
  if (right == NULL) return;
  if (takes)
    right->in = false;
  else
    drop(queue, right, messages);
}

/* messages: they have no wildcards, the search has; receives: the reverse. */
static void against_list(bool messages) {
  struct tm_queue queue = {0};
  for (int i = 0; i < STEPS; i++) {
    struct item *item = &items[pick(ENTRIES)];
    if (!item->in && pick(3) > 0)
      add(&queue, item, messages);
    else
      look_up(&queue, messages);
  }
  for (int i = 0; i < ENTRIES; i++) {
    if (items[i].in) drop(&queue, &items[i], messages);
  }
  assert_int_equal(queue.count, 0);
  assert_null(queue.earliest);
  tm_queue_free(&queue);
}

static void messages_are_found_oldest_first(void **state) {
  (void)state;
  against_list(true);
}

static void receives_are_found_oldest_first(void **state) {
  (void)state;
  for (int wild = 0; wild < 2; wild++) {
    has_wildcards = wild;
    against_list(false);
  }
}

/* Entries compared for each look-up, when `count` that do not fit are there. */
static double looked_at(int count, bool messages, struct tm_envelope wanted) {
  struct item *all = calloc((size_t)count, sizeof *all);
  struct tm_queue queue = {0};
  assert_non_null(all);
  for (int i = 0; i < count; i++) {
    struct tm_envelope wild = {wanted.context, wanted.source == MPI_ANY_SOURCE ? 0 : wanted.source,
                               wanted.tag == MPI_ANY_TAG ? 0 : wanted.tag};
    struct tm_envelope *its = &all[i].entry.entry.envelope;
    *its = messages ? wild : wanted;
    if (wanted.tag != MPI_ANY_TAG)
      its->tag = i;
    else if (wanted.source != MPI_ANY_SOURCE)
      its->source = i;
    else
      its->context = (uint64_t)i;
    if (messages)
      tm_queue_add_message(&queue, &all[i].entry);
    else
      tm_queue_add_receive(&queue, &all[i].entry.entry);
  }
  for (int i = count - 1; i >= 0; i--) { /* the last first: the worst for a list */
    struct tm_envelope e = all[i].entry.entry.envelope;
    if (messages && wanted.source == MPI_ANY_SOURCE) e.source = MPI_ANY_SOURCE;
    if (messages && wanted.tag == MPI_ANY_TAG) e.tag = MPI_ANY_TAG;
    if (!messages && e.source == MPI_ANY_SOURCE) e.source = 7;
    if (!messages && e.tag == MPI_ANY_TAG) e.tag = 7;
    void *found = messages ? (void *)tm_queue_find_message(&queue, &e)
                           : (void *)tm_queue_find_receive(&queue, &e);
    assert_ptr_equal(found, &all[i]);
    drop(&queue, &all[i], messages);
  }
  double each = (double)queue.looked / count;
  tm_queue_free(&queue);
  free(all);
  return each;
}

static void look_ups_do_not_grow_with_the_queue(void **state) {
  static const struct tm_envelope wanted[] = {
      {1, 3, 5}, {1, MPI_ANY_SOURCE, 5}, {1, 3, MPI_ANY_TAG}, {1, MPI_ANY_SOURCE, MPI_ANY_TAG}};
  (void)state;
  for (int w = 0; w < 4; w++)
    for (int count = 100; count <= 100000; count *= 10)
      for (int messages = 0; messages < 2; messages++)
        assert_true(looked_at(count, messages, wanted[w]) < 4.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_are_found_oldest_first),
      cmocka_unit_test(receives_are_found_oldest_first),
      cmocka_unit_test(look_ups_do_not_grow_with_the_queue),
  };
  srand(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

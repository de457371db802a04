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

enum { ENTRIES = 400, STEPS = 60000, SOURCES = 5, TAGS = 4, CONTEXTS = 2 };

struct item {
  struct tm_entry entry; /* first */
  struct tm_envelope envelope;
  bool in;
  unsigned age;
};

static struct item items[ENTRIES];
static unsigned ages;

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
    bool match = messages ? fits(&item->envelope, e) : fits(e, &item->envelope);
    if (item->in && match && (best == NULL || item->age < best->age)) best = item;
  }
  return best;
}

static void add(struct tm_queue *queue, struct item *item, bool wild) {
  item->envelope = envelope(wild);
  item->entry.envelope = &item->envelope;
  item->in = true;
  item->age = ages++;
  tm_queue_add(queue, &item->entry);
}

static void look_up(struct tm_queue *queue, bool messages) {
  struct tm_envelope e = envelope(messages);
  struct tm_entry *found =
      messages ? tm_queue_find_message(queue, &e) : tm_queue_find_receive(queue, &e);
  struct item *right = expected(&e, messages);
  assert_ptr_equal(found, right != NULL ? &right->entry : NULL);
  if (found == NULL) return;
  tm_queue_remove(queue, found);
  right->in = false;
}

/* messages: they have no wildcards, the search has; receives: the reverse. */
static void against_list(bool messages) {
  struct tm_queue queue = {0};
  for (int i = 0; i < STEPS; i++) {
    struct item *item = &items[pick(ENTRIES)];
    if (!item->in && pick(3) > 0)
      add(&queue, item, !messages);
    else
      look_up(&queue, messages);
  }
  for (int i = 0; i < ENTRIES; i++) {
    if (items[i].in) tm_queue_remove(&queue, &items[i].entry);
    items[i].in = false;
  }
  assert_int_equal(queue.count, 0);
  assert_null(queue.earliest);
  free(queue.bins);
}

static void messages_are_found_oldest_first(void **state) {
  (void)state;
  against_list(true);
}

static void receives_are_found_oldest_first(void **state) {
  (void)state;
  against_list(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_are_found_oldest_first),
      cmocka_unit_test(receives_are_found_oldest_first),
  };
  srand(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for a time: a heap of four children a node, in an array, by time and then by
 * the order of their calls. An array of times is in fewer cache lines than the linked nodes of
 * base/heap.h.
 */
#include "sim/kernel.h"

enum { CHILDREN = 4 };

static bool is_before(const struct sm_timed *a, const struct sm_timed *b) {
  return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static void put(size_t index, struct sm_timed entry) {
  sm.heap[index] = entry;
  entry.thread->heap_index = index;
}

static size_t rise(size_t index, struct sm_timed entry) {
  while (index > 0 && is_before(&entry, &sm.heap[(index - 1) / CHILDREN])) {
    put(index, sm.heap[(index - 1) / CHILDREN]);
    index = (index - 1) / CHILDREN;
  }
  return index;
}

static size_t sink(size_t index, struct sm_timed entry) {
  for (;;) {
    size_t first = index * CHILDREN + 1, end = first + CHILDREN, least = first;
    if (first >= sm.heap_count) return index;
    if (end > sm.heap_count) end = sm.heap_count;
    for (size_t i = first + 1; i < end; i++)
      if (is_before(&sm.heap[i], &sm.heap[least])) least = i;
    if (!is_before(&sm.heap[least], &entry)) return index;
    put(index, sm.heap[least]);
    index = least;
  }
}

void sm_heap_push(struct sim_thread *t) {
  if (sm.heap_count == sm.heap_room) {
    sm.heap_room = sm.heap_room * 2 + 16;
    sm.heap = sm_grow(sm.heap, sm.heap_room * sizeof *sm.heap, "the threads that wait for a time");
  }
  struct sm_timed entry = {t->wake_at, sm.sequence++, t};
  put(rise(sm.heap_count++, entry), entry);
}

struct sim_thread *sm_heap_pop(void) {
  struct sim_thread *t = sm.heap[0].thread;
  struct sm_timed last = sm.heap[--sm.heap_count];
  if (sm.heap_count > 0) put(sink(0, last), last);
  return t;
}

void sm_heap_remove(struct sim_thread *t) {
  size_t index = t->heap_index;
  struct sm_timed last = sm.heap[--sm.heap_count];
  if (last.thread == t) return;
  put(sink(rise(index, last), last), last);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, and the end of a delta.
 */
#include "sim/kernel.h"

static void leave(struct sim_node *node) {
  sim_event_t *event = node->event;
  if (node->prev != NULL)
    node->prev->next = node->next;
  else
    event->first_ = node->next;
  if (node->next != NULL)
    node->next->prev = node->prev;
  else
    event->last_ = node->prev;
  node->event = NULL;
}

void sm_leave_waits(struct sim_thread *t) {
  for (size_t i = 0; i < t->node_count; i++)
    if (t->nodes[i].event != NULL) leave(&t->nodes[i]);
}

/* The event has come for one that waits; wakes it if it waits for nothing else. */
static inline void deliver_to(struct sim_node *node) {
  struct sim_thread *t = node->thread;
  node->event = NULL;
  if (SM_LIKELY(t->node_count == 1)) {
    sm_ready(t);
    return;
  }
  if (--t->missing > 0) return;
  t->woken_by = (size_t)(node - t->nodes);
  sm_leave_waits(t);
  sm_ready(t);
}

/* Nobody is woken twice by one event: nodes that others have left are not in the queue any more. */
static inline void deliver(sim_event_t *event) {
  uint32_t wakes = event->wakes_;
  event->wakes_ = 0;
  for (; wakes > 0 && event->first_ != NULL; wakes--) {
    struct sim_node *node = event->first_;
    event->first_ = node->next;
    if (node->next != NULL)
      node->next->prev = NULL;
    else
      event->last_ = NULL;
    deliver_to(node);
  }
}

static void take_over_written(void) {
  for (sim_buffered_t *v = sm.written; v != NULL; v = v->next_) {
    __builtin_memcpy(v->current_, v->pending_, v->size_);
    v->written_ = 0;
  }
  sm.written = NULL;
}

/* Try blocks come before those who wait: whom a trap ends is not woken. */
static inline void deliver_all(void) {
  sim_event_t *event = sm.notified;
  if (SM_UNLIKELY(sm.scopes != NULL))
    for (const sim_event_t *e = event; e != NULL; e = e->next_) sm_fire(e);
  sm.notified = NULL;
  sm.notified_end = &sm.notified;
  for (sim_event_t *next; event != NULL; event = next) {
    next = event->next_;
    deliver(event);
  }
}

/* All whose time has come, in the order of their calls. */
static inline void move_time(void) {
  if (SM_UNLIKELY(sm_trace_on)) sm_trace_sample();
  sm.now = sm.heap[0].time;
  do {
    struct sim_thread *t = sm.heap[0].thread;
    sm_heap_remove(t);
    sm_ready(t);
  } while (sm.heap_count > 0 && sm.heap[0].time == sm.now);
}

void sm_forget_delta(void) {
  take_over_written();
  for (sim_event_t *event = sm.notified; event != NULL; event = event->next_) event->wakes_ = 0;
}

void sm_advance(void) {
  while (sm.ready == NULL && !sm.over) {
    if (SM_UNLIKELY(sm.written != NULL)) take_over_written();
    if (sm.notified != NULL) {
      deliver_all();
      sm.deltas++;
    } else if (sm.heap_count > 0) {
      move_time();
      sm.deltas++;
    } else {
      sm_report_stuck();
      sm.stuck = true;
      sm_kill(NULL);
    }
  }
}

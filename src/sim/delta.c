/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, and the end of a delta.
 */
#include "sim/kernel.h"

void sm_enter_waits(struct sim_thread *t) {
  for (size_t i = 0; i < t->node_count; i++) {
    struct sim_node *node = &t->nodes[i];
    sim_event_t *event = node->event;
    node->next = NULL;
    node->prev = event->last_;
    if (event->last_ != NULL)
      event->last_->next = node;
    else
      event->first_ = node;
    event->last_ = node;
  }
}

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

/* Wakes whoever waits for nothing else. */
static void deliver(sim_event_t *event) {
  for (; event->wakes_ > 0 && event->first_ != NULL; event->wakes_ -= event->wakes_ != UINT32_MAX) {
    struct sim_node *node = event->first_;
    struct sim_thread *t = node->thread;
    leave(node);
    if (--t->missing > 0) continue;
    t->woken_by = (size_t)(node - t->nodes);
    if (t->node_count > 1) sm_leave_waits(t);
    sm_ready(t);
  }
  event->wakes_ = 0;
}

static void take_over_written(void) {
  for (sim_buffered_t *v = sm.written; v != NULL; v = v->next_) {
    __builtin_memcpy(v->current_, v->pending_, v->size_);
    v->written_ = 0;
  }
  sm.written = NULL;
}

/* Try blocks come before those who wait: whom a trap ends is not woken. */
static void deliver_all(void) {
  for (const sim_event_t *event = sm.notified; event != NULL; event = event->next_)
    if (SM_UNLIKELY(event->watches_ != NULL)) sm_fire(event);
  while (sm.notified != NULL) {
    sim_event_t *event = sm.notified;
    sm.notified = event->next_;
    deliver(event);
  }
  sm.notified_end = &sm.notified;
}

/* All whose time has come, in the order of their calls. */
static void move_time(void) {
  if (SM_UNLIKELY(sm_trace_on)) sm_trace_sample();
  sm.now = sm.heap[0].time;
  do {
    struct sim_thread *t = sm.heap[0].thread;
    sm_heap_remove(t);
    sm_ready(t);
  } while (sm.heap_count > 0 && sm.heap[0].time == sm.now);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, and the end of a delta.
 */
#include <string.h>

#include "sim/effects.h"

void sm_leave_wait(struct mltp_sim_node *node) {
  mltp_sim_event_t *event = node->event;
  if (event->first_ == node)
    event->first_ = node->next;
  else
    node->prev->next = node->next;
  if (node->next != NULL)
    node->next->prev = node->prev;
  else
    event->last_ = node->prev;
  node->event = NULL;
}

void sm_leave_waits(struct sim_thread *t) {
  for (size_t i = 0; i < t->node_count; i++)
    if (t->nodes[i].event != NULL) sm_leave_wait(&t->nodes[i]);
}

/* The event has come for one that waits; wakes it if it waits for nothing else. */
static inline void deliver_to(struct mltp_sim_node *node) {
  struct sim_thread *t = node->thread;
  if (SM_UNLIKELY(node != &t->node)) {
    node->event = NULL;
    if (--t->missing > 0) return;
    t->woken_by = (size_t)(node - t->nodes);
    sm_leave_waits(t);
  }
  sm_ready(t);
}

/* Nobody is woken twice by one event: nodes that others have left are not in the queue any more. */
static inline void deliver(mltp_sim_event_t *event) {
  uint32_t wakes = event->wakes_;
  event->wakes_ = 0;
  for (struct mltp_sim_node *node; wakes > 0 && (node = event->first_) != NULL; wakes--) {
    event->first_ = node->next;
    deliver_to(node);
  }
}

static bool is_zero(const unsigned char *bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Notifies the events of what has a new value. */
static void notify_edges(const void *before, const void *now, size_t size,
                         mltp_sim_event_t *changed, mltp_sim_event_t *rising,
                         mltp_sim_event_t *falling) {
  bool was_zero = is_zero(before, size), is_zero_now = is_zero(now, size);
  sm_effect(SM_NOTIFY, changed);
  if (was_zero != is_zero_now) sm_effect(SM_NOTIFY, was_zero ? rising : falling);
}

/* The first signal of a view that changes still has its value before, as its others have. */
static void touch_views(const struct sm_signal *s) {
  for (const struct sm_view_link *link = s->views; link != NULL; link = link->next) {
    struct sm_view *view = link->view;
    if (view->touched) continue;
    view->read(view, view->before);
    view->touched = true;
    view->next = sm.touched;
    sm.touched = view;
  }
}

/* A signal's new value: its waiters hear of it in this delta, and only if it is another one. */
static void notify_change(struct sm_signal *s) {
  const mltp_sim_buffered_t *v = &s->buffered;
  if (memcmp(v->current_, v->pending_, v->size_) == 0) return;
  touch_views(s);
  notify_edges(v->current_, v->pending_, v->size_, &s->changed, &s->rising, &s->falling);
}

/* All signals have their new values: a view's waiters hear once of several that changed. */
static void notify_views(void) {
  for (struct sm_view *view = sm.touched; view != NULL; view = view->next) {
    view->touched = false;
    view->read(view, view->now);
    if (memcmp(view->before, view->now, view->size) != 0)
      notify_edges(view->before, view->now, view->size, &view->changed, &view->rising,
                   &view->falling);
  }
  sm.touched = NULL;
}

static void take_over(mltp_sim_buffered_t *v) {
  if (v->written_ & SM_IS_SIGNAL) notify_change((struct sm_signal *)v);
  __builtin_memcpy(v->current_, v->pending_, v->size_);
  v->written_ &= ~(uint32_t)SM_IS_WRITTEN;
}

/* Signals come first: the change of one can be the clock of another variable. A clocked variable
 * whose clock was not notified stays in the list. */
static void take_over_written(void) {
  mltp_sim_buffered_t *clocked = NULL, *next;
  for (mltp_sim_buffered_t *v = sm.written; v != NULL; v = next) {
    next = v->next_;
    if (v->written_ & SM_IS_CLOCKED) {
      v->next_ = clocked;
      clocked = v;
    } else {
      take_over(v);
    }
  }
  notify_views();
  sm.written = NULL;
  for (mltp_sim_buffered_t *v = clocked; v != NULL; v = next) {
    next = v->next_;
    if (((struct sm_clocked *)v)->clock->wakes_ > 0) {
      take_over(v);
    } else {
      v->next_ = sm.written;
      sm.written = v;
    }
  }
  if (sm.written == NULL) sm.attentive &= ~(uint32_t)SM_WRITTEN;
}

static inline void deliver_all(void) {
  mltp_sim_event_t *event = sm.notified;
  sm.notified = NULL;
  sm.notified_end = &sm.notified;
  for (mltp_sim_event_t *next; event != NULL; event = next) {
    next = event->next_;
    deliver(event);
  }
}

/* No thread can ever continue. */
static void end_all(void) {
  sm_report_stuck();
  sm.stuck = true;
  sm_kill(NULL);
  sm_forget_killed();
}

/* All whose time has come, in the order of their calls. */
__attribute__((noinline)) static void move_time(void) {
  if (SM_UNLIKELY(sm.heap_count == 0)) {
    end_all();
    return;
  }
  sm.now = sm.heap[0].time;
  do sm_ready(sm_heap_pop());
  while (sm.heap_count > 0 && sm.heap[0].time == sm.now);
}

void sm_forget_delta(void) {
  take_over_written();
  for (mltp_sim_buffered_t *v = sm.written; v != NULL; v = v->next_)
    v->written_ &= ~(uint32_t)SM_IS_WRITTEN;
  sm.written = NULL;
  for (mltp_sim_event_t *event = sm.notified; event != NULL; event = event->next_)
    event->wakes_ = 0;
}

/* Handles what few models have. Try blocks come before waiters, since a thread that a trap ends is
 * not woken. */
__attribute__((noinline)) static void end_delta_of_few(void) {
  take_over_written();
  if (sm.scopes != NULL)
    for (mltp_sim_event_t *event = sm.notified; event != NULL; event = event->next_) sm_fire(event);
  if (sm.ready != NULL) sm_forget_killed();
  if (sm_trace_on && sm.notified == NULL && sm.heap_count > 0) sm_trace_sample();
}

/* What is called here is not inlined, and nothing lives across it: so no register is saved. */
void sm_advance(void) {
  for (;;) {
    if (SM_UNLIKELY(sm.attentive != 0)) end_delta_of_few();
    if (sm.notified != NULL)
      deliver_all();
    else
      move_time();
    sm.deltas++;
    if (SM_LIKELY(sm.ready != NULL)) return;
  }
}

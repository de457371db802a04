/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file effects.h
 * What sim steps do to the simulation: at once, or noted in a round and done when it is over.
 */
#ifndef SM_EFFECTS_H
#define SM_EFFECTS_H

#include "sim/kernel.h"

static inline void notify(mltp_sim_event_t *event, bool one) {
  if (event->wakes_ == 0) {
    event->next_ = NULL;
    *sm.notified_end = event;
    sm.notified_end = &event->next_;
  }
  if (!one)
    event->wakes_ = UINT32_MAX;
  else if (event->wakes_ != UINT32_MAX)
    event->wakes_++;
}

/* At the end of its event's queue. */
static inline void enter_wait(struct mltp_sim_node *node) {
  mltp_sim_event_t *event = node->event;
  node->next = NULL;
  node->prev = event->last_;
  if (event->first_ != NULL)
    event->last_->next = node;
  else
    event->first_ = node;
  event->last_ = node;
}

static inline void enter_waits(struct sim_thread *t) {
  for (size_t i = 0; i < t->node_count; i++) enter_wait(&t->nodes[i]);
}

static inline void write_later(mltp_sim_buffered_t *variable) {
  if (variable->written_ & SM_IS_WRITTEN) return;
  sm.attentive |= SM_WRITTEN;
  variable->written_ |= SM_IS_WRITTEN;
  variable->next_ = sm.written;
  sm.written = variable;
}

/* The parent becomes ready when its last child has ended; with the first thread all is over. */
static inline void end(const struct sim_thread *t) {
  if (t->parent == NULL)
    sm.over = true;
  else if (--t->parent->children == 0) {
    if (t->parent->state == SM_TRYING) t->scope->deaf = true;
    sm_ready(t->parent);
  }
}

/** Does it. Where `what` is a constant only its case is left. */
static inline void sm_effect(enum sm_what what, void *object) {
  switch (what) {
    case SM_NOTIFY: notify(object, false); break;
    case SM_NOTIFY_ONE: notify(object, true); break;
    case SM_WRITE: write_later(object); break;
    case SM_SPAWN: sm_ready(object); break;
    case SM_WAIT: enter_wait(object); break;
    case SM_WAIT_LISTED: enter_waits(object); break;
    case SM_WAITFOR: sm_heap_push(object); break;
    case SM_END: end(object); break;
    case SM_WATCH: sm_watch(object); break;
    case SM_RELEASE: sm_release(object); break;
    case SM_UNWOUND: sm_unwound(object); break;
    case SM_POOL: sm_host_pool(object); break;
    case SM_FREE: sm_host_free(object); break;
  }
}

/** Does it, or notes it if the caller's sim step is one of a round. */
static inline void sm_do(enum sm_what what, void *object) {
  if (SM_UNLIKELY(mltp_sim_parallel))
    sm_note(what, object);
  else
    sm_effect(what, object);
}

#endif

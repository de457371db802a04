/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simulated threads call: waits, notifications, time.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/effects.h"

enum { NODES_ON_STACK = 16 };

/* Where threads do not hand over. Not inlined: or sm_wait() would save registers for the calls in
 * here. */
__attribute__((noinline)) static struct arch_switch_pair wait_otherwise(mltp_sim_event_t *event) {
  struct sim_thread *self = sm_self_by_host("mltp_sim_wait");
  self->node.event = event;
  self->state = SM_WAITING;
  sm_do(SM_WAIT, &self->node);
  return sm_give_way(self);
}

struct arch_switch_pair sm_wait(mltp_sim_event_t *event) {
  struct sim_thread *self = sm.current;
  if (SM_UNLIKELY(self == NULL)) return wait_otherwise(event);
  self->node.event = event;
  self->state = SM_WAITING;
  sm_effect(SM_WAIT, &self->node);
  return sm_hand_over();
}

MT_ARCH_RETURN_BY_JUMP void mltp_sim_wait(mltp_sim_event_t *event) { sm_switch(sm_wait(event)); }

static size_t wait_list(struct sim_thread *self, mltp_sim_event_t *const *events, size_t count,
                        bool all) {
  struct mltp_sim_node few[NODES_ON_STACK], *nodes = few;
  if (count > NODES_ON_STACK) nodes = calloc(count, sizeof *nodes); /* lost if a trap ends it */
  if (nodes == NULL) sm_no_memory("a list of events");
  for (size_t i = 0; i < count; i++) {
    nodes[i].event = events[i];
    nodes[i].thread = self;
  }
  self->nodes = nodes;
  self->node_count = (uint32_t)count;
  self->missing = all ? (uint32_t)count : 1;
  self->state = SM_LISTED;
  sm_do(SM_WAIT_LISTED, self);
  sm_switch(sm_give_way(self));
  size_t woken_by = self->woken_by;
  if (nodes != few) free(nodes);
  return woken_by;
}

size_t mltp_sim_wait_any(mltp_sim_event_t *const *events, size_t count) {
  return wait_list(sm_self("mltp_sim_wait_any"), events, count, false);
}

void mltp_sim_wait_all(mltp_sim_event_t *const *events, size_t count) {
  struct sim_thread *self = sm_self("mltp_sim_wait_all");
  if (count > 0) wait_list(self, events, count, true);
}

struct arch_switch_pair sm_waitfor(mltp_sim_time_t duration) {
  struct sim_thread *self = sm_self("mltp_sim_waitfor");
  self->wake_at = sm.now + duration;
  if (SM_UNLIKELY(self->wake_at < duration))
    sm_wrong("mltp_sim_waitfor", "the time would overflow");
  self->state = SM_TIMED;
  sm_do(SM_WAITFOR, self);
  return sm_give_way(self);
}

MT_ARCH_RETURN_BY_JUMP void mltp_sim_waitfor(mltp_sim_time_t duration) {
  sm_switch(sm_waitfor(duration));
}

void mltp_sim_notify(mltp_sim_event_t *event) { sm_do(SM_NOTIFY, event); }

void mltp_sim_notify_one(mltp_sim_event_t *event) { sm_do(SM_NOTIFY_ONE, event); }

void *mltp_sim_write(mltp_sim_buffered_t *variable) {
  mltp_sim_ordered(); /* of several writes in a delta the last one counts */
  sm_do(SM_WRITE, variable);
  return variable->pending_;
}

void sm_signal_init(struct sm_signal *s, void *current, void *pending, size_t size,
                    const char *name) {
  mltp_sim_event_t event = MLTP_SIM_EVENT_INIT(name);
  s->changed = s->rising = s->falling = event;
  s->buffered = (mltp_sim_buffered_t){current, pending, size, NULL, SM_IS_SIGNAL};
  s->views = NULL;
  memcpy(pending, current, size);
}

void sm_view_init(struct sm_view *view, const char *name) {
  mltp_sim_event_t event = MLTP_SIM_EVENT_INIT(name);
  view->changed = view->rising = view->falling = event;
}

void sm_view_add(struct sm_view *view, struct sm_signal *s, struct sm_view_link *link) {
  *link = (struct sm_view_link){view, s->views};
  s->views = link;
}

void sm_clocked_init(struct sm_clocked *v, void *current, void *pending, size_t size,
                     mltp_sim_event_t *clock) {
  v->buffered =
      (mltp_sim_buffered_t){current, pending, size, NULL, clock != NULL ? SM_IS_CLOCKED : 0};
  v->clock = clock;
  memcpy(pending, current, size);
}

mltp_sim_time_t mltp_sim_now(void) { return sm.now; }

uint64_t mltp_sim_deltas(void) { return sm.deltas; }

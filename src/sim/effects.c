/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns do to the simulation, at once or at the end of a round.
 */
#include "sim/kernel.h"

static void notify(sim_event_t *event, bool one) {
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

static void write_later(sim_buffered_t *variable) {
  if (variable->written_) return;
  variable->written_ = 1;
  variable->next_ = sm.written;
  sm.written = variable;
}

/* The parent becomes ready when its last child has ended; with the first thread all is over. */
static void end(const struct sim_thread *t) {
  if (t->parent == NULL)
    sm.over = true;
  else if (--t->parent->children == 0) {
    if (t->parent->state == SM_TRYING) t->scope->deaf = true;
    sm_ready(t->parent);
  }
}

void sm_effect(enum sm_what what, void *object) {
  switch (what) {
    case SM_NOTIFY: notify(object, false); break;
    case SM_NOTIFY_ONE: notify(object, true); break;
    case SM_WRITE: write_later(object); break;
    case SM_SPAWN: sm_ready(object); break;
    case SM_WAIT: sm_enter_waits(object); break;
    case SM_WAITFOR: sm_heap_push(object); break;
    case SM_END: end(object); break;
    case SM_WATCH: sm_watch(object); break;
    case SM_UNWATCH: sm_unwatch(object); break;
    case SM_RELEASE: sm_release(object); break;
    case SM_UNWOUND: sm_unwound(object); break;
    case SM_POOL: sm_host_pool(object); break;
    case SM_FREE: sm_host_free(object); break;
  }
}

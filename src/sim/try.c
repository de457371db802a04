/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Try blocks. The body is a child with a scope of its own, which all threads below it inherit; the
 * owner waits for it, and calls the handlers. It never runs on its owner's host, so that each host
 * is in a scope as a whole: a trap unwinds whole hosts (each jumps back to where it started), an
 * interrupt keeps back those of the scope that become ready.
 */
#include <stdlib.h>

#include "sim/effects.h"

enum { WATCHES_ON_STACK = 8 };

static bool is_within(const struct sim_scope *inner, const struct sim_scope *outer) {
  while (inner != NULL && inner != outer) inner = inner->outer;
  return inner == outer;
}

void sm_watch(struct sim_scope *scope) {
  scope->before = NULL;
  scope->after = sm.scopes;
  if (sm.scopes != NULL) sm.scopes->before = scope;
  sm.scopes = scope;
  sm.attentive |= SM_SCOPED;
  for (size_t i = 0; i < scope->count; i++) {
    struct mltp_sim_watch *watch = &scope->watches[i];
    mltp_sim_event_t *event = scope->handlers[i].event;
    *watch = (struct mltp_sim_watch){event->watches_, NULL, scope, event, i};
    if (event->watches_ != NULL) event->watches_->prev = watch;
    event->watches_ = watch;
  }
}

static void unwatch(struct sim_scope *scope) {
  for (size_t i = 0; i < scope->count; i++) {
    struct mltp_sim_watch *watch = &scope->watches[i];
    if (watch->prev != NULL)
      watch->prev->next = watch->next;
    else
      watch->event->watches_ = watch->next;
    if (watch->next != NULL) watch->next->prev = watch->prev;
  }
  if (scope->before != NULL)
    scope->before->after = scope->after;
  else
    sm.scopes = scope->after;
  if (scope->after != NULL) scope->after->before = scope->before;
  if (sm.scopes == NULL) sm.attentive &= ~(uint32_t)SM_SCOPED;
}

/* ---- ending threads */

static void leave_all(struct sim_thread *t) {
  if (t->state == SM_WAITING) sm_leave_wait(&t->node);
  if (t->state == SM_LISTED) sm_leave_waits(t);
  if (t->state == SM_TIMED) sm_heap_remove(t);
}

/* From now on `last` stands for the whole pile: it becomes ready, to unwind. */
static void kill_host(struct sim_host *host, struct sim_scope *scope) {
  if (scope != NULL)
    scope->unwinding++;
  else
    sm.unwinding++;
  if (host->killed) { /* by an inner scope, in this delta */
    host->last.scope = scope;
    return;
  }
  leave_all(host->top);
  sm_host_kill(host);
  host->last = (struct sim_thread){.host = host, .scope = scope, .state = SM_READY};
  host->top = &host->last;
  sm_queue(&host->last);
}

/* Owners that an interrupt in this delta has made ready. */
static void forget_ready(void) {
  struct sim_thread *t = sm.ready;
  sm.ready = NULL;
  sm.ready_end = &sm.ready;
  for (struct sim_thread *next; t != NULL; t = next) {
    next = t->next;
    if (t->host == NULL || !t->host->killed || t == &t->host->last) sm_queue(t);
  }
}

void sm_kill(struct sim_scope *scope) {
  for (struct sim_scope *s = sm.scopes, *after; s != NULL; s = after) {
    after = s->after;
    if (s != scope && is_within(s, scope)) unwatch(s);
  }
  for (struct sim_host *host = sm.hosts; host != NULL; host = host->after)
    if (host->top != NULL && is_within(host->top->scope, scope)) kill_host(host, scope);
  forget_ready();
}

void sm_unwound(struct sim_scope *scope) {
  if (scope == NULL)
    sm.over = --sm.unwinding == 0;
  else if (--scope->unwinding == 0)
    sm_ready(scope->owner);
}

/* ---- events */

static void fire(struct sim_scope *scope, size_t index) {
  scope->fired = index;
  scope->deaf = true;
  if (!scope->handlers[index].interrupt) {
    sm_kill(scope);
    return;
  }
  scope->suspended = true;
  scope->held = NULL;
  scope->held_end = &scope->held;
  sm_ready(scope->owner);
}

/* The outermost that listens; of one try block's the first handler. */
static const struct mltp_sim_watch *to_fire(const mltp_sim_event_t *event) {
  const struct mltp_sim_watch *best = NULL;
  for (const struct mltp_sim_watch *w = event->watches_; w != NULL; w = w->next) {
    if (w->scope->deaf || sm_suspended_at(w->scope->outer) != NULL) continue;
    if (best == NULL || w->scope->depth < best->scope->depth ||
        (w->scope == best->scope && w->index < best->index))
      best = w;
  }
  return best;
}

void sm_fire(const mltp_sim_event_t *event) {
  for (const struct mltp_sim_watch *w; (w = to_fire(event)) != NULL;) fire(w->scope, w->index);
}

void sm_release(struct sim_scope *scope) {
  struct sim_thread *t = scope->held;
  scope->fired = SM_NOT_FIRED;
  scope->deaf = false;
  scope->suspended = false;
  for (struct sim_thread *next; t != NULL; t = next) {
    next = t->next;
    sm_ready(t); /* an outer scope may be suspended, too */
  }
}

/* ---- the call */

static size_t run_body(struct sim_thread *self, struct sim_scope *scope,
                       const mltp_sim_child_t *body) {
  struct sim_thread child = {
      .parent = self, .body = body->body, .arg = body->arg, .name = body->name, .scope = scope};
  child.node.thread = &child;
  self->children = 1;
  sm_do(SM_WATCH, scope);
  sm_do(SM_SPAWN, &child);
  for (;;) {
    self->state = SM_TRYING;
    sm_switch(sm_give_way(self));
    if (scope->fired == SM_NOT_FIRED) break;
    const mltp_sim_handler_t *handler = &scope->handlers[scope->fired];
    if (!handler->interrupt) break;
    handler->body(handler->arg);
    sm_do(SM_RELEASE, scope);
  }
  mltp_sim_ordered(); /* at once: other steps of a round may only reach it later */
  unwatch(scope);
  return scope->fired;
}

size_t mltp_sim_try(const mltp_sim_child_t *body, const mltp_sim_handler_t *handlers,
                    size_t count) {
  struct sim_thread *self = sm_self("mltp_sim_try");
  struct mltp_sim_watch few[WATCHES_ON_STACK], *watches = few;
  if (count > WATCHES_ON_STACK)
    watches = calloc(count, sizeof *watches); /* lost if a trap ends it */
  if (watches == NULL) sm_no_memory("a try block");
  struct sim_scope scope = {.outer = self->scope,
                            .owner = self,
                            .handlers = handlers,
                            .watches = watches,
                            .count = count,
                            .depth = self->scope != NULL ? self->scope->depth + 1 : 0,
                            .fired = SM_NOT_FIRED};
  size_t fired = run_body(self, &scope, body);
  if (watches != few) free(watches);
  if (fired == SM_NOT_FIRED) return count;
  handlers[fired].body(handlers[fired].arg);
  return fired;
}

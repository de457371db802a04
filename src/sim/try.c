/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Try blocks. The body is a child with a scope of its own, which all threads below it inherit; the
 * owner waits for it, and calls the handlers. It never runs on its owner's host, so that each host
 * is in a scope as a whole: a trap unwinds whole hosts (each jumps back to where it started), an
 * interrupt keeps back those of the scope that become ready.
 *
 * A trap costs as much as it ends: the scopes within a scope follow it in the list of all scopes,
 * and each scope has a list of its hosts.
 */
#include "sim/effects.h"

enum { WATCHES_ON_STACK = 8 };

void sm_watch(struct sim_scope *scope) {
  struct sim_scope **link = scope->outer != NULL ? &scope->outer->after : &sm.scopes;
  scope->before = scope->outer;
  scope->after = *link;
  if (*link != NULL) (*link)->before = scope;
  *link = scope;
  sm.attentive |= SM_SCOPED;
  for (size_t i = scope->count; i-- > 0;) { /* of one try block the first handler counts */
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
  sm_host_list(host, scope);
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

/* Owners that an interrupt in this delta had made ready. */
void sm_forget_killed(void) {
  struct sim_thread *t = sm.ready;
  sm.ready = NULL;
  sm.ready_end = &sm.ready;
  for (struct sim_thread *next; t != NULL; t = next) {
    next = t->next;
    if (t->host == NULL || !t->host->killed || t == &t->host->last) sm_queue(t);
  }
}

/* It and its hosts end within an outer scope's trap. */
static void kill_inner(struct sim_scope *inner, struct sim_scope *scope) {
  while (inner->hosts != NULL) kill_host(inner->hosts, scope);
  if (inner->suspended) sm.suspended--;
  unwatch(inner);
}

static void kill_all(void) {
  for (struct sim_host *host = sm.hosts; host != NULL; host = host->after)
    if (host->top != NULL) kill_host(host, NULL);
  while (sm.scopes != NULL) unwatch(sm.scopes);
  sm.suspended = 0;
}

void sm_kill(struct sim_scope *scope) {
  if (scope == NULL) {
    kill_all();
    return;
  }
  struct sim_host *host = scope->hosts;
  for (struct sim_host *after; host != NULL; host = after) {
    after = host->scope_after; /* it stays in this list, and goes to its front */
    kill_host(host, scope);
  }
  while (scope->after != NULL && scope->after->depth > scope->depth)
    kill_inner(scope->after, scope);
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
  sm.suspended++;
  scope->held = NULL;
  scope->held_end = &scope->held;
  sm_ready(scope->owner);
}

/* Merges two lists that are in order; where depths are equal those of `a` come first. */
static struct mltp_sim_watch *merge(struct mltp_sim_watch *a, struct mltp_sim_watch *b) {
  struct mltp_sim_watch *first = NULL, **link = &first;
  while (a != NULL && b != NULL) {
    struct mltp_sim_watch **outer = b->scope->depth < a->scope->depth ? &b : &a;
    *link = *outer;
    link = &(*link)->next;
    *outer = *link;
  }
  *link = a != NULL ? a : b;
  return first;
}

/* Takes a run that is in order off the front of a list. */
static struct mltp_sim_watch *take_run(struct mltp_sim_watch **list) {
  struct mltp_sim_watch *first = *list, *last = first;
  while (last->next != NULL && last->next->scope->depth >= last->scope->depth) last = last->next;
  *list = last->next;
  last->next = NULL;
  return first;
}

/* Sorts an event's watches by depth. The list mostly is one run already: scopes of one depth, or
 * the list of an event that came before. */
static void sort_watches(mltp_sim_event_t *event) {
  enum { LISTS_MAX = 64 };
  struct mltp_sim_watch *lists[LISTS_MAX], *rest = event->watches_, *all = NULL, *prev = NULL;
  int used = 0;
  while (rest != NULL) { /* lists[i] is made of 2^i runs, or empty */
    struct mltp_sim_watch *list = take_run(&rest);
    int size = 0;
    for (; size < used && lists[size] != NULL; size++) {
      list = merge(lists[size], list);
      lists[size] = NULL;
    }
    lists[size] = list;
    if (size == used) used++;
  }
  for (int i = 0; i < used; i++) all = merge(lists[i], all);
  event->watches_ = all;
  for (struct mltp_sim_watch *w = all; w != NULL; prev = w, w = w->next) w->prev = prev;
}

static bool listens(const struct mltp_sim_watch *w) {
  return !w->scope->deaf && sm_suspended_at(w->scope->outer) == NULL;
}

/* Outer scopes first, since what they end or suspend does not listen any more. */
void sm_fire(mltp_sim_event_t *event) {
  sort_watches(event);
  for (const struct mltp_sim_watch *w = event->watches_; w != NULL; w = w->next)
    if (listens(w)) fire(w->scope, w->index);
}

void sm_release(struct sim_scope *scope) {
  struct sim_thread *t = scope->held;
  scope->fired = SM_NOT_FIRED;
  scope->deaf = false;
  scope->suspended = false;
  sm.suspended--;
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
    watches = sm_block_new(self, count * sizeof *watches, "a try block");
  struct sim_scope scope = {.outer = self->scope,
                            .owner = self,
                            .handlers = handlers,
                            .watches = watches,
                            .count = count,
                            .depth = self->scope != NULL ? self->scope->depth + 1 : 0,
                            .fired = SM_NOT_FIRED};
  size_t fired = run_body(self, &scope, body);
  if (watches != few) sm_block_free(self);
  if (fired == SM_NOT_FIRED) return count;
  handlers[fired].body(handlers[fired].arg);
  return fired;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel has to say, on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/kernel.h"

static const char *name_of(const char *name) { return name != NULL ? name : "(no name)"; }

static void list_event(const char *before, const mltp_sim_event_t *event) {
  fprintf(stderr, "%s event '%s'", before, name_of(event->name_));
}

static void list_events(const struct sim_thread *t) {
  const char *between = "", *word = t->missing > 1 ? " and" : " or";
  for (size_t i = 0; i < t->node_count; i++) {
    const mltp_sim_event_t *event = t->nodes[i].event;
    if (event == NULL) continue;
    list_event(between, event);
    between = word;
  }
}

static void list_one(const struct sim_thread *t) {
  fprintf(stderr, "  thread '%s' waits for", name_of(t->name));
  if (t->state == SM_WAITING)
    list_event("", t->node.event);
  else if (t->state == SM_LISTED)
    list_events(t);
  else
    fprintf(stderr, " its %s", t->state == SM_TRYING ? "try block" : "children");
  fputc('\n', stderr);
}

/* Hosts are listed newest first; each one's pile from below. */
static void list_pile(const struct sim_thread *t) {
  if (t == NULL) return;
  list_pile(t->below);
  list_one(t);
}

void sm_report_stuck(void) {
  fflush(stdout); /* what the model printed comes first */
  fprintf(stderr,
          "mltp: the simulation is deadlocked at time %" PRIu64
          ": no thread is ready, no event is notified, none waits for a time\n",
          sm.now);
  const struct sim_host *host = sm.hosts;
  while (host != NULL && host->after != NULL) host = host->after;
  for (; host != NULL; host = host->before) list_pile(host->top);
}

static struct sim_thread *thread_here(void) {
  if (sm.current != NULL || sm.hosts == NULL) return sm.current;
  const struct sim_host *host = mltp_tss_get(sm.key);
  return host != NULL ? host->top : NULL;
}

const char *sm_name_here(void) {
  const struct sim_thread *self = thread_here();
  return self != NULL ? self->name : NULL;
}

const char *sm_rename(const char *name) {
  struct sim_thread *self = thread_here();
  if (self == NULL) return NULL;
  const char *before = self->name;
  self->name = name;
  return before;
}

void sm_wrong(const char *call, const char *why) {
  fprintf(stderr, "mltp: %s: wrong call: %s (see its manual page)\n", call, why);
  abort();
}

void *sm_grow(void *array, size_t size, const char *what) {
  void *grown = realloc(array, size);
  if (grown == NULL) sm_no_memory(what);
  return grown;
}

void sm_no_memory(const char *what) {
  fprintf(stderr,
          "mltp: simulation: no memory for %s (have fewer threads at a time, or set "
          "MLTP_STACK_SIZE lower)\n",
          what);
  abort();
}

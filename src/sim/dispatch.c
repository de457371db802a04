/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the next thread. No thread exists for this: each waiter looks for the next and switches
 * to it.
 *
 * A child that has not started runs on its parent's host, on top of the parent, when the
 * parent is the one that looks: no switch, no stack. The order of turns is the same. A child that
 * starts has half of a stack at least: without that bound, parents nested a hundred deep would
 * overflow their host's.
 */
#include "sim/effects.h"

struct simulation sm;
uint32_t mltp_sim_parallel;

/* Inlined: a child's start and end are a third of its price. */
__attribute__((always_inline)) static inline void run_on(struct sim_host *host,
                                                         struct sim_thread *t) {
  t->host = host;
  t->below = host->top;
  host->top = t;
  t->body(t->arg);
  host->top = t->below;
  sm_do(SM_END, t);
}

void sm_run_on(struct sim_host *host, struct sim_thread *t) { run_on(host, t); }

/* Between rounds: are there sim steps for a round? */
static inline bool several(void) {
  if (SM_LIKELY(sm.vps == 1)) return false;
  if (sm.ready == NULL) sm_advance();
  return sm.ready->next != NULL;
}

/* @return whether a fresh thread may run on top of what is on the caller's host. */
static bool can_run_here(const struct sim_thread *t, const struct sim_thread *self,
                         const struct sim_host *host) {
  if (t->parent != self || self->state != SM_JOINING) return false;
  return (const char *)__builtin_frame_address(0) > host->stack_middle;
}

static void let_others_run(struct sim_thread *self, struct sim_host *host, struct sim_thread *t) {
  for (;; t = NULL) {
    if (SM_UNLIKELY(mltp_sim_parallel)) {
      if (!sm_step_over(host, true)) return;
      continue;
    }
    if (SM_UNLIKELY(several())) {
      sm_round_start(host);
      return;
    }
    if (t == NULL) t = sm_next();
    if (t->host == host) return;
    if (t->host != NULL) {
      sm_host_switch(host, t->host);
      return;
    }
    if (!can_run_here(t, self, host)) {
      sm_host_switch(host, sm_host_for(t));
      return;
    }
    run_on(host, t);
  }
}

struct arch_switch_pair sm_let_others_run(struct sim_thread *self, struct sim_host *host,
                                          struct sim_thread *t) {
  let_others_run(self, host, t);
  if (SM_UNLIKELY(host->killed)) sm_host_unwind(host);
  return (struct arch_switch_pair){NULL, NULL};
}

/* What is kept waits in the pool; it may be taken out of it for the very next thread. */
bool sm_host_continue(struct sim_host *host) {
  bool kept = sm.native;
  host->next = NULL;
  sm_do(kept ? SM_POOL : SM_FREE, host);
  if (mltp_sim_parallel && !sm_step_over(host, kept)) return kept && host->next != NULL;
  if (sm.over) {
    sm_hosts_end(kept ? host : NULL);
    return false;
  }
  if (several()) {
    sm_round_start(kept ? host : NULL);
    return kept && host->next != NULL;
  }
  struct sim_thread *t = sm_next();
  struct sim_host *to = t->host != NULL ? t->host : sm_host_for(t);
  if (!kept) {
    sm_host_resume(to);
    return false;
  }
  if (to != host) sm_host_switch(host, to);
  return host->next != NULL;
}

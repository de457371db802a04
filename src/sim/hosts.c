/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: the threads of libmltp that simulated threads run on.
 *
 * With the native backend a host that has nothing left to run is kept for the next thread. With the
 * others each simulated thread has a new host of its own, as in the simulators ContextThreads was
 * made for, so that these can be compared.
 *
 * One host runs at a time (but for rounds). A switch needs no lock then: the next one runs when
 * the last one's registers are saved. A host's first run does, since the new thread may start on
 * another VP before the old one is parked: it waits for the old one's `parking`.
 */
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/internal/direct_switch.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/thread.h"
#include "sim/effects.h"

static struct {
  struct mltp_thread *thread; /* which called mltp_sim_run() */
  uint32_t parking;
} caller;

const char sm_next_step[] = "its next step in the simulation";

struct sim_host *sm_host_here(void) { return mltp_tss_get(sm.key); }

struct sim_thread *sm_self_by_host(const char *call) {
  const struct sim_host *host = sm_is_running() && !sm.hands_over ? sm_host_here() : NULL;
  if (host == NULL || host->top == NULL) sm_wrong(call, "the caller is no simulated thread");
  return host->top;
}

/* ---- memory of calls */

struct sim_block {
  alignas(max_align_t) struct sim_block *older;
};

void *sm_block_new(const struct sim_thread *self, size_t size, const char *what) {
  struct sim_block *block = malloc(sizeof *block + size);
  if (block == NULL) sm_no_memory(what);
  block->older = self->host->blocks;
  self->host->blocks = block;
  return block + 1;
}

static void free_block(struct sim_host *host) {
  struct sim_block *block = host->blocks;
  host->blocks = block->older;
  free(block);
}

void sm_block_free(const struct sim_thread *self) { free_block(self->host); }

/* ---- unwinding */

static void unwound(struct sim_host *host) {
  while (host->blocks != NULL) free_block(host); /* its pile is gone, and nobody names it */
  host->top = NULL;
  host->killed = false;
  sm_do(SM_UNWOUND, host->last.scope);
}

void sm_host_unwind(struct sim_host *host) { longjmp(host->base, 1); }

static void unwind_current(void) { sm_host_unwind(sm.current->host); }

/* The running host sees it itself, and so do all that wait in sm_let_others_run(). */
void sm_host_kill(struct sim_host *host) {
  host->killed = true;
  if (sm.hands_over && host != sm.current->host) mti_call_first(host->thread, unwind_current);
}

void sm_host_list(struct sim_host *host, struct sim_scope *scope) {
  if (host->scope_list != NULL) {
    if (host->scope_before != NULL)
      host->scope_before->scope_after = host->scope_after;
    else
      *host->scope_list = host->scope_after;
    if (host->scope_after != NULL) host->scope_after->scope_before = host->scope_before;
  }
  host->scope_list = scope != NULL ? &scope->hosts : NULL;
  if (scope == NULL) return;
  host->scope_before = NULL;
  host->scope_after = scope->hosts;
  if (scope->hosts != NULL) scope->hosts->scope_before = host;
  scope->hosts = host;
}

/* Inlined: most hosts are in no list, and go to none. */
static inline void list_host(struct sim_host *host, struct sim_scope *scope) {
  if (host->scope_list != NULL || scope != NULL) sm_host_list(host, scope);
}

static void *host_main(void *arg) {
  struct sim_host *host = arg;
  const bool kept = sm.native;
  host->thread = mltp_self();
  /* With the other backends each child has its own host. */
  host->stack_middle = kept ? mti_stack_middle() : (const char *)UINTPTR_MAX;
  if (host->starter != NULL) {
    mti_lock(host->starter);
    mti_unlock(host->starter);
  }
  if (!sm.hands_over && mltp_tss_set(sm.key, host) != 0) sm_no_memory("a thread");
  do {
    if (setjmp(host->base) == 0)
      sm_run_on(host, host->next);
    else
      unwound(host);
  } while (sm_host_continue(host));
  if (kept) free(host);
  return NULL;
}

/* The thread starts at once on another VP, or when the caller waits. */
static int start(struct sim_host *host, uint32_t *starter) {
  const mltp_attr_t attr = {.size = sizeof(mltp_attr_t), .name = host->next->name, .detached = 1};
  host->starter = starter;
  return mltp_create(NULL, &attr, host_main, host);
}

static struct sim_host *new_host(void) {
  struct sim_host *host = malloc(sizeof *host); /* calloc() skips libc's cache of freed memory */
  if (host == NULL) return NULL;
  *host = (struct sim_host){.after = sm.hosts};
  if (sm.hosts != NULL) sm.hosts->before = host;
  sm.hosts = host;
  return host;
}

struct sim_host *sm_host_for(struct sim_thread *t) {
  struct sim_host *host = sm.pool;
  if (host != NULL)
    sm.pool = host->pooled;
  else
    host = new_host();
  if (host == NULL) sm_no_memory("a simulated thread");
  host->next = t;
  list_host(host, t->scope);
  return host;
}

void sm_host_pool(struct sim_host *host) {
  list_host(host, NULL);
  host->pooled = sm.pool;
  sm.pool = host;
}

void sm_host_free(struct sim_host *host) {
  list_host(host, NULL);
  if (host->before != NULL)
    host->before->after = host->after;
  else
    sm.hosts = host->after;
  if (host->after != NULL) host->after->before = host->before;
  free(host);
}

void sm_host_start(struct sim_host *here, struct sim_host *to) {
  mti_lock(&here->parking);
  if (start(to, &here->parking) != 0) sm_no_memory("a simulated thread");
  mti_park_unlock(&here->parking, sm_next_step);
}

void sm_host_resume(struct sim_host *host) {
  if (host->thread != NULL) {
    sm_wait_parked(host);
    mti_resume(host->thread);
  } else if (start(host, NULL) != 0) {
    sm_no_memory("a simulated thread");
  }
}

int sm_hosts_run(struct sim_thread *first) {
  struct sim_host *host = new_host();
  if (host == NULL) return ENOMEM;
  host->next = first;
  if (sm.hands_over) sm.current = first;
  caller.thread = mltp_self();
  mti_lock(&caller.parking);
  int error = start(host, &caller.parking);
  if (error == 0) {
    mti_park_unlock(&caller.parking, "the end of the simulation");
    return 0;
  }
  mti_unlock(&caller.parking);
  sm_host_free(host);
  return error;
}

void sm_hosts_end(const struct sim_host *last) {
  while (sm.pool != NULL) {
    struct sim_host *host = sm.pool;
    sm.pool = host->pooled;
    host->next = NULL;
    if (host != last) sm_host_resume(host);
  }
  mti_lock(&caller.parking); /* which may not be parked yet, if it was a short one */
  mti_unlock(&caller.parking);
  mti_resume(caller.thread);
}

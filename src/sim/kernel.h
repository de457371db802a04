/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kernel.h
 * What the files of the kernel ask of each other.
 */
#ifndef SM_KERNEL_H
#define SM_KERNEL_H

#include "core/internal/direct_switch.h"
#include "core/internal/locks.h"
#include "sim/sim_switch.h"
#include "sim/types.h"

/* ---- hosts.c */

/** @return the calling thread's host. Unless hands_over. */
struct sim_host *sm_host_here(void);

/** sm_self() unless hands_over, or where the caller is no simulated thread. */
struct sim_thread *sm_self_by_host(const char *call);

/** @return a host for a thread that has not started, which will run when the host is
 * resumed; the program ends with a message when there is none. */
struct sim_host *sm_host_for(struct sim_thread *t);

/** What waiting hosts wait for. */
extern const char sm_next_step[];

/** Starts a host in the place of the caller's, which has nothing else to do until it is resumed. */
void sm_host_start(struct sim_host *here, struct sim_host *to);

/** Starts or resumes a host, beside the caller's. */
void sm_host_resume(struct sim_host *host);

/** Runs the first thread on a host, and waits until all is over. @return 0, ENOMEM, EAGAIN. */
int sm_hosts_run(struct sim_thread *first);

/** All is over: every host but the caller's, which is `last`, ends, and mltp_sim_run() returns. */
void sm_hosts_end(const struct sim_host *last);

/** Leaves all that the calling thread's host runs. */
_Noreturn void sm_host_unwind(struct sim_host *host);

/** Has a host that waits unwind when it is resumed. */
void sm_host_kill(struct sim_host *host);

/** Lists a host among those of a scope, and no longer among those of another; NULL: none. */
void sm_host_list(struct sim_host *host, struct sim_scope *scope);

/** Allocates memory for a call of the running thread. A trap that ends the call frees it. */
void *sm_block_new(const struct sim_thread *self, size_t size, const char *what);
/** Frees the newest that the thread's host has. */
void sm_block_free(const struct sim_thread *self);
void sm_host_pool(struct sim_host *host);
void sm_host_free(struct sim_host *host);

/* ---- dispatch.c: the thread to run next */

/** The rare cases of sm_give_way(), done whole. t: the next thread, out of the queue; NULL: to be
 * found. @return an empty pair: no switch is needed. */
struct arch_switch_pair sm_let_others_run(struct sim_thread *self, struct sim_host *host,
                                          struct sim_thread *t);

/** Runs a thread from its start to its end, on top of what is on the host. */
void sm_run_on(struct sim_host *host, struct sim_thread *t);

/** The host has nothing to run any more. @return whether it has again; else its thread ends. */
bool sm_host_continue(struct sim_host *host);

/* ---- delta.c */

/** The end of a delta, where not all is over: delivers what was notified, or moves the time on,
 * until a thread is ready; if none can ever be, ends them all. */
void sm_advance(void);

/** The last delta, when all is over: nobody hears what it has notified. */
void sm_forget_delta(void);

/** Takes a node out of its event's queue. */
void sm_leave_wait(struct mltp_sim_node *node);
/** Takes a thread out of the queues of all that it waits for. State: SM_LISTED. */
void sm_leave_waits(struct sim_thread *t);

/* ---- heap.c: by time, then by the order of the calls */

void sm_heap_push(struct sim_thread *t);
void sm_heap_remove(struct sim_thread *t);
/** @return the first, removed. */
struct sim_thread *sm_heap_pop(void);

/* ---- try.c */

/** Fires the try blocks that listen to a notified event: outer before inner ones. */
void sm_fire(mltp_sim_event_t *event);
/** Takes threads that a trap has ended out of the ready queue. After the last trap of a delta. */
void sm_forget_killed(void);
/** All hosts within a scope shall unwind; NULL: all there are. */
void sm_kill(struct sim_scope *scope);
/** A killed host has unwound. scope: of the threads it had. */
void sm_unwound(struct sim_scope *scope);
void sm_watch(struct sim_scope *scope);
/** An interrupt's handler has ended. */
void sm_release(struct sim_scope *scope);

/* ---- effects.h, round.c */

/** What a sim step does to the simulation. */
enum sm_what {
  SM_NOTIFY,      /**< an event */
  SM_NOTIFY_ONE,  /**< an event */
  SM_WRITE,       /**< a buffered variable */
  SM_SPAWN,       /**< a thread that becomes ready */
  SM_WAIT,        /**< a thread's node */
  SM_WAIT_LISTED, /**< a thread */
  SM_WAITFOR,     /**< a thread */
  SM_END,         /**< a thread */
  SM_WATCH,       /**< a scope */
  SM_RELEASE,     /**< a scope */
  SM_UNWOUND,     /**< a scope */
  SM_POOL,        /**< a host */
  SM_FREE         /**< a host */
};

/** Notes, in a round, what shall be done when it is over. */
void sm_note(enum sm_what what, void *object);

/** Ends the sim step of the calling thread's host. @return true: that was the last of the round,
 * and the effects of the round are done; false: the host's next step has come.
 * @param stays false: it returns false at once, the host has gone. */
bool sm_step_over(struct sim_host *host, bool stays);

/** Starts the sim steps of all ready threads at once. here: the caller's host, NULL: it has gone.
 * Returns when a step of that host has come. */
void sm_round_start(struct sim_host *here);

void sm_round_free(void);

/* ---- trace.c */

extern bool sm_trace_on;
void sm_trace_sample(void);
void sm_trace_begin(void);
void sm_trace_end(void);

/* ---- run.c */

/** @return whether there is a simulation now. */
bool sm_is_running(void);

/* ---- report.c */

void sm_report_stuck(void);
_Noreturn void sm_wrong(const char *call, const char *why);
_Noreturn void sm_no_memory(const char *what);
/** realloc(), or the end with that message. */
void *sm_grow(void *array, size_t size, const char *what);

/* ---- small things every sim step needs */

/** The calling thread; where it is none the program ends with a message. */
static inline struct sim_thread *sm_self(const char *call) {
  struct sim_thread *self = sm.current;
  return SM_LIKELY(self != NULL) ? self : sm_self_by_host(call);
}

static inline void sm_queue(struct sim_thread *t) {
  t->next = NULL;
  *sm.ready_end = t;
  sm.ready_end = &t->next;
}

/** @return the innermost scope that an interrupt suspends, of those it is in. */
static inline struct sim_scope *sm_suspended_at(struct sim_scope *scope) {
  if (SM_LIKELY(sm.suspended == 0)) return NULL;
  while (scope != NULL && !scope->suspended) scope = scope->outer;
  return scope;
}

static inline void sm_hold(struct sim_thread *t, struct sim_scope *scope) {
  t->next = NULL;
  *scope->held_end = t;
  scope->held_end = &t->next;
}

/** Adds it to the ready threads. */
static inline void sm_ready(struct sim_thread *t) {
  t->state = SM_READY;
  struct sim_scope *scope = sm_suspended_at(t->scope);
  if (SM_LIKELY(scope == NULL))
    sm_queue(t);
  else
    sm_hold(t, scope);
}

/** Takes the first thread out of the queue. */
static inline void sm_take(const struct sim_thread *t) {
  sm.ready = t->next;
  if (sm.ready == NULL) sm.ready_end = &sm.ready;
}

/** @return the thread that runs its sim step. */
static inline struct sim_thread *sm_next(void) {
  if (sm.ready == NULL) sm_advance();
  struct sim_thread *t = sm.ready;
  sm_take(t);
  if (SM_LIKELY(sm.hands_over)) sm.current = t;
  return t;
}

/** After a round a host may not be parked yet. */
static inline void sm_wait_parked(struct sim_host *host) {
  if (SM_LIKELY(sm.vps == 1)) return;
  mti_lock(&host->parking);
  mti_unlock(&host->parking);
}

/** Starts or resumes a host in place of the caller's. */
static inline void sm_host_switch(struct sim_host *here, struct sim_host *to) {
  if (SM_LIKELY(to->thread != NULL)) {
    sm_wait_parked(to);
    mti_switch_to(to->thread, sm_next_step);
  } else {
    sm_host_start(here, to);
  }
}

/** sm_give_way() where threads hand over. Nothing is kept across the end of a delta but in memory:
 * so the functions that end with this save no registers for it. */
__attribute__((always_inline)) static inline struct arch_switch_pair sm_hand_over(void) {
  if (sm.ready == NULL) sm_advance();
  struct sim_thread *self = sm.current, *t = sm.ready;
  struct sim_host *host = self->host;
  sm_take(t);
  sm.current = t;
  if (SM_LIKELY(t->host != NULL && t->host != host && !host->killed))
    return mti_prepare_switch(t->host->thread, sm_next_step);
  return sm_let_others_run(self, host, t);
}

/** The calling thread's state says what it waits for: others run until then. @return the
 * switch that has to be done for that (sim_switch.h). */
__attribute__((always_inline)) static inline struct arch_switch_pair sm_give_way(
    struct sim_thread *self) {
  if (SM_LIKELY(sm.current != NULL)) return sm_hand_over();
  return sm_let_others_run(self, self->host, NULL);
}

/** Does it. */
__attribute__((always_inline)) static inline void sm_switch(struct arch_switch_pair pair) {
  if (SM_LIKELY(pair.to != NULL)) mt_arch_switch(pair.from, pair.to);
}

#endif

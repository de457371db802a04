/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kernel.h
 * What the files of the kernel ask of each other.
 */
#ifndef SM_KERNEL_H
#define SM_KERNEL_H

#include "sim/types.h"

/* ---- hosts.c */

/** @return the calling thread's host. Where vps > 1. */
struct sim_host *sm_host_here(void);

/** @return a host for a thread that has not started, which will run when the host is
 * resumed; the program ends with a message when there is none. */
struct sim_host *sm_host_for(struct sim_thread *t);

/** What waiting hosts wait for. */
extern const char sm_turn[];

/** Starts a host in the place of the caller's, which has nothing else to do until it is resumed. */
void sm_host_start(struct sim_host *here, struct sim_host *to);

/** Starts a host, or lets it go on, beside the caller's. */
void sm_host_resume(struct sim_host *host);

/** Runs the first thread on a host, and waits until all is over. @return 0, ENOMEM, EAGAIN. */
int sm_hosts_run(struct sim_thread *first);

/** All is over: every host but the caller's, which is `last`, ends, and sim_run() returns. */
void sm_hosts_end(const struct sim_host *last);

void sm_host_pool(struct sim_host *host);
void sm_host_free(struct sim_host *host);

/* ---- dispatch.c: whose turn it is */

/** The rare cases of sm_block(). t: the next thread, taken out of the queue; NULL: to be found. */
void sm_let_others_run(struct sim_thread *self, struct sim_host *host, struct sim_thread *t);

/** Runs a thread from its start to its end, on top of what is on the host. */
void sm_run_on(struct sim_host *host, struct sim_thread *t);

/** The host has nothing to run any more. @return whether it has again; else its thread ends. */
bool sm_host_continue(struct sim_host *host);

/* ---- delta.c */

/** The end of a delta: delivers what was notified, or moves the time on. Afterwards a thread is
 * ready, if any can ever be. */
void sm_advance(void);

/** The last delta, when all is over: nobody hears what it has notified. */
void sm_forget_delta(void);

/** Takes a thread out of the queues of all that it waits for. */
void sm_leave_waits(struct sim_thread *t);

/* ---- heap.c: by time, then by the order of the calls */

void sm_heap_push(struct sim_thread *t);
void sm_heap_remove(struct sim_thread *t);

/* ---- try.c */

/** A notified event that try blocks listen to. */
void sm_fire(const sim_event_t *event);
/** All hosts within a scope shall unwind; NULL: all there are. */
void sm_kill(struct sim_scope *scope);
/** A killed host has unwound. scope: of the threads it had. */
void sm_unwound(struct sim_scope *scope);
/** @return whether a suspended scope keeps the thread, which would be ready. */
bool sm_hold(struct sim_thread *t);
void sm_watch(struct sim_scope *scope);
/** An interrupt's handler has ended. */
void sm_release(struct sim_scope *scope);

/* ---- effects.h, round.c */

/** What a turn does to the simulation. */
enum sm_what {
  SM_NOTIFY,     /**< an event */
  SM_NOTIFY_ONE, /**< an event */
  SM_WRITE,      /**< a buffered variable */
  SM_SPAWN,      /**< a thread that becomes ready */
  SM_WAIT,       /**< a thread */
  SM_WAITFOR,    /**< a thread */
  SM_END,        /**< a thread */
  SM_WATCH,      /**< a scope */
  SM_RELEASE,    /**< a scope */
  SM_UNWOUND,    /**< a scope */
  SM_POOL,       /**< a host */
  SM_FREE        /**< a host */
};

/** Notes, in a round, what shall be done when it is over. */
void sm_note(enum sm_what what, void *object);

/** The turn of the calling thread's host is over. @return true: that was the last of the round, and
 * what the round did is done; false: the host's next turn has come.
 * @param stays false: it returns false at once, the host has gone. */
bool sm_turn_over(struct sim_host *host, bool stays);

/** Starts the turns of all ready threads at once. here: the caller's host, NULL: it has gone.
 * Returns when a turn of that host has come. */
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

/* ---- small things every turn needs */

/** The calling thread; where it is none the program ends with a message. */
static inline struct sim_thread *sm_self(const char *call) {
  struct sim_thread *self = sm.current;
  if (SM_UNLIKELY(sm.vps > 1)) {
    struct sim_host *host = sm_host_here();
    self = host != NULL ? host->top : NULL;
  }
  if (SM_UNLIKELY(self == NULL)) sm_wrong(call, "the caller is no simulated thread");
  return self;
}

static inline void sm_queue(struct sim_thread *t) {
  t->next = NULL;
  *sm.ready_end = t;
  sm.ready_end = &t->next;
  sm.ready_count++;
}

/** Its turn will come. */
static inline void sm_ready(struct sim_thread *t) {
  t->state = SM_READY;
  if (SM_LIKELY(t->scope == NULL) || !sm_hold(t)) sm_queue(t);
}

/** @return the thread whose turn it is; NULL: all is over. */
static inline struct sim_thread *sm_next(void) {
  if (SM_UNLIKELY(sm.ready == NULL)) sm_advance();
  struct sim_thread *t = sm.ready;
  if (SM_UNLIKELY(t == NULL)) return NULL;
  sm.current = t; /* but in a round, where nobody asks */
  sm.ready = t->next;
  if (sm.ready == NULL) sm.ready_end = &sm.ready;
  sm.ready_count--;
  return t;
}

/** After a round a host may not be parked yet. */
static inline void sm_wait_parked(struct sim_host *host) {
  if (SM_LIKELY(sm.vps == 1)) return;
  mt_seam_lock(&host->parking);
  mt_seam_unlock(&host->parking);
}

/** Lets a host go on, or start, in the place of the caller's. */
static inline void sm_host_switch(struct sim_host *here, struct sim_host *to) {
  if (SM_LIKELY(to->thread != NULL)) {
    sm_wait_parked(to);
    mt_seam_switch(to->thread, sm_turn, &here->killed);
  } else {
    sm_host_start(here, to);
  }
}

/** The calling thread's state says what it waits for: others run until its turn comes. For the end
 * of a function: mostly it is left by mt_seam_switch(). */
__attribute__((always_inline)) static inline void sm_block(struct sim_thread *self) {
  struct sim_host *host = self->host;
  struct sim_thread *t = SM_LIKELY(sm.vps == 1) ? sm_next() : NULL;
  if (SM_LIKELY(t != NULL && t->host != NULL && t->host != host))
    mt_seam_switch(t->host->thread, sm_turn, &host->killed);
  else
    sm_let_others_run(self, host, t);
}

#endif

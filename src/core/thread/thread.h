/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.h
 * Who runs: the calling thread, its VP, and the state of any thread.
 *
 * Relaxed: `where` is a hint to all but the owner of the queue the thread is in;
 * what follows from it is always checked again under that queue's protocol.
 */
#ifndef MT_CORE_THREAD_THREAD_H
#define MT_CORE_THREAD_THREAD_H

#include "base/log.h"
#include "core/vp/types.h"

/** The thread that runs on this kernel thread; NULL: none of ours yet. Read it
 * with mt_current() only. */
extern __thread struct mltp_thread *mt_current_thread __attribute__((tls_model("initial-exec")));

/** @return the calling thread, or NULL for a kernel thread not seen before. */
static inline struct mltp_thread *mt_current(void) { return MT_ARCH_TLS_READ(mt_current_thread); }

static inline void mt_set_current(struct mltp_thread *t) {
  MT_ARCH_TLS_WRITE(mt_current_thread, t);
}

/** @return the calling thread; a kernel thread not seen before becomes a foreign
 * thread. NULL after a misuse report: call names who asked (outside.c). */
struct mltp_thread *mt_attach(const char *call);

static inline struct mltp_thread *mt_self(const char *call) {
  struct mltp_thread *self = mt_current();
  return mt_likely(self != NULL) ? self : mt_attach(call);
}

/** Calls the function a thread was made for. @return its result. */
static inline void *mt_call_function(struct mltp_thread *self) {
  void *arg = self->arg;
  self->number = 0;
  return self->func(arg);
}

/** @return whether there is a runtime. Without one nobody waits and no timer is set: C++
 * destroys its static objects then. */
static inline bool mt_is_up(void) {
  return mt_load_relaxed(&mt_rt.running) != 0; /* relaxed: who waits keeps it up */
}

/** @return the VP of the calling thread, NULL when it has none. */
static inline struct mt_vp *mt_here(void) {
  struct mltp_thread *self = mt_current();
  return self != NULL ? self->vp : NULL;
}

/* The state in the low bits, the VP's index above: one load gives both. */
enum { MT_STATE_BITS = 4 };

static inline uint16_t mt_where(enum mt_state state, uint32_t vp_index) {
  return (uint16_t)((uint32_t)state | vp_index << MT_STATE_BITS);
}

static inline void mt_set_where(struct mltp_thread *t, enum mt_state state, uint32_t vp_index) {
  mt_store_relaxed(&t->where, mt_where(state, vp_index));
}

static inline enum mt_state mt_state(const struct mltp_thread *t) {
  return (enum mt_state)(mt_load_relaxed(&t->where) & ((1 << MT_STATE_BITS) - 1));
}

/** @return true when the thread is ready in exactly this VP's run queue. Exact
 * for the owner of that queue while it is inside. */
static inline bool mt_is_ready_on(const struct mltp_thread *t, const struct mt_vp *vp) {
  return mt_load_relaxed(&t->where) == mt_where(MT_READY, vp->runq.index);
}

/** @return true when the thread has a processor as far as this level knows: it
 * runs on a VP that is awake, or has a kernel thread and is not parked. */
static inline bool mt_is_running(const struct mltp_thread *t) { return mt_state(t) == MT_RUNNING; }

/** Units of 4.2 ms, modulo 2^32 (half a year), of a time from os_now(): what reports
 * need to say how long a thread has been parked. */
enum { MT_CLOCK_SHIFT = 22 };

static inline uint32_t mt_clock(uint64_t now) { return (uint32_t)(now >> MT_CLOCK_SHIFT); }

/** @return the thread's name as reports show it, never NULL. */
static inline const char *mt_name(const struct mltp_thread *t) {
  return mt_load_relaxed(&t->named) ? mt_load_relaxed(&t->name) : "";
}

static inline void mt_set_name(struct mltp_thread *t, const char *name) {
  if (name != NULL) mt_store_relaxed(&t->name, name);
  mt_store_relaxed(&t->named, name != NULL);
}

/** The bounds of a stack that is not one of ours: a bound or foreign thread's, or main's. */
static inline void mt_native_stack(const struct mltp_thread *t, const char **low, size_t *size) {
  bool is_main = t->kind == MT_UNBOUND;
  *low = is_main ? mt_rt.main_low : t->stack_low;
  *size = is_main ? mt_rt.main_size : t->stack_size;
}

/** What has to be done if mltp_exit() leaves a frame behind: no destructor runs for it.
 * Lies in that frame. */
struct mt_undo {
  struct mt_undo *outer;
  void (*run)(struct mt_undo *undo);
};

static inline void mt_undo_push(struct mltp_thread *self, struct mt_undo *undo) {
  undo->outer = self->undo;
  self->undo = undo;
}

/** The frame is left by itself: nothing is to be undone any more. */
static inline void mt_undo_pop(struct mltp_thread *self, struct mt_undo *undo) {
  MT_ASSERT(self->undo == undo);
  self->undo = undo->outer;
}

/* thread.c */

/** Ends the calling unbound thread and runs the next one. */
void mt_finish(struct mltp_thread *self, void *result) __attribute__((noreturn));

/** The part of ending a thread that all kinds share: result, joiner, descriptor. */
void mt_end(struct mltp_thread *self, void *result);

/** @return threads created and not ended yet, main included: never too low, and
 * exact when it is 1 and the caller is main or main is parked. */
uint64_t mt_live(void);

/** Where a joiner with a deadline waits; join.c. On its stack. */
struct mt_timed_join {
  mltp_waitq_t queue;               /* the joiner alone */
  const struct mltp_thread *thread; /* [const] for dumps */
};

/* outside.c: bound and foreign threads */

int mt_outside_init(void);
/** In a child of fork(): self, if foreign, is no thread of the library any more. */
void mt_outside_forget(const struct mltp_thread *self);
/** @return true when there are threads outside VPs, which may make others ready. */
bool mt_outside_may_post(void);
/** Starts the kernel thread of a bound thread. @return 0 or EAGAIN. */
int mt_bound_start(struct mltp_thread *t, size_t stack_size);
void mt_bound_finish(struct mltp_thread *self, void *result) __attribute__((noreturn));
/** Waits until no kernel thread of a bound thread uses the runtime any more. */
void mt_bound_wait_all(void);

#endif

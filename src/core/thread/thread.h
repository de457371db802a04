/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.h
 * The thread: its descriptor, its states, and the calling thread. Everything else in src/core
 * is built on this file.
 *
 * Glossary of the core: one word, one meaning.
 *
 * thread         user-level thread: unbound (runs on any VP), bound (has a kernel thread of its
 *                own) or foreign (a pthread that this library did not create)
 * VP             virtual processor: a kernel thread that runs unbound threads
 * awake VP       a VP that runs threads or searches for some; another VP sleeps on a futex, or is
 *                blocked inside mltp_blocking_begin/end
 * run queue      the ready threads of one VP
 * inbox          the part of a run queue that other VPs and threads post to
 * park           to give up the VP until a waker resumes the thread
 * internal lock  a spin lock of this library, held for moments (base/ilock.h)
 * fresh          created, never run; has no stack yet
 * watchdog       the one sleeping VP that wakes by itself, for timers and for VPs that block
 * locality       the cache group and memory node on which a VP runs
 * alternative    a scheduler or a lock from a paper, in src/alternatives
 *
 * Tags: [const] set before other threads can see it; [owner] read and written only by the thread,
 * or the VP, that it belongs to; [ilock] protected by the internal lock named; [atomic] accessed by
 * the protocol of the file named.
 *
 * Relaxed: `where` is a hint to all but the owner of the queue the thread is in; what follows from
 * it is always checked again under that queue's protocol.
 */
#ifndef MT_CORE_THREAD_THREAD_H
#define MT_CORE_THREAD_THREAD_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/ilock.h"
#include "base/log.h"
#include "instrument/sanitizer.h"
#include "mltp/sync.h"
#include "mltp/thread.h"
#include "mltp/time.h"
#include "os/os.h"

/** What few threads have and a switch must exchange: bits of a thread's `own`. */
enum {
  MT_OWN_EXCEPTIONS = 1, /**< it does not run, and eh_caught, eh_uncaught hold something */
  MT_OWN_FP = 2,         /**< [const] attribute fp_control: fp is its floating-point control */
  MT_OWN_NUMBER = 4,     /**< it has started, and has a number */
  MT_OWN_FP_FORM = 8     /**< times enum mt_arch_fp_form: where its FP control is, with MT_OWN_FP */
};

/** What makes a thread special when its turn comes, or when it becomes ready: bits of a
 * thread's `special`. */
enum {
  MT_FRESH = 1,       /**< created, never run */
  MT_HIGH = 2,        /**< [const] runs before others now and then; sched.c */
  MT_LOW = 4,         /**< [const] lets others pass once, each time it is ready; sched.c */
  MT_PUT_OFF = 8,     /**< low, and has let others pass */
  MT_OWN_STACK = 16,  /**< fresh, and takes its stack from the free list always; an alternative */
  MT_INTERRUPTED = 32 /**< a joiner whose path gave way to an older one; fork_join.h */
};

/** What a thread is made of. */
enum mt_kind {
  MT_UNBOUND,
  MT_BOUND,
  MT_FOREIGN,
  MT_IDLE /**< a VP's own context, in which it looks for work */
};

/** Where a thread is in its life. */
enum mt_state {
  MT_FREE,    /**< descriptor not in use */
  MT_READY,   /**< in the run queue of VP mt_where_vp() */
  MT_MAILED,  /**< in the inbox of VP mt_where_vp() */
  MT_RUNNING, /**< on VP mt_where_vp(), or on its own kernel thread */
  MT_PARKED,  /**< waits; why says for what */
  MT_DONE     /**< ended, not joined yet */
};

/** Whether a joiner may come. */
enum mt_detached {
  MT_JOINABLE,
  MT_BORN_DETACHED, /**< [const]: nobody else ever takes its internal lock */
  MT_MADE_DETACHED, /**< by mltp_detach(), under its internal lock */
  MT_JOINED_TIMED   /**< joinable, and its joiner may give up: join.c */
};

/** What a thread has to look at where it would wait; bits. */
enum mt_cancel {
  MT_CANCELLED = 1,
  MT_HAS_DEADLINE = 2 /**< deadline is set */
};

/** What a parked thread waits for. */
enum mt_why {
  MT_WHY_NOTHING,
  MT_WHY_LOCK,
  MT_WHY_COND,
  MT_WHY_BARRIER,
  MT_WHY_SEM,
  MT_WHY_CHANNEL,
  MT_WHY_SELECT,
  MT_WHY_LATCH,
  MT_WHY_WAITGROUP,
  MT_WHY_ONCE,
  MT_WHY_RDLOCK,
  MT_WHY_WRLOCK,
  MT_WHY_JOIN,
  MT_WHY_JOIN_TIMED,
  MT_WHY_SLEEP,
  MT_WHY_FINALIZE,
  MT_WHY_AWAIT,
  MT_WHY_MESSAGE,
  MT_WHY_SWITCH, /**< waits by mti_prepare_switch() */
  MT_WHY_IO,     /**< waits for a descriptor, or for a call on a file; src/io */
  MT_WHY_STACK   /**< has not started: there is no memory for its stack; stack_wait.h */
};

struct mt_vp;
struct mt_stack;
struct mt_values;
struct mt_await;
struct mt_undo;
struct mt_timer;

/** A thread. Descriptors are never unmapped while the runtime is up, so other threads may
 * read the state of a thread that has ended. The cache lines are packed by use: a switch
 * touches the first, a whole plain life the first two. */
struct mltp_thread {
  /* -- first line: all that a switch touches */
  alignas(MT_CACHE_LINE) struct arch_context context; /* [owner] of a thread that does not run */
  struct mltp_thread *next; /* [ilock] of the queue it is in: run queue or wait queue */
  struct mltp_thread *prev; /* likewise */
  struct mt_vp *vp;         /* [atomic] VP it runs on or ran on last; NULL: bound, foreign */
  uint16_t where;           /* [atomic] state and VP index; thread.h */
  uint8_t special;          /* [owner] of the run queue it is in: MT_FRESH, ...; mostly 0 */
  uint8_t own;              /* [owner] MT_OWN_... */
  int saved_errno;          /* [owner] errno while it does not run; 0 while it runs */

  /* -- second line: start, waiting, end */
  union {
    mltp_userf_t *func;            /* [const] until it starts */
    const struct mt_await *awaits; /* [ilock: bucket] its predicate, while it waits for a word */
    const char *waiting_for;       /* [owner] MT_WHY_MESSAGE, _SWITCH, _IO: the object */
    void *result;                  /* [ilock: this->ilock] once done */
  };
  union {
    void *arg; /* [const] until it starts */
    struct {
      uint32_t parked_at; /* [atomic] then mt_clock() when it parked; relaxed: for dumps */
      uint32_t number;    /* [owner] mti_number(); 0 when it starts */
    };
  };
  struct mt_stack *stack; /* [owner]; NULL: fresh, bound, foreign, main */
  union {
    mltp_waitq_t *waitq;         /* [atomic] queue it waits in; park.c */
    struct mltp_thread *joining; /* [owner] thread whose end it waits for: why says which */
  };
  struct mltp_thread *joiner; /* [ilock: this->ilock] */
  uint64_t id;                /* [const] */
  mt_ilock ilock;             /* join, detach, end */
  uint8_t kind;               /* [const] enum mt_kind */
  uint8_t done;               /* [ilock: this->ilock] */
  uint8_t named;              /* [atomic] name is set; relaxed */
  uint8_t cancel;             /* [atomic] enum mt_cancel; cancel.c */
  uint8_t has_values;         /* [owner] values holds something; key.c */
  uint8_t why;                /* [atomic] enum mt_why; relaxed: for dumps, and MT_WHY_SWITCH */
  uint8_t detached;           /* [atomic] enum mt_detached; thread.c */
  uint8_t stack_class;        /* [const] log2 of the stack's size */
  uint8_t timed_out;          /* [ilock] of the wait queue */
  uint8_t wait_mode;          /* [ilock] of a lock's queue: what it waits for; the lock's file */
  uint8_t called;             /* [owner] runs as a call of its joiner; join.c */
  uint8_t for_ever;           /* [ilock] of the queue: counted in mt_rt.outside.parked */

  /* -- third line: what most threads never need */
  const char *name;         /* [atomic] relaxed: a pointer to constant text */
  struct mt_values *values; /* [owner] thread-specific values; key.c */
  struct mt_timer *timer;   /* [atomic] armed for its wait; cancel.c */
  uint64_t deadline;        /* [owner] of all its waits; cancel.c */
  struct mt_undo *undo;     /* [owner] what mltp_exit() has to undo; thread.h */
  union {
    struct {                /* unbound */
      void *eh_caught;      /* [owner] C++: exceptions being handled */
      uint32_t eh_uncaught; /* [owner] C++: exceptions thrown, not caught yet */
      union {
        int32_t priority;   /* [owner] the one VP of deterministic mode; det.c */
        uint32_t waited_on; /* [owner] else: 1 + the VP it waited for a word on last; await.c */
      };
      struct arch_fp fp; /* [owner] with MT_OWN_FP: while it does not run, if it is recorded */
    };
    struct {                 /* bound, foreign */
      const char *stack_low; /* [const] bounds of its stack, for backtraces */
      size_t stack_size;     /* [const] */
      uint32_t token;        /* [atomic] 1 when unparked; park.c */
    };
  };
  struct mt_sanitizer sanitizer; /* empty unless a sanitizer is on */
};

static_assert(offsetof(struct mltp_thread, func) == MT_CACHE_LINE &&
                  offsetof(struct mltp_thread, name) == 2 * MT_CACHE_LINE &&
                  offsetof(struct mltp_thread, sanitizer) <= 3 * MT_CACHE_LINE,
              "the lines of a descriptor are cache lines");

/** The thread that runs on this kernel thread; NULL: none of ours yet. Read it
 * with mt_current() only. */
extern __thread struct mltp_thread *mt_current_thread __attribute__((tls_model("initial-exec")));

/** @return the calling thread, or NULL for a kernel thread not seen before. */
static inline struct mltp_thread *mt_current(void) { return MT_ARCH_TLS_READ(mt_current_thread); }

static inline void mt_set_current(struct mltp_thread *t) {
  MT_ARCH_TLS_WRITE(mt_current_thread, t);
}

/** @return the calling thread; a kernel thread not seen before becomes a foreign
 * thread. NULL after a misuse report, in which `call` names the function (outside.c). */
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

#endif

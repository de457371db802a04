/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file types.h
 * The glossary, and every structure of the core with the owner of each field.
 *
 * thread      user-level thread; unbound (runs on any VP), bound (has a kernel
 *             thread of its own) or foreign (a pthread we did not make)
 * VP          virtual processor: a kernel thread that runs unbound threads
 * awake VP    one that runs threads or looks for some; others sleep on a futex,
 *             or are inside mltp_blocking_begin/end
 * run queue   the ready threads of one VP (runq.h); inbox: its part others post to
 * park        to give up the VP until somebody unparks the thread (park.h)
 * guard       the spin lock of a wait queue, or of a thread for its join
 * strategy    another way to manage threads, of Anderson et al. (strategy.h)
 * fresh       created, never run; has no stack yet
 * watchdog      the one sleeping VP that watches timers and busy VPs (idle.c)
 *
 * Tags: [const] set before others can see it; [owner] only the thread, or the
 * VP, it belongs to; [ilock] under the guard named; [atomic] with the protocol
 * of the file named.
 */
#ifndef MT_CORE_VP_TYPES_H
#define MT_CORE_VP_TYPES_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include "alternatives/spin/spinlock.h"
#include "arch/arch.h"
#include "base/atomic.h"
#include "base/cache.h"
#include "base/heap.h"
#include "base/ilock.h"
#include "instrument/sanitizer.h"
#include "mltp/sync.h"
#include "mltp/thread.h"
#include "mltp/time.h"
#include "os/os.h"

enum { MT_VPS_MAX = 1024 };

/** What few threads have and a switch must exchange: bits of a thread's `own`. */
enum {
  MT_OWN_EXCEPTIONS = 1, /**< it does not run, and eh_caught, eh_uncaught hold something */
  MT_OWN_FP = 2          /**< [const] attribute fp_control: fp is its floating-point control */
};

/** What makes a thread special when its turn comes, or when it becomes ready: bits of a
 * thread's `special`. */
enum {
  MT_FRESH = 1,       /**< created, never run */
  MT_HIGH = 2,        /**< [const] runs before others now and then; sched.c */
  MT_LOW = 4,         /**< [const] lets others pass once, each time it is ready; sched.c */
  MT_PUT_OFF = 8,     /**< low, and has let others pass */
  MT_OWN_STACK = 16,  /**< fresh, and takes its stack from the free list always; strategy.h */
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

/** Whether anybody will join it. */
enum mt_detached {
  MT_JOINABLE,
  MT_BORN_DETACHED, /**< [const]: nobody else ever takes its guard */
  MT_MADE_DETACHED, /**< by mltp_detach(), under its guard */
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
  MT_WHY_SWITCH /**< waits by mti_prepare_switch() */
};

struct mt_vp;
struct mt_stack;
struct mt_values;
struct mt_await;
struct mt_undo;
struct mt_timer;

/** A thread. Descriptors are never unmapped while the runtime is up, so that
 * others may read the state of one that has ended ("know who runs"). The lines
 * are packed by use: a switch touches the first, a whole plain life the first two. */
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
    const struct mt_await *awaits; /* [ilock: bucket] its wish, while it waits for a word */
    const char *waiting_for;       /* [owner] MT_WHY_MESSAGE, _TURN: what for; seam.h */
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
  uint8_t wish;               /* [ilock] of a lock's queue: what it wants; the lock's file */
  uint8_t called;             /* [owner] runs as a call of its joiner; join.c */
  uint8_t for_ever;           /* [ilock] of the queue: counted in mt_rt.outside_parked */

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
      struct arch_fp fp; /* [owner] with MT_OWN_FP: while it does not run */
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

/** The run queue of a VP; the protocol is runq.c's. */
struct mt_runq {
  uint32_t inside;          /* [atomic] 1: the owner is inside */
  uint32_t length;          /* [atomic] threads in the list; written inside */
  struct mltp_thread *head; /* [inside] */
  struct mltp_thread *tail; /* [inside] */

  uint32_t index; /* [inside] the list's number in `where`: the VP's, unless it is lent */

  alignas(MT_CACHE_LINE) uint32_t claim; /* [atomic] what others want of the owner */
  struct mltp_thread *inbox;             /* [atomic] newest first; emptied as a whole */
};

enum mt_vp_status {
  MT_VP_AWAKE,
  MT_VP_ASLEEP,  /**< in the list of sleepers */
  MT_VP_BLOCKED, /**< inside mltp_blocking_begin/end */
};

/** Counters of a VP, each with one writer. */
struct mt_stats {
  uint64_t created, ended; /* threads; also what tells how many live */
  uint64_t parks, stolen, stolen_far, served, sleeps, wakes;
  uint64_t awaits[3]; /* waits for words: by enum mt_await_end */
  uint64_t locks;     /* acquisitions of a strategy's locks; strategy.h */
};

/** What there is to do after a switch; bits of a VP's `after`. */
enum {
  MT_AFTER_UNLOCK = 1, /**< release after_unlock */
  MT_AFTER_END = 2,    /**< after_stack or after_home: a thread has left for good */
  MT_AFTER_RETURN = 4  /**< give a lent list back; strategy.h */
};

struct mt_ready_queue;

/** What a strategy (strategy.h) keeps with a VP; all of it the owner's but what is tagged. */
struct mt_vp_strategy {
  struct mt_ready_queue *holds; /* the queue whose lock this VP holds; its list may be lent */
  struct mltp_thread *free;     /* free descriptors, linked by next; strategy_freelist.c */
  uint32_t free_count;
  uint8_t waits;              /* it has entered the idle queue, and not left; strategy_idleq.c */
  uint8_t queued;             /* [atomic] written under the idle queue's lock: it is there */
  struct mt_vp *idle_next;    /* [lock: idle queue] */
  struct mltp_thread *spare;  /* a descriptor, while it is in the idle queue: who takes it out's */
  struct mltp_thread *handed; /* [atomic] its flag: the thread it was waiting for */
  struct mt_vp *hands_to;     /* the idle VP that gets the thread being created */
};

/** What a VP knows of the recursions on it (fork_join.h). */
struct mt_paths {
  uint64_t fresh_at; /* when a fresh thread last got a joiner's turn, ns */
  int interrupted;   /* joiners it has interrupted, less those that continued here */
  bool fresh_turn;   /* a fresh thread has a joiner's turn since the last check */
};

struct mt_vp {
  struct mt_runq runq;

  /* [owner] all of this line; tick is read by others */
  alignas(MT_CACHE_LINE) uint32_t tick; /* [atomic] scheduling points so far, modulo 2^32 */
  uint32_t check_at;                    /* the tick at which to look at timers and the rest */
  uint32_t index;                       /* [const] */
  uint32_t clock;                       /* [atomic] mt_clock() when last read; relaxed */
  uint8_t probe;                        /* go to the idle context: it has to check */
  uint8_t searching;                    /* this VP is counted in mt_rt.searching */
  uint8_t is_watchdog_round;            /* got up as the watchdog; idle.c */
  uint8_t inbox_polls;                  /* so many times it may poll_inbox for its inbox; idle.c */
  uint32_t jumped_at;                   /* the tick at which a thread was put in front */
  uint8_t after;                        /* MT_AFTER_...: mostly 0 */
  int *errno_at;                        /* this kernel thread's errno */
  struct mt_eh_globals *eh_at;          /* this kernel thread's C++ exception state */
  uint32_t own_fp;                      /* 1: the FP control is the current thread's own */
  mt_ilock *after_unlock;               /* after the switch: release this guard */
  struct mt_stack *after_stack;         /* after the switch: free this stack */
  struct mltp_thread *after_home;       /* after the switch: post it to VP 0 */

  struct arch_fp fp;           /* [owner] of all other threads here, while own_fp */
  uint32_t skipped_victims;    /* [owner] times its search saw what it left to others move */
  uint32_t stolen_count;       /* [owner] threads of its last theft, not judged yet */
  uint64_t stolen_at;          /* [owner] when that was */
  struct mt_paths paths;       /* [owner] */
  struct mt_cache descriptors; /* [owner] */
  struct mt_cache stacks;      /* [owner] of the default size */
  uint64_t next_id, last_id;   /* [owner] block of thread ids */
  uint32_t seed;               /* [owner] of its random numbers */
  struct mt_stats stats;       /* [owner] writes */
  struct mt_vp_strategy strategy;

  alignas(MT_CACHE_LINE) mt_ilock timer_ilock;
  struct mt_heap timers;   /* [ilock: timer_ilock] */
  uint64_t timer_earliest; /* [atomic] key of its root, MLTP_NEVER when empty; timer.c */

  alignas(MT_CACHE_LINE) uint32_t wake; /* [atomic] futex: 1: get up */
  uint32_t status;                      /* [atomic] enum mt_vp_status; idle.c */
  bool rests;                           /* [ilock: mt_rt.idle_ilock] has looked before it sleeps */
  struct mt_vp *sleeper_next;           /* [ilock: mt_rt.idle_ilock] */
  struct os_affinity affinity;          /* [ilock: mt_rt.idle_ilock] while it sleeps */
  uint32_t place;                       /* [atomic] where it was when it last looked; near.c */
  uint32_t watched_tick;                /* [atomic] its tick when a search last saw it with */
  uint64_t watched_since;               /* a lone ready thread, and since when; relaxed */
  pthread_t kernel_thread;              /* [const] */
  struct mt_sanitizer dead;             /* after the switch: end this context */
  struct mt_spin_node spin;             /* [owner] for spin locks of whatever runs here */
  struct mltp_thread idle;              /* its own context */
};

/** libstdc++'s and libc++abi's per-thread exception state (Itanium C++ ABI 2.2.2). */
struct mt_eh_globals {
  void *caught;
  unsigned int uncaught;
};

/** The runtime; there is one. */
struct mt_runtime {
  uint32_t running;         /* [atomic] 1: between init and finalize */
  uint32_t stopping;        /* [atomic] 1: VPs other than 0 have to end */
  uint32_t forked;          /* [const] 1: a child of fork(), without a runtime yet */
  struct mltp_thread *main; /* [const] */
  const char *main_low;     /* [const] bounds of main's stack */
  size_t main_size;
  struct mt_vp *vps[MT_VPS_MAX]; /* [atomic] entries below vp_count are constant */
  uint32_t vp_count;             /* [atomic] kernel threads made; grows under idle_ilock */
  int wanted;                    /* [atomic] what mltp_set_vps() asked for */
  int cpus;                      /* [const] as many VPs as are woken to run what is ready */
  int stack_class;               /* [const] log2 of the default stack size */
  mt_ilock spawn_ilock;          /* held while a VP is made; rank above idle_ilock */

  /* awake, searching, sleeping: idle.c */
  alignas(MT_CACHE_LINE) int target; /* [atomic] VPs that may be awake */
  int awake;                         /* [atomic] written under idle_ilock */
  uint32_t searching;                /* [atomic] VPs that look for work */
  uint32_t sleeping;                 /* [atomic] VPs in the list of sleepers */
  uint32_t wake_threshold;           /* [atomic] so many ready threads on a VP wake nobody */
  uint32_t unpaid_thefts; /* [atomic] in a row that did not pay; at most UNPAID_THEFTS_MAX */
  uint32_t apart;         /* [atomic] 1: not all VPs were seen to share a cache */

  alignas(MT_CACHE_LINE) mt_ilock idle_ilock;
  int blocked;                   /* [atomic] VPs inside mltp_blocking_begin/end; under idle_ilock */
  int blocked_in_locks;          /* [atomic] those that wait for a semaphore lock, no deadline */
  struct mt_vp *sleepers;        /* [ilock: idle_ilock] last in, first out */
  struct mt_vp *watchdog;        /* [ilock: idle_ilock] */
  uint64_t watchdog_deadline;    /* [ilock: idle_ilock] when the watchdog gets up */
  struct mltp_thread *finalizer; /* [atomic] main, waiting until it is alone; life.c */
  uint32_t wake_count;           /* [ilock: idle_ilock] VPs woken so far */
  uint32_t failed_searches;      /* [atomic] since the last theft; at most FAILED_SEARCHES_MAX */
  uint64_t asleep_since;         /* [ilock: idle_ilock] when the last awake VP lay down */
  uint32_t checked_at;           /* [ilock: idle_ilock] wake_count at the last deadlock check */

  /* threads not on VPs */
  alignas(MT_CACHE_LINE) uint64_t created_elsewhere; /* [atomic] by bound and foreign threads */
  uint64_t ended_elsewhere;                          /* [atomic] bound threads that ended */
  uint32_t bound_live;        /* [atomic] kernel threads of bound threads; outside.c */
  uint32_t foreign_live;      /* [atomic] foreign threads seen */
  uint32_t outside_parked;    /* [atomic] bound and foreign ones parked */
  uint64_t outside_awaits[3]; /* [atomic] as mt_stats.awaits */
  uint32_t next_vp;           /* [atomic] whose turn for their creations */
  mt_ilock outside_timeouts;  /* held while one of them times out, or a thread is cancelled */
};

extern struct mt_runtime mt_rt;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file parts.h
 * The virtual processor: one structure for each subsystem that keeps state with a VP. The order of
 * the parts keeps what a switch touches in few cache lines.
 */
#ifndef MT_CORE_VP_PARTS_H
#define MT_CORE_VP_PARTS_H

#include "base/cache.h"
#include "base/heap.h"
#include "core/thread/thread.h"

enum { MT_VPS_MAX = 1024 };

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
  MT_VP_CAUGHT   /**< blocked in the kernel without an announcement; sched/monitor.h */
};

/** Counters of a VP, each with one writer. */
struct mt_stats {
  uint64_t created, ended; /* threads; also what tells how many live */
  uint64_t parks, stolen, stolen_far, served, sleeps, wakes;
  uint64_t awaits[3]; /* waits for words: by enum mt_await_end */
  uint64_t locks;     /* acquisitions of an alternative scheduler's locks */
};

/** What there is to do after a switch; bits of a VP's `after`. */
enum {
  MT_AFTER_UNLOCK = 1, /**< release after_unlock */
  MT_AFTER_END = 2,    /**< after_stack or after_home: a thread has left for good */
  MT_AFTER_RETURN = 4, /**< give a lent list back; strategy.h */
  MT_AFTER_ARRIVE = 8  /**< a fresh stack is in use now; sched/announce.h */
};

/** libstdc++'s and libc++abi's per-thread exception state (Itanium C++ ABI 2.2.2). */
struct mt_eh_globals {
  void *caught;
  unsigned int uncaught;
};

/** Scheduling points (sched/sched.h). */
struct mt_vp_points {
  uint32_t tick;      /* [atomic] scheduling points so far, modulo 2^32 */
  uint32_t check_at;  /* [owner] the tick at which to look at timers and the rest */
  uint32_t clock;     /* [atomic] mt_clock() when last read; relaxed */
  uint32_t jumped_at; /* [owner] the tick at which a thread was put in front */
  uint8_t probe;      /* [owner] run the idle context next: it has to check */
};

/** Switches between contexts (sched/sched.h). [owner] all of it. */
struct mt_vp_context {
  int *errno_at;                  /* this kernel thread's errno */
  struct mt_eh_globals *eh_at;    /* this kernel thread's C++ exception state */
  mt_ilock *after_unlock;         /* after the switch: release this internal lock */
  uint32_t own_fp;                /* 1: the FP control is the current thread's own */
  uint8_t after;                  /* MT_AFTER_...: mostly 0 */
  struct mt_stack *after_stack;   /* after the switch: free this stack */
  struct mltp_thread *after_home; /* after the switch: post it to VP 0 */
  const char *idle_low;           /* [const] the kernel thread's stack; NULL: VP 0 with main */
  size_t idle_size;               /* [const] */
  struct arch_fp fp;              /* FP control of all other threads here, while own_fp: */
  enum mt_arch_fp_form fp_form;   /* where it is */
};

/** The search for work and the judgement of thefts (sched/idle.c, sched/steal.c). [owner] unless
 * stated. */
struct mt_vp_search {
  uint64_t stolen_at;    /* when the last theft was */
  uint32_t stolen_count; /* threads of the last theft, not judged yet */
  uint32_t skips;        /* threads that its search left to their VPs, and that were gone then */
  uint32_t seed;         /* of its random numbers */
  uint8_t searching;     /* [atomic] counted in mt_rt.idle.searching; written by its waker, too */
  uint8_t is_watchdog_round; /* woke as the watchdog */
  uint8_t inbox_polls;       /* polls of the inbox before a search that are left */
  uint8_t taken_level;       /* how often in a row it lost its CPU while it spun; policy/wait.h */
  uint64_t taken_at;         /* when it last did */
  uint32_t victim_at;        /* position of the VP that it looked at last; sched/steal.c */
  uint8_t line_gap;          /* looks at victims until it times a line again */
  uint8_t backoff;           /* how reluctant it is to steal; policy/backoff.h */
  uint32_t batch;            /* threads that the last delivery made ready here; 0: it is judged */
  uint32_t kept;             /* of them, those for which no other VP need wake */
  uint64_t batch_at;         /* when that was */
  uint64_t batch_taken;      /* how often its kernel thread had lost its CPU when it last looked */
  uint64_t each_ns;          /* how long this VP took for each thread of deliveries */
};

/** What a VP knows of the recursions on it (life/fork_join.h). [owner] all of it. */
struct mt_paths {
  uint64_t fresh_at; /* when a fresh thread last got a joiner's turn, ns */
  int interrupted;   /* joiners it has interrupted, less the ones that continued here */
  bool fresh_turn;   /* a fresh thread has a joiner's turn since the last check */
};

/** Free descriptors and stacks, and thread ids (memory/). [owner] all of it. */
struct mt_vp_caches {
  struct mt_cache descriptors;
  struct mt_cache stacks;    /* of the default size */
  uint64_t next_id, last_id; /* block of thread ids */
};

/** Timers of threads that armed them while they ran here (timer/timer.h). */
struct mt_vp_timers {
  mt_ilock ilock;
  struct mt_heap heap; /* [ilock] */
  uint64_t earliest;   /* [atomic] key of its root, MLTP_NEVER when empty */
  uint32_t batch;      /* [atomic] odd while timers fire; written under ilock */
  bool unwatched; /* [owner] it has nothing to run, and the watchdog may wake up too late for the
                     first timer of all; timer.h */
};

/** Sleeping and waking (sched/wake.h), and what other VPs look at. */
struct mt_vp_sleep {
  uint32_t futex;     /* [atomic] changes when the VP is to wake */
  uint64_t woken_at;  /* [ilock: mt_rt.sleep.ilock] when a waker began to wake it; 0: none did */
  uint32_t status;    /* [atomic] enum mt_vp_status */
  bool computes;      /* [ilock: mt_rt.sleep.ilock] is caught, and counted in mt_rt.idle.company */
  bool rests;         /* [ilock: mt_rt.sleep.ilock] has looked at the queues before it sleeps */
  struct mt_vp *next; /* [ilock: mt_rt.sleep.ilock] next sleeper */
  struct os_affinity affinity; /* [ilock: mt_rt.sleep.ilock] while it sleeps */
  uint32_t locality;           /* [atomic] where it ran when it last looked; vp/locality.c */
  uint32_t watched_tick;       /* [atomic] its tick when a search last saw it with a lone */
  uint64_t watched_since;      /* [atomic] ready thread, and since when; relaxed */
  uint64_t share_look_at;      /* [owner] when it looks at the daemon; sched/share.c */
  uint32_t counted_tick;       /* [owner] its tick when it last did */
};

/** What the monitor knows of the VP (sched/monitor.h). Relaxed: hints, which it checks. */
struct mt_vp_handover {
  struct os_task task;    /* [atomic: tid] its kernel thread */
  uint32_t seen_tick;     /* [atomic] its tick at the last look */
  uint64_t seen_at;       /* [atomic] when a look first saw that tick; 0: none has */
  uint64_t judged_at;     /* [atomic] when the monitor last looked at its kernel thread */
  uint64_t judged_cpu_ns; /* [monitor] CPU time of its kernel thread then */
  uint64_t caught_at;     /* [atomic] since when it is caught: when it was first seen silent */
};

struct mt_vp_alternative;

/** A virtual processor. */
struct mt_vp {
  struct mt_runq runq;

  alignas(MT_CACHE_LINE) struct mt_vp_points points;
  uint32_t index; /* [const] */
  struct mt_vp_context ctx;

  struct mt_vp_search search;
  struct mt_paths paths;
  struct mt_vp_caches caches;
  struct mt_stats stats;                 /* [owner] writes */
  struct mt_vp_alternative *alternative; /* [owner] of an alternative scheduler; NULL: none */

  alignas(MT_CACHE_LINE) struct mt_vp_timers timers;
  alignas(MT_CACHE_LINE) struct mt_vp_sleep sleep;
  struct mt_vp_handover handover;
  pthread_t kernel_thread;        /* [const] */
  const struct os_manner *manner; /* [const] NULL: its creator's */
  struct mt_sanitizer dead;       /* [owner] after the switch: end this context */
  struct mltp_thread idle;        /* its own context */
};

static_assert(offsetof(struct mt_vp, ctx) + offsetof(struct mt_vp_context, after_stack) <
                  offsetof(struct mt_vp, points) + MT_CACHE_LINE,
              "a switch touches one line of the VP beside its run queue");

#endif

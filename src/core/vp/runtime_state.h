/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runtime_state.h
 * The state of the runtime: one structure for each subsystem.
 */
#ifndef MT_CORE_VP_RUNTIME_STATE_H
#define MT_CORE_VP_RUNTIME_STATE_H

#include "core/vp/parts.h"

/** How many VPs may be awake and how many search (sched/wake.h, sched/idle.c). */
struct mt_idle_state {
  int target;              /* [atomic] VPs that may be awake */
  int awake;               /* [atomic] written under mt_rt.sleep.ilock */
  int company;             /* [atomic] caught VPs that compute; written under mt_rt.sleep.ilock */
  uint32_t searching;      /* [atomic] VPs that search for work */
  uint32_t sleeping;       /* [atomic] VPs in the list of sleepers */
  uint32_t wake_threshold; /* [atomic] this many ready threads on a VP wake no sleeper */
  uint32_t localities;     /* [atomic] 1: not all VPs were seen to share a cache */
};

/** The sleepers and the watchdog (sched/wake.h, sched/watchdog.c). */
struct mt_sleep_state {
  mt_ilock ilock;
  int blocked;                /* [atomic] VPs inside mltp_blocking_begin/end; written under ilock */
  int blocked_in_locks;       /* [atomic] VPs that wait for a semaphore lock without a deadline */
  struct mt_vp *sleepers;     /* [ilock] last in, first out */
  struct mt_vp *watchdog;     /* [atomic] written under ilock; awake for a moment at most */
  uint64_t watchdog_deadline; /* [ilock] when the watchdog wakes by itself */
  uint32_t wake_count;        /* [ilock] VPs woken so far */
  uint64_t asleep_since;      /* [ilock] when the last awake VP went to sleep */
  uint32_t checked_at;        /* [ilock] wake_count at the last deadlock check */
  uint32_t noted_at;          /* [ilock] wake_count at mt_vps_note_rest() */
};

enum { MT_HANDOVER_TIMES = 16 };

/** VPs whose threads are handed over (sched/silence.h, sched/monitor.h). */
struct mt_handover_state {
  uint64_t look_at;      /* [atomic] when the next VP that reads the clock looks at the others */
  uint64_t silent_ns;    /* [atomic] so long a VP may be silent; relaxed: a hint */
  struct os_alarm alarm; /* [const while there are VPs] of the monitor */
  bool prepared;         /* [init] the alarm is made */
  pthread_t monitor;     /* [const while it runs] */
  int task;              /* [atomic] the monitor's kernel thread; 0: none yet; relaxed */
  bool runs;             /* [atomic] there is a monitor */
  bool ends;             /* [atomic] the monitor has to end */
  bool rests;            /* [atomic] the alarm is not set: no VP is awake */
  bool carries;          /* [atomic] the monitor may have ready threads that are in no queue */
  uint64_t count;        /* [atomic] hand-overs so far; relaxed */
  uint64_t wakeups;      /* [atomic] times the monitor woke; relaxed */
  /* [atomic] after[n]: hand-overs of VPs that had been seen silent for less than 2^n ms, and not
   * for less than half of that; the last one counts all longer ones. relaxed */
  uint64_t after[MT_HANDOVER_TIMES];
};

struct mt_poller;

/** Descriptors that threads wait for (vp/poller.h, sched/poll.h). */
struct mt_poll_state {
  const struct mt_poller *poller; /* [atomic] NULL: no thread has waited for one; written under
                                     sleep.ilock */
  struct mt_vp *sleeper;          /* [atomic] the VP that sleeps in it; written under sleep.ilock */
  uint32_t busy;                  /* [atomic] 1: a thread looks at it, without sleeping */
  uint64_t polled_at;             /* [atomic] when a thread last did; relaxed: a hint */
  struct mt_vp *keeps;  /* [atomic] runs a delivery alone, and looks next; relaxed: a hint */
  uint64_t keeps_until; /* [atomic] at most; relaxed: a hint */
  uint64_t taken_at;    /* [atomic] when a VP last lost its CPU while it ran a delivery; relaxed */
  uint8_t taken_level;  /* [atomic] how often in a row that was; policy/wait.h; relaxed */
  uint32_t waiters;     /* [owner] of the VP of deterministic mode: threads that wait */
  void (*idle)(bool sleeps); /* [atomic] mti_set_idle_hook(); NULL: none */
  uint32_t tasks; /* [atomic] kernel threads of src/io; relaxed: for the deadlock report */
};

/** Threads that do not run on VPs (life/outside.c). */
struct mt_outside_state {
  uint64_t created;      /* [atomic] threads created by bound and foreign threads */
  uint64_t ended;        /* [atomic] bound threads that ended */
  uint32_t bound_live;   /* [atomic] kernel threads of bound threads */
  uint32_t foreign_live; /* [atomic] foreign threads seen */
  uint32_t bystanders;   /* [atomic] of them, threads that make none ready; relaxed: a count */
  uint32_t parked;       /* [atomic] bound and foreign threads that are parked */
  uint32_t in_locks;     /* [atomic] of them, those asleep on the futex of a lock */
  uint64_t awaits[3];    /* [atomic] as mt_stats.awaits */
  uint32_t next_vp;      /* [atomic] which VP gets the next thread that they create */
  mt_ilock timeouts;     /* held while one of them times out, or a thread is cancelled */
};

/** The runtime; there is one. */
struct mt_runtime {
  uint32_t running;         /* [atomic] 1: between init and finalize */
  uint32_t stopping;        /* [atomic] 1: VPs other than 0 have to end */
  uint32_t main_is_bound;   /* [const] 1: main is on no VP, though there are some */
  uint32_t forked;          /* [const] 1: a child of fork(), without a runtime yet */
  struct mltp_thread *main; /* [const] */
  const char *main_low;     /* [const] bounds of main's stack */
  size_t main_size;
  struct mt_vp *vps[MT_VPS_MAX]; /* [atomic] entries below vp_count are constant */
  uint32_t vp_count;             /* [atomic] kernel threads made; grows under spawn_ilock */
  int wanted;                    /* [atomic] what mltp_set_vps() asked for */
  int most;                      /* [atomic] VPs awake at most, without a daemon's grant */
  bool hungry;                   /* [atomic] written under sleep.ilock: work waits for a grant */
  bool ring_due;                 /* [atomic] the daemon has to hear of a report; sched/share.c */
  int cpus;                      /* [const] CPUs this process could use at the start */
  int woken_most;                /* [const] this many VPs are woken to run what is ready */
  struct mltp_thread *finalizer; /* [atomic] main, which waits for all others; life/runtime.c */
  int stack_class;               /* [const] log2 of the default stack size */
  mt_ilock spawn_ilock;          /* held while a VP is made; rank above sleep.ilock */
  uint32_t timers_firing;        /* [atomic] VPs that fire timers now; timer/timer.c */

  alignas(MT_CACHE_LINE) struct mt_idle_state idle;
  alignas(MT_CACHE_LINE) struct mt_sleep_state sleep;
  alignas(MT_CACHE_LINE) struct mt_outside_state outside;
  alignas(MT_CACHE_LINE) struct mt_handover_state handover;
  alignas(MT_CACHE_LINE) struct mt_poll_state poll;
};

extern struct mt_runtime mt_rt __attribute__((visibility("hidden")));

/** @return why a call cannot be served, and what to do: for messages. */
const char *mt_not_running(void);

/** @return whether every VP still sleeps as when the watchdog began to suspect a deadlock: none has
 * been awake since, and none is blocked in the kernel but in a lock of ours. Also when there are no
 * VPs. */
bool mt_vps_still_rest(void);

/** The same, and notes it if so: no thread can run, and no timer is set.
 * @return whether it is so */
bool mt_vps_note_rest(void);

/** @return whether no VP has been awake since mt_vps_note_rest(). A timer that was set since then
 * was set by a VP. Not without VPs: mt_all_parked() tells about bound threads. */
bool mt_vps_rest_as_noted(void);

/** @return whether there is a runtime. Without one nobody waits and no timer is set: C++
 * destroys its static objects then. */
static inline bool mt_is_up(void) {
  return mt_load_relaxed(&mt_rt.running) != 0; /* relaxed: a waiter keeps it up */
}

/** The bounds of a stack that is not one of ours: a bound or foreign thread's, or main's. */
static inline void mt_native_stack(const struct mltp_thread *t, const char **low, size_t *size) {
  bool is_main = t->kind == MT_UNBOUND;
  *low = is_main ? mt_rt.main_low : t->stack_low;
  *size = is_main ? mt_rt.main_size : t->stack_size;
}

#endif

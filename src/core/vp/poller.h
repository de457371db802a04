/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file poller.h
 * The hook of src/io: what the scheduler calls so that threads that wait for descriptors run again.
 * There is none until a thread waits for a descriptor, so programs without I/O pay one load where a
 * VP looks at its timers.
 */
#ifndef MT_CORE_VP_POLLER_H
#define MT_CORE_VP_POLLER_H

#include "core/vp/vp.h"

/** Taken from the kernel at a time. A VP that finds as many leaves some to another VP, so a small
 * number wakes that VP too soon. They lie on the idle context's stack, which has 16 KiB or more. */
enum { MT_POLL_EVENTS = 512 };

/** Changes of readiness, between the wait for them and their delivery. */
struct mt_poll_batch {
  int count;
  struct epoll_event events[MT_POLL_EVENTS];
};

/** What a poller does. */
struct mt_poller {
  /** Waits for changes until a deadline; 0: does not wait. */
  void (*wait)(struct mt_poll_batch *batch, uint64_t deadline);
  /** Makes the threads ready that wait for these changes: on the calling VP `here`; NULL: where
   * they ran last. */
  void (*deliver)(const struct mt_poll_batch *batch, struct mt_vp *here);
  /** Ends the wait of the VP that sleeps in it. */
  void (*interrupt)(void);
  /** The runtime ends, after all threads: ends the kernel threads that resume threads. The last of
   * them may still be about to wake a VP, so it comes before VPs are freed. */
  void (*stop_tasks)(void);
  /** The runtime ends: after VPs, which sleep in the poller. */
  void (*stop)(void);
  /** In a child of fork(). */
  void (*forget)(void);
};

/** @return the poller; NULL: no thread has waited for a descriptor. */
static inline const struct mt_poller *mt_poller(void) {
  return mt_load_acquire(&mt_rt.poll.poller); /* IO-2 acquire: what it uses; pairs IO-1 */
}

/** @return whether another VP runs a short delivery now, and looks when it is done. */
static inline bool mt_poll_is_left(const struct mt_vp *here, uint64_t now) {
  const struct mt_vp *keeps = mt_load_relaxed(&mt_rt.poll.keeps); /* relaxed: a hint */
  /* relaxed: hints, good for some wake-ups' time */
  return keeps != NULL && keeps != here && mt_load_relaxed(&keeps->sleep.status) == MT_VP_AWAKE &&
         now < mt_load_relaxed(&mt_rt.poll.keeps_until);
}

/** @return whether the ready threads of a VP are left to it: it will have run them before another
 * could. */
static inline bool mt_poll_keeps(const struct mt_vp *vp) {
  /* relaxed: hints, and a VP that leaves its threads to others stores its status first */
  return mt_load_relaxed(&mt_rt.poll.keeps) == vp &&
         mt_load_relaxed(&vp->sleep.status) == MT_VP_AWAKE &&
         os_now() < mt_load_relaxed(&mt_rt.poll.keeps_until);
}

/** Calls the function that idle VPs call, if there is one. sleeps: the VP is about to sleep. */
static inline void mt_idle_hook(bool sleeps) {
  void (*hook)(bool) = mt_load_relaxed(&mt_rt.poll.idle); /* relaxed: set before VPs need it */
  if (mt_unlikely(hook != NULL)) hook(sleeps);
}

/** Wakes a VP whose sleep.futex was changed under sleep.ilock, wherever it sleeps. A VP that has
 * left the poller since is awake, or has seen the change. */
static inline void mt_vp_rouse(struct mt_vp *vp) {
  /* relaxed: written under sleep.ilock, which the caller has held since the VP went to sleep */
  if (mt_load_relaxed(&mt_rt.poll.sleeper) == vp)
    mt_poller()->interrupt();
  else
    os_futex_wake(&vp->sleep.futex, 1);
}

#endif

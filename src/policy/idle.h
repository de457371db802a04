/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file idle.h
 * Decides how many VPs are awake: how long an idle VP searches, when it sleeps, and when a sleeper
 * wakes.
 */
#ifndef MT_POLICY_IDLE_H
#define MT_POLICY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/** After a poll that found a thread in the inbox, a VP only polls the inbox in this number of idle
 * moments; then it does the rest of its duties once. */
enum { MT_INBOX_POLLS = 64 };

/** After a look for a deadlock that found none, ns. */
#define MT_RECHECK_NS ((uint64_t)1000000000)

/** How many VPs there are in each state. */
struct mt_vps_seen {
  int64_t awake;  /**< VPs awake */
  int64_t target; /**< that may be awake */
  int64_t cpus;   /**< that can run at a time */
  int64_t ending; /**< 1: the runtime stops, so VP 0 has to wake whatever the limits are */
};

/** @return whether more VPs are awake than may be. */
static inline bool mt_vps_over_target(struct mt_vps_seen seen) { return seen.awake > seen.target; }

/** @return whether more VPs are awake than there are CPUs. */
static inline bool mt_vps_crowded(struct mt_vps_seen seen) { return seen.awake > seen.cpus; }

/** @return whether one VP more may wake to run what is ready. Beyond the CPUs only the watchdog
 * wakes: a VP whose kernel thread waits for a CPU seems to neglect its threads, and a helper would
 * take that CPU from it. */
static inline bool mt_vps_may_wake_one(struct mt_vps_seen seen) {
  return (seen.awake < seen.cpus || seen.ending) && seen.awake < seen.target;
}

/** What an idle VP knows when its search begins. */
struct mt_idle_seen {
  struct mt_vps_seen vps;
  uint64_t outside; /**< 1: threads outside of VPs may make others ready */
  uint64_t spin_ns; /**< MT_IDLE_SPIN_NS */
};

/** @return how long the VP searches, ns: not at all where nobody could bring work, or another VP
 * needs the CPU. */
static inline uint64_t mt_idle_spin_ns(struct mt_idle_seen seen) {
  bool others = seen.vps.awake > 1 || seen.outside;
  return others && !mt_vps_crowded(seen.vps) ? seen.spin_ns : 0;
}

/** What a VP sees after it has joined the sleepers. */
struct mt_sleep_seen {
  uint64_t own_ready; /**< 1: it has ready threads itself */
  uint64_t ending;    /**< 1: the runtime stops */
  uint64_t may_wake;  /**< 1: one VP more may be awake */
  uint64_t futile;    /**< 1: its search could not get what it saw (backoff.h) */
  uint64_t waiting;   /**< 1: a thread is ready in another queue */
};

/** @return whether the VP has to stay awake, because nobody else is sure to see that work. */
static inline bool mt_sleep_is_refused(struct mt_sleep_seen seen) {
  if (seen.own_ready || seen.ending) return true;
  return seen.may_wake && !seen.futile && seen.waiting;
}

/** What a VP sees that has made threads ready whose descriptors are ready. */
struct mt_batch_seen {
  uint64_t count;   /**< such threads */
  uint64_t most;    /**< that one look can find */
  uint64_t each_ns; /**< how long it took for each of earlier ones; 0: not known */
  uint64_t wake_ns; /**< how long a wake-up takes */
  uint64_t taken;   /**< 1: other programs took the CPU of such VPs, not long ago */
};

enum { MT_BATCH_WAKES = 16 };

/** What a VP runs alone at most where other programs want the CPUs, ns: some time slice of the
 * kernel's. */
#define MT_BATCH_TAKEN_NS ((uint64_t)4000000)

/** @return whether the VP runs them alone: it is done before another VP would pay. A VP that wakes
 * for a few short threads shares their sockets between CPUs, searches, and sleeps again, and an
 * echo server then needs half as much CPU time again. Where other programs want the CPUs, it would
 * also take its CPU from one of them, or from the first VP. */
static inline bool mt_batch_is_kept(struct mt_batch_seen seen) {
  if (seen.each_ns == 0) return false;
  if (seen.taken) return seen.count * seen.each_ns < MT_BATCH_TAKEN_NS;
  return seen.count < seen.most && seen.count * seen.each_ns < MT_BATCH_WAKES * seen.wake_ns;
}

/** @return for how long a kept batch is left to its VP, ns: twice what it should take. */
static inline uint64_t mt_batch_kept_ns(struct mt_batch_seen seen) {
  return 2 * seen.count * seen.each_ns;
}

/** @return the mean of earlier times and the last, which counts as twice their mean at most: a VP
 * that lost its CPU meanwhile measures the time slice of another program. */
static inline uint64_t mt_batch_each_ns(uint64_t before, uint64_t last) {
  if (before == 0) return last + 1;
  return (3 * before + (last < 2 * before ? last : 2 * before)) / 4 + 1;
}

/** What a VP sees that has made threads ready. */
struct mt_wake_seen {
  uint64_t searching; /**< VPs that search, and will find the threads */
  uint64_t ready;     /**< ready threads in the queue */
  uint64_t threshold; /**< up to this number of ready threads wakes no sleeper */
};

/** @return whether to wake a sleeper, if there is one. */
static inline bool mt_wake_is_due(struct mt_wake_seen seen) {
  return seen.searching == 0 && seen.ready > seen.threshold;
}

#endif

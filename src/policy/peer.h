/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file peer.h
 * Decides when a VP that waits for one message after another stays on its peer's CPU.
 *
 * A server and a client that wait for each other use one CPU at a time. If each has a CPU for
 * itself, every message wakes a CPU that has nothing to do, and in a virtual machine that costs
 * some times as much as to answer a short request. The kernel puts both on one CPU only by chance,
 * but leaves them there. So the VP sleeps some times where its peer is, and then as before.
 *
 * Whether it pays is measured: of a client that does not wait, requests come no sooner.
 */
#ifndef MT_POLICY_PEER_H
#define MT_POLICY_PEER_H

#include <stdbool.h>
#include <stdint.h>

/** Messages that lie further apart wake their VP seldom enough, ns. */
#define MT_PEER_PAUSE_NS ((uint64_t)1000000)

enum {
  MT_PEER_LOOK = 16,  /**< lone deliveries before a look at the peer's CPU, at least */
  MT_PEER_STAY = 32,  /**< sleeps on the peer's CPU, at first: some time slices of an idle CPU's
                           host, which takes the CPU away meanwhile */
  MT_PEER_LEVELS = 7, /**< the number of sleeps doubles so often at most, */
  MT_PEER_MISSES = 10 /**< and that of deliveries before a look */
};

/** What a VP sees that slept until descriptors became ready. */
struct mt_peer_seen {
  uint64_t count;    /**< descriptors */
  uint64_t others;   /**< 1: another VP or thread woke it, too */
  uint64_t since_ns; /**< since the last delivery */
};

/** @return whether it may have one peer, which waits for it as it waits for the peer. */
static inline bool mt_peer_is_lone(struct mt_peer_seen seen) {
  return seen.count == 1 && !seen.others && seen.since_ns < MT_PEER_PAUSE_NS;
}

/** @return how many lone deliveries come before the next look. Two VPs that are peers of each other
 * must not look and move at the same time, so part of it is random. */
static inline uint32_t mt_peer_look_after(uint32_t misses, uint32_t random) {
  return (MT_PEER_LOOK + random % MT_PEER_LOOK) << misses;
}

/** @return for how many sleeps it stays on the peer's CPU. */
static inline uint32_t mt_peer_stay(uint32_t level) { return (uint32_t)MT_PEER_STAY << level; }

/** @return the next level: longer if they have come apart again since the last stay. */
static inline uint8_t mt_peer_level(uint8_t level, bool apart) {
  if (!apart) return level > 0 ? (uint8_t)(level - 1) : 0;
  return level < MT_PEER_LEVELS ? (uint8_t)(level + 1) : MT_PEER_LEVELS;
}

/** @return the stays in a row that did not pay: messages did not come sooner, by a share that is no
 * chance. */
static inline uint8_t mt_peer_misses(uint8_t misses, uint64_t apart_ns, uint64_t stay_ns) {
  if (stay_ns < apart_ns - apart_ns / 8) return 0;
  return misses < MT_PEER_MISSES ? (uint8_t)(misses + 1) : MT_PEER_MISSES;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wait.h
 * Decides whether a thread that waits spins before it parks, and how a lock's waiter spaces its
 * looks.
 */
#ifndef MT_POLICY_WAIT_H
#define MT_POLICY_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/** What a thread knows when its wait begins. */
struct mt_wait_seen {
  uint64_t spin_ns;    /**< how long spinning may pay; 0: never */
  uint64_t affinity;   /**< 1: it waited on this VP the last time, too */
  uint64_t waker_runs; /**< 1: a thread that can end the wait runs */
  uint64_t fixed_ns;   /**< spin this long whatever the rest says; 0: as the rest says */
};

/** @return how long the waiter spins, ns; 0: it parks at once (TMPI-2, section 4). */
static inline uint64_t mt_wait_spin_ns(struct mt_wait_seen seen) {
  if (seen.fixed_ns != 0) return seen.fixed_ns;
  return seen.affinity && seen.waker_runs ? seen.spin_ns : 0;
}

/** A spinner that does not run for this time has lost its CPU to another program, ns: longer than
 * an interrupt takes, shorter than a time slice. */
#define MT_TAKEN_NS ((uint64_t)500000)

/** A spinner that has lost its CPU spins briefly for this time, ns, doubled for each loss in a row:
 * a program that computes beside it then loses less than a twentieth of its CPU. */
#define MT_TAKEN_REST_NS ((uint64_t)20000000)

enum { MT_TAKEN_MOST = 6 };

/** What a thread knows when it begins to wait on a VP that it has for itself. */
struct mt_alone_seen {
  uint64_t crowded;  /**< 1: more VPs are awake than there are CPUs */
  uint64_t level;    /**< times in a row that a spinner on this VP lost its CPU */
  uint64_t since_ns; /**< since the last time */
  uint64_t brief_ns; /**< MT_IDLE_SPIN_NS */
  uint64_t long_ns;  /**< MT_ALONE_SPIN_NS */
};

/** @return whether the last loss of the CPU is too recent to try again. */
static inline bool mt_alone_rests(struct mt_alone_seen seen) {
  return seen.level != 0 && seen.since_ns < MT_TAKEN_REST_NS << seen.level;
}

/** @return how long it spins, ns: long while no other program wants the CPU. */
static inline uint64_t mt_alone_spin_ns(struct mt_alone_seen seen) {
  if (seen.crowded) return 0;
  return mt_alone_rests(seen) || seen.long_ns < seen.brief_ns ? seen.brief_ns : seen.long_ns;
}

/** @return the level after one more loss: it begins anew if the last one was long ago. */
static inline uint8_t mt_alone_level(struct mt_alone_seen seen) {
  bool in_a_row = seen.level != 0 && seen.since_ns < MT_TAKEN_REST_NS << (seen.level + 1);
  if (!in_a_row) return 1;
  return (uint8_t)(seen.level < MT_TAKEN_MOST ? seen.level + 1 : MT_TAKEN_MOST);
}

/** @return how long a thread sleeps at most between two tests in a row, ns, after a yield in which
 * other programs had its CPU: as long as another yield would take, within a bound. */
static inline uint64_t mt_doze_ns(uint64_t yield_ns) {
  return yield_ns < MT_TAKEN_REST_NS ? yield_ns : MT_TAKEN_REST_NS;
}

enum {
  MT_LOCK_GAP_FIRST = 2,  /* pauses from a lock's look to the next one; each gap is twice the one */
  MT_LOCK_GAP_MOST = 16,  /* before, up to this: frequent looks keep the holder from its release */
  MT_LOCK_SHORT_LOOKS = 4 /* a section that outlasts these looks is no short one */
};

/** @return twice as many pauses, within a bound; at least one. */
static inline uint32_t mt_pauses_twice(uint32_t pauses, uint32_t most) {
  uint32_t twice = pauses != 0 ? 2 * pauses : 1;
  return twice < most ? twice : most;
}

/** What a thread has learned about answers to what it sends. */
struct mt_reply {
  uint32_t delay; /**< pauses after which an answer is there */
  uint32_t waits; /**< for answers so far */
};

enum {
  MT_REPLY_PROBE = 8, /* waits: one of them looks earlier, as answers may come earlier by now */
  MT_REPLY_PART = 12, /* of the delay: so much earlier, but at least a pause */
  MT_REPLY_LOOKS = 12 /* an answer that outlasts these looks comes late */
};

/** @return pauses before the next wait's first look. */
static inline uint32_t mt_reply_first(struct mt_reply reply) {
  bool probes = reply.waits % MT_REPLY_PROBE == 0;
  return probes ? reply.delay - (reply.delay + MT_REPLY_PART - 1) / MT_REPLY_PART : reply.delay;
}

/**
 * A look that comes too early takes the line from the CPU that is about to write the answer there,
 * so the answer needs one transfer more. A look that comes too late costs what it is late.
 * @param first pauses before the first look
 * @param looks until the answer was there; more than MT_REPLY_LOOKS: it was not
 * @param most MT_REPLY_PAUSES
 * @return what the thread knows after the wait. Found by the first look, the delay is what it was;
 * found soon, it is a pause longer, unless the wait was one that looks earlier; not found, it is
 * half, since there is little to gain.
 */
static inline struct mt_reply mt_reply_learned(struct mt_reply reply, uint32_t first,
                                               uint32_t looks, uint32_t most) {
  struct mt_reply next = {reply.delay, reply.waits + 1};
  if (looks == 1)
    next.delay = first;
  else if (looks > MT_REPLY_LOOKS)
    next.delay = reply.delay / 2;
  else if (first == reply.delay && first < most)
    next.delay = first + 1;
  return next;
}

/** What a waiter found that has acquired a lock by spinning. */
struct mt_lock_seen {
  uint64_t delay; /**< pauses before its first look */
  uint64_t looks; /**< looks until the lock was free */
  uint64_t most;  /**< MT_LOCK_DELAY_PAUSES */
};

/**
 * @return the delay of the next waiter. The first look tells how busy the lock is, the next ones
 * how long its sections are: free at once, a quarter less; free soon, twice as much, since each
 * look takes the line from the holder; held for long, half, since there is little to gain.
 */
static inline uint32_t mt_lock_delay(struct mt_lock_seen seen) {
  uint32_t delay = (uint32_t)seen.delay;
  if (seen.looks == 1) return delay - delay / 4;
  if (seen.looks > MT_LOCK_SHORT_LOOKS) return delay / 2;
  return mt_pauses_twice(delay + 1, (uint32_t)seen.most);
}

/** What a lock's waiter found that has acquired it on the processor, and what the lock knows. */
struct mt_lock_fight_seen {
  uint64_t level;    /**< how sure the lock is that its holders acquire it again at once */
  uint64_t since_ns; /**< since the last acquisition of this kind */
  uint64_t delay;    /**< pauses before the waiter's first look */
  uint64_t looks;    /**< looks until the lock was free */
  uint64_t most;     /**< MT_LOCK_DELAY_PAUSES */
  uint64_t spin_ns;  /**< MT_LOCK_SPIN_NS */
  uint64_t nap_ns;   /**< MT_IDLE_SPIN_NS */
};

enum {
  MT_LOCK_NAP_LEVEL = 8,   /* from this level on waiters sleep: below it, the level is a count */
  MT_LOCK_LEVEL_MOST = 31, /* of five bits */
  MT_LOCK_LEVEL_STEP =
      2 /* down for a sleep after which the lock was free at once, or held for long */
};

/**
 * @return the lock's next level. Where two threads acquire a lock again and again, the learned
 * delay is long, and a waiter that spins for it only uses its CPU. Such a lock is acquired after
 * long delays many times in a row, without a pause between. Its waiters sleep instead. They spin
 * again when nobody has waited for some time, and after twelve sleeps in a row that say otherwise:
 * the lock was free at once, or its section was long. One such sleep may be chance.
 */
static inline uint32_t mt_lock_level(struct mt_lock_fight_seen seen) {
  bool naps = seen.level >= MT_LOCK_NAP_LEVEL;
  uint64_t pause_ns = 8 * seen.spin_ns + (naps ? 4 * seen.nap_ns : 0);
  bool fits = seen.looks > 1 && seen.looks <= MT_LOCK_SHORT_LOOKS;
  if (seen.since_ns > pause_ns) return 0;
  if (naps) return fits ? MT_LOCK_LEVEL_MOST : (uint32_t)seen.level - MT_LOCK_LEVEL_STEP;
  if (seen.looks > MT_LOCK_SHORT_LOOKS || seen.delay <= seen.most / 2) return 0;
  return seen.level + 1 < MT_LOCK_NAP_LEVEL ? (uint32_t)seen.level + 1 : MT_LOCK_LEVEL_MOST;
}

#endif

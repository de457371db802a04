/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file options.h
 * Every knob is one row of one table (options.c), which makes the environment
 * variable, `mltp options` and the man page.
 */
#ifndef MT_BASE_OPTIONS_H
#define MT_BASE_OPTIONS_H

#include <stdint.h>

enum mt_backend {
  MT_BACKEND_NATIVE,
  MT_BACKEND_UCONTEXT,
  MT_BACKEND_KERNEL,
  MT_BACKEND_ANNOUNCED /**< native, with announcements to AddressSanitizer; sched/announce.h */
};
enum mt_sched {
  MT_SCHED_DEFAULT,
  MT_SCHED_SINGLE,
  MT_SCHED_MULTI,
  MT_SCHED_FREELIST,
  MT_SCHED_IDLEQ,
  MT_SCHED_LOCAL
};
enum mt_oversubscribe { MT_OVERSUBSCRIBE_NOT, MT_OVERSUBSCRIBE, MT_OVERSUBSCRIBE_EAGER };
enum mt_on_deadlock { MT_DEADLOCK_ABORT, MT_DEADLOCK_REPORT, MT_DEADLOCK_OFF };
enum mt_on_misuse { MT_MISUSE_ABORT, MT_MISUSE_ERROR };

/** How a spin lock waits; src/spin has a file for each. */
enum mt_spin_kind {
  MT_SPIN_EXCHANGE,
  MT_SPIN_READ,
  MT_SPIN_BACKOFF,
  MT_SPIN_PERSISTENT,
  MT_SPIN_ARRAY,
  MT_SPIN_MCS,
  MT_SPIN_CLH,
  MT_SPIN_KINDS
};

/** The time follows from what is measured (policy/tuning.h). */
enum { MT_MEASURED = -1 };

/** When a VP compares its grant with what it follows (core/sched/share.h). */
enum mt_probe { MT_PROBE_EAGER, MT_PROBE_LATE };

/** What the main thread is. */
enum mt_main { MT_MAIN_UNBOUND, MT_MAIN_BOUND };

/** Stacks of parked threads keep their memory. */
enum { MT_PACK_OFF = -1 };

enum mt_guard { MT_GUARD_AUTO, MT_GUARD_MADVISE, MT_GUARD_MPROTECT, MT_GUARD_CANARY };

/** The knobs, as numbers. Written by mt_options_read() before the runtime's
 * other kernel threads exist, constant afterwards. */
struct mt_options {
  int64_t vps;           /**< 0: as many as CPUs */
  int64_t backend;       /**< enum mt_backend */
  int64_t main;          /**< enum mt_main */
  int64_t sched;         /**< enum mt_sched: the strategy (alternatives/strategy/strategy.h) */
  int64_t probe;         /**< enum mt_probe */
  int64_t oversubscribe; /**< enum mt_oversubscribe: whether active VPs may exceed CPUs */
  int64_t stack_size;    /**< bytes */
  int64_t stack_space;   /**< bytes; 0: what the address space allows */
  int64_t guard;         /**< enum mt_guard */
  int64_t pack_ms;       /**< how long a thread is parked before its stack is packed, or
                            MT_PACK_OFF */
  int64_t spin_us;       /**< how long an idle VP looks for work, or MT_MEASURED */
  int64_t cache_share;   /**< CPUs that share a cache; 0: as the kernel says */
  int64_t spin; /**< enum mt_spin_kind of strategies' locks (alternatives/spin/spinlock.h) */
  int64_t lock; /**< mltp_lock_class_t of MLTP_LOCK_STANDARD */
  int64_t lock_spin_ns;     /**< how long a reactive lock spins at most, or MT_MEASURED */
  int64_t await_spin_ns;    /**< how long a wait for a word spins at most, or MT_MEASURED */
  int64_t membarrier;       /**< 1: use membarrier(2) where the kernel has it */
  int64_t monitor;          /**< 1: a VP that blocks or computes hands its ready threads over */
  int64_t deadlock;         /**< enum mt_on_deadlock */
  int64_t misuse;           /**< enum mt_on_misuse */
  int64_t dump_signal;      /**< 0: none */
  int64_t stats;            /**< 1: print counters at mltp_finalize() */
  int64_t seed;             /**< of deterministic mode (core/det/det.h); 0: none */
  int64_t slice_ms;         /**< of a thread that does not give way; 0: any time */
  int64_t steps_max;        /**< scheduling points of a deterministic run; 0: any number */
  const char *tuning;       /**< file of constants, or "none" */
  const char *schedule;     /**< of deterministic mode */
  const char *schedule_log; /**< file for its decisions, or "none" */
  const char *coordinator;  /**< "off", "auto", or the path of mltpd's socket */
};

/* hidden: one instruction tests a field, also in the shared library */
extern struct mt_options mt_options __attribute__((visibility("hidden")));

/** Reads the MLTP_* environment. @return 0, or EINVAL after a message on stderr
 * that names the variable, its value and what is allowed. */
int mt_options_read(void);

/** @return the variable of the i-th option, from 0; NULL: there are fewer. */
const char *mt_options_name(int i);

/** Writes one line per knob to fd. */
void mt_options_print(int fd);

#endif

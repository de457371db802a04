/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file debug_hooks.h
 * What the core calls of the reports: one table, which src/debug fills. So no room below src/debug
 * includes it.
 */
#ifndef MT_INSTRUMENT_DEBUG_HOOKS_H
#define MT_INSTRUMENT_DEBUG_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** No thread can run for this long, in nanoseconds: time to look for a deadlock. */
enum { MT_DEADLOCK_NS = 100000000 };

struct mt_debug_hooks {
  /** Installs the handlers of SIGSEGV, SIGBUS and the dump signal, and the panic hook.
   * @return 0; EINVAL after a message: the dump signal cannot be caught. */
  int (*start)(void);
  /** Restores the handlers that were there before. */
  void (*stop)(void);
  /** Writes the counters of all VPs to stderr. */
  void (*stats)(void);
  /** No VP is awake and no timer is set: reports a deadlock, unless some kernel thread of the
   * process may still make a thread ready. */
  void (*deadlock_suspected)(void);
  /** A run of deterministic mode has passed all the scheduling points it may: message, dump,
   * exit. */
  void (*livelock)(uint64_t steps);
};

extern const struct mt_debug_hooks mt_debug;

/** Reports more of a deadlock. @return whether the dump of all threads is left out. NULL: none. */
extern bool (*mt_deadlock_hook)(void);

/** Asked before a deadlock is reported. @return whether something that the check cannot see may
 * make a thread ready: it calls mt_deadlock_report() if not. NULL: there is no such thing. */
extern bool (*mt_deadlock_elsewhere)(void);

/** Reports a deadlock, once. @return whether the process has to end, with MLTP_EXIT_DEADLOCK. */
bool mt_deadlock_report(void);

/** @return whether a stack overflow is for the handler that was there before; may be NULL. */
extern bool (*mt_overflow_is_taken)(int signo);

/** Reports a stack overflow in place of the library, and returns whether it has; may be NULL. */
extern bool (*mt_overflow_hook)(const char *name, size_t kib, const void *context);
/** [atomic] Kernel threads of the process that never make a thread ready. */
extern uint32_t mt_deadlock_bystanders;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file report.h
 * What the library says of itself: dumps, overflow, deadlock, counters. The core
 * calls these hooks and nothing else of this room.
 */
#ifndef MT_DEBUG_REPORT_H
#define MT_DEBUG_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Installs the handlers of SIGSEGV, SIGBUS and the dump signal, and the panic
 * hook. @return 0; EINVAL: the dump signal cannot be caught, said on stderr. */
int mt_report_start(void);
/** Puts back what was there before. */
void mt_report_stop(void);

/** Writes the counters of all VPs to stderr. */
void mt_report_stats(void);

/** Nobody can run for so long, in nanoseconds: time to look for a deadlock. */
enum { MT_DEADLOCK_NS = 100000000 };

/** No VP is awake and no timer is set: report a deadlock, unless some kernel
 * thread of the process may still make a thread ready. */
void mt_deadlock_suspected(void);

/** Says more of a deadlock, and whether the dump of all threads is to follow; may be NULL. */
extern bool (*mt_deadlock_hook)(void);

/** Reports a stack overflow in place of the library, and returns whether it has; may be NULL. */
extern bool (*mt_overflow_hook)(const char *name, size_t kib, const void *context);
/** Kernel threads of the process that never make a thread ready. */
extern uint32_t mt_deadlock_bystanders;

/** A run of deterministic mode has had all the scheduling points it may: message,
 * dump, exit. */
void mt_report_livelock(uint64_t steps) __attribute__((noreturn));

#endif

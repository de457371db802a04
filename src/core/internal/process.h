/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file process.h
 * Internal API: start and end of the process, deadlock reports, memory that may be gone.
 */
#ifndef MT_CORE_INTERNAL_PROCESS_H
#define MT_CORE_INTERNAL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/internal/export.h"

/** Makes mltp_init() create VP 0 alone; mti_start_vps() creates the others. Until then threads
 * become ready but none runs unless the caller blocks, so that preparing them meets no contention
 * for the kernel's locks. Call it before mltp_init(). */
MTI_EXPORT void mti_defer_vps(void);

/** Creates the VPs that mltp_init() has not created. Any thread. @return 0; EAGAIN after a
 * message. */
MTI_EXPORT int mti_start_vps(void);

/** Waits until all other threads have ended, and prints statistics if MLTP_STATS asks for them: all
 * of mltp_finalize() but taking the runtime down. For the main thread of a process that ends now.
 * The kernel ends the VPs all at once; joining them would cost a turn of the CPU for each. */
MTI_EXPORT void mti_wait_for_all(void);

/** Sets the function that reports a deadlock; NULL: none. It returns whether its report is
 * complete, so that the dump of all threads is left out. */
MTI_EXPORT void mti_set_deadlock_hook(bool (*report)(void));

/** Sets the function that the deadlock check asks when no thread of this process can run. It
 * returns whether something elsewhere may make one ready. It never waits, and is asked again at
 * intervals. It calls, or lets another thread call, mti_deadlock_report() when nothing may. */
MTI_EXPORT void mti_set_deadlock_elsewhere(bool (*elsewhere)(void));

/** @return whether no thread has run since that function was last asked. Without VPs only: whether
 * none can run now. */
MTI_EXPORT bool mti_still_rests(void);

/** Reports a deadlock, once. @return whether the process has to end, with MLTP_EXIT_DEADLOCK. */
MTI_EXPORT bool mti_deadlock_report(void);

/** @return whether the process is to look for deadlocks: not with MLTP_DEADLOCK=off. */
MTI_EXPORT bool mti_looks_for_deadlocks(void);

/** For a look from a kernel thread outside of the runtime; takes no lock.
 * @return 0: a VP is awake, a thread is ready, or a timer or a descriptor may make one ready.
 * Otherwise a number that changes when a VP wakes up; without VPs always the same. */
MTI_EXPORT uint64_t mti_rest_mark(void);

/** @return whether a kernel thread is of the runtime, and makes no thread ready while VPs rest. */
MTI_EXPORT bool mti_task_rests(int tid);

/** Sets the function that an idle VP calls at short intervals while it searches, and once, with
 * true, before it sleeps. It never waits, and may make threads ready. It runs on no thread. */
MTI_EXPORT void mti_set_idle_hook(void (*hook)(bool sleeps));

/** Sets the functions that are called in the signal handler at a stack overflow. The first returns
 * whether the handler for the signal that was there before mltp_init() takes it, as any other
 * fault. If it does not, the second reports the overflow before the process aborts: it gets the
 * thread's name, the size of its stack, and the context of the signal. It returns whether its
 * report is complete. */
MTI_EXPORT void mti_set_overflow_hooks(bool (*is_taken)(int signo),
                                       bool (*report)(const char *name, size_t kib,
                                                      const void *context));

/** Brings memory that is about to be written to, with less work than a page fault for each page. */
MTI_EXPORT void mti_touch(void *address, size_t size);

/** @return how many CPUs this process could use when the runtime started. */
MTI_EXPORT int mti_cpus(void);

/** Says how many stacks of the default size will be needed: address space and guards of all are
 * prepared at once, before anything is there that would make it more work. Call it before
 * mltp_init(). */
MTI_EXPORT void mti_expect_stacks(size_t count);

/** Makes all stacks executable. Call it before mltp_init(). */
MTI_EXPORT void mti_make_stacks_executable(void);

/** @return whether stacks are executable: an object asks for it. */
MTI_EXPORT bool mti_stacks_are_executable(void);

/** Makes the stack of the calling kernel thread executable, if stacks are. */
MTI_EXPORT void mti_allow_code_on_stack(void);

/** @return how many stacks of the default size there is address space for; SIZE_MAX where threads
 * are kernel threads. */
MTI_EXPORT size_t mti_stacks_left(void);

/** @return how many mappings the guard pages of `stacks` default stacks take. */
MTI_EXPORT size_t mti_stack_mappings(size_t stacks);

/** Counts `more` kernel threads of the process that never make a thread ready. The deadlock check
 * does not wait for them. */
MTI_EXPORT void mti_add_bystanders(uint32_t more);

/** The calling kernel thread, which mti_add_bystanders() has counted, takes locks of the library.
 * Call it before the first one. It never exits. */
MTI_EXPORT void mti_be_bystander(void);

/** Copies memory that others may be changing, freeing or unmapping. Also in a signal handler.
 * @return false: the memory cannot be read. */
MTI_EXPORT bool mti_peek(void *to, const void *from, size_t size);

#endif

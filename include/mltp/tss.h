/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file key.h
 * Thread-specific values. Thread-local variables belong to the kernel thread, and
 * an unbound thread may be on another one after any call that blocks or yields;
 * what is set here follows the thread.
 *
 * A thread that never sets a value pays nothing. Keys belong to the process: they
 * may be made before mltp_init() and stay valid across mltp_finalize().
 */
#ifndef MLTP_KEY_H
#define MLTP_KEY_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Names a value that every thread has its own of. 0 is never a key. */
typedef uint64_t mltp_tss_t;

/** Most keys at a time. */
#define MLTP_TSS_MAX 1024

/** How often a thread's end looks for values that destructors have set again. */
#define MLTP_TSS_DTOR_ITERATIONS 4

/**
 * Makes a key. Every thread's value is NULL at first.
 * @param[out] key   the new key
 * @param destructor called at the end of each thread whose value is not NULL, with
 *                   that value, which is NULL by then; in the thread itself, so it
 *                   may block and may set values again: MLTP_TSS_DTOR_ITERATIONS times
 *                   in all, then they are dropped. The order among keys is not
 *                   defined. A thread ends by returning or by mltp_exit(), the main
 *                   thread by mltp_finalize() or mltp_exit(), a foreign thread when
 *                   its kernel thread does. NULL: none
 * @return 0; EAGAIN: there are MLTP_TSS_MAX keys.
 * Blocks: no. Context: any, also before mltp_init().
 */
MLTP_API int mltp_tss_create(mltp_tss_t *key, void (*destructor)(void *value));

/**
 * Deletes a key. Values are dropped, no destructor is called for them any more (one
 * that runs already goes on), and no later key shows them.
 * @return 0; EINVAL (misuse): no such key.
 * Blocks: no. Context: any, also before mltp_init().
 */
MLTP_API int mltp_tss_delete(mltp_tss_t key);

/**
 * Sets the calling thread's value.
 * @param value not looked at
 * @return 0; ENOMEM: no memory for the thread's values; EINVAL (misuse): no such key.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_tss_set(mltp_tss_t key, const void *value);

/** @return the calling thread's value; NULL: it has set none. Blocks: no. Context: any. */
MLTP_API void *mltp_tss_get(mltp_tss_t key);

MLTP_END_DECLS

#endif

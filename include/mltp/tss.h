/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tss.h
 * Thread-specific values (the words of C11's tss_create()). A thread-local variable belongs to the
 * kernel thread, and an unbound thread may move to another kernel thread in any call that blocks
 * or yields. A thread-specific value follows its thread.
 *
 * A thread that sets no value pays nothing. Keys belong to the process: a program may make them
 * before mltp_init(), and they stay valid across mltp_finalize().
 */
#ifndef MLTP_TSS_H
#define MLTP_TSS_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** A key names one value in each thread. 0 is never a key. */
typedef uint64_t mltp_tss_t;

/** Most keys at a time. */
#define MLTP_TSS_MAX 1024

/** How often the end of a thread looks for values that destructors have set again. */
#define MLTP_TSS_DTOR_ITERATIONS 4

/**
 * Creates a key. The value of every thread is NULL at first.
 * @param[out] key   the new key
 * @param destructor called at the end of each thread whose value is not NULL, in that thread and
 *                   with that value; NULL: none. The value is NULL by then. The destructor may
 *                   block, and may set values again. After MLTP_TSS_DTOR_ITERATIONS rounds the
 *                   library drops the values that are left. The order among keys is not defined.
 *                   A thread ends when it returns or calls mltp_exit(); the main thread in
 *                   mltp_finalize() or mltp_exit(); a foreign thread when its kernel thread ends
 * @return 0; EAGAIN: there are MLTP_TSS_MAX keys.
 * Blocks: no. Context: any, also before mltp_init().
 */
MLTP_API int mltp_tss_create(mltp_tss_t *key, void (*destructor)(void *value));

/**
 * Deletes a key. The library drops its values without calling the destructor; a destructor that
 * already runs continues. No later key shows these values.
 * @return 0; EINVAL (misuse): no such key.
 * Blocks: no. Context: any, also before mltp_init().
 */
MLTP_API int mltp_tss_delete(mltp_tss_t key);

/**
 * Sets the calling thread's value of a key.
 * @param value any pointer; the library does not read what it points to
 * @return 0; ENOMEM: no memory for the thread's values; EINVAL (misuse): no such key.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_tss_set(mltp_tss_t key, const void *value);

/** Returns the calling thread's value of a key. @return the value; NULL: the thread has set none.
 * Blocks: no. Context: any. */
MLTP_API void *mltp_tss_get(mltp_tss_t key);

MLTP_END_DECLS

#endif

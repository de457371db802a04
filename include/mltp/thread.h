/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.h
 * Creating, ending and joining threads.
 */
#ifndef MLTP_THREAD_H
#define MLTP_THREAD_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** The function of a thread. Its result reaches mltp_join(). */
typedef void *(mltp_userf_t)(void *arg);

/** Attributes of a new thread. Initialise them with MLTP_ATTR_INIT, or with size and the
 * fields that matter: later versions add fields at the end, and size tells them apart. */
typedef struct mltp_attr {
  size_t size;       /**< sizeof(mltp_attr_t) as the caller was compiled */
  const char *name;  /**< shown in reports; not copied, must outlive the thread; NULL: none */
  size_t stack_size; /**< bytes, rounded up to a power of two; 0: MLTP_STACK_SIZE (256 KiB).
                          This is address space; memory is used as the thread touches it. */
  int bound;         /**< nonzero: the thread has a kernel thread of its own (thesis 3.1.2.2) */
  int detached;      /**< nonzero: the thread cannot be joined; it is freed when it ends */
  int fp_control;    /**< nonzero: the thread has its own rounding mode and exception masks. It
                          inherits its creator's and keeps them on every VP. Zero: it shares
                          those of its VP. A bound thread always has its own. */
  int priority;      /**< MLTP_PRIORITY_HIGH, MLTP_PRIORITY_LOW or 0. A hint to VPs; bound
                          threads and deterministic mode ignore it. */
} mltp_attr_t;

#define MLTP_ATTR_INIT {sizeof(mltp_attr_t), NULL, 0, 0, 0, 0, 0}

/** A ready thread of high priority goes to the front of its VP's queue, unless another one did
 * so within the last four scheduling points. So other ready threads still run within a bounded
 * number of scheduling points, a third larger than without priorities. */
#define MLTP_PRIORITY_HIGH 1

/** A ready thread of low priority that reaches the front of the queue goes to the end once
 * more. So it waits for two rounds of the queue at most. */
#define MLTP_PRIORITY_LOW (-1)

/** The smallest stack_size, in bytes, for very many threads that do little (no printf). A
 * quarter of it is the guard page. A smaller size saves page tables, not memory: a thread
 * takes 33 bytes of them instead of 512. */
#define MLTP_STACK_MIN 16384

/**
 * Creates a thread that runs func(arg) (thesis 3.3.1.1). An unbound thread goes to the end of
 * the creating VP's ready queue; a creator that is bound or foreign gives its threads to the
 * VPs in turn. The thread may run, and end, before this call returns.
 * @param[out] thread the new thread, stored before it can run; NULL is allowed for a detached one
 * @param attr        NULL: an unbound, joinable thread with the default stack
 * @return 0; EINVAL: stack_size is above 1 GiB, or thread is NULL and attr does not say detached,
 *         or attr has a size or a field that this library does not know; EAGAIN: no memory, or
 *         the kernel refused a thread (bound); EPERM (misuse): there is no runtime.
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API int mltp_create(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func, void *arg);

/**
 * Waits until a thread has ended, and frees it.
 * @param[out] result what its function returned or gave to mltp_exit(); may be NULL
 * @return 0; EDEADLK: the caller is that thread; EINVAL (misuse): the thread is detached, was
 *         joined already, or another thread is joining it.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_join(mltp_t *thread, void **result);

/**
 * Joins a thread if it has ended.
 * @param[out] result what its function returned or gave to mltp_exit(); may be NULL
 * @return 0; EBUSY: it has not ended; EDEADLK, EINVAL: as mltp_join().
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_join_try(mltp_t *thread, void **result);

/**
 * Joins a thread, but gives up at a deadline. The thread is joinable as before then.
 * @param[out] result what its function returned or gave to mltp_exit(); may be NULL
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK, EINVAL: as mltp_join().
 * Blocks: thread, until the deadline. Context: any.
 */
MLTP_API int mltp_join_timed(mltp_t *thread, void **result, uint64_t deadline);

/**
 * Detaches a thread: it cannot be joined any more, and is freed when it ends.
 * @return 0; EINVAL (misuse): it is detached, was joined, or another thread is joining it.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_detach(mltp_t *thread);

/**
 * Ends the calling thread with a result for its joiner (thesis 3.3.2). C++ destructors of the
 * frames on its stack do not run. The main thread waits until all other threads have ended, and
 * then exits the process with status 0.
 * Context: threads of this library (in a foreign thread this is a misuse).
 */
MLTP_API void mltp_exit(void *result) __attribute__((noreturn));

/**
 * Returns the handle of the calling thread. A foreign thread gets a handle at its first call to
 * the library; it is valid until that thread exits.
 * @return the handle; NULL: no memory for a foreign thread's, or (misuse) no runtime.
 * Blocks: no. Context: any.
 */
MLTP_API mltp_t *mltp_self(void);

/** Changes a thread's name. The name is not copied: it must outlive the thread or the next
 * change. Blocks: no. Context: any. */
MLTP_API void mltp_set_name(mltp_t *thread, const char *name);

/** Returns the name of a thread. @return the name; "": it has none. Blocks: no. Context: any. */
MLTP_API const char *mltp_name(const mltp_t *thread);

/** Returns the number of a thread. @return the number, unique in this process.
 * Blocks: no. Context: any. */
MLTP_API uint64_t mltp_id(const mltp_t *thread);

/**
 * Returns the memory of free stacks to the kernel. Awake VPs other than the caller's keep up to
 * 512 free stacks each for their next threads. The library returns memory that was not used for
 * a second without this call. A thread that later gets such a stack touches new memory.
 * Stacks of threads that wait keep their memory, unless MLTP_PACK_MS is set (mltp-threads(7)).
 * Blocks: no (a system call for each free stack). Context: any, after mltp_init().
 */
MLTP_API void mltp_trim(void);

MLTP_END_DECLS

#endif

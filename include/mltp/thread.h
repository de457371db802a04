/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.h
 * Creating, ending and joining threads.
 */
#ifndef MLTP_THREAD_H
#define MLTP_THREAD_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Body of a thread made by mltp_create(): its result reaches mltp_join(). */
typedef void *(mltp_userf_t)(void *p0);

/** Body of a thread made by mltp_vcreate(): takes the arguments given there. */
typedef void *(mltp_vuserf_t)(int arg0, ...);

/** Attributes of a thread to be created. Initialise with MLTP_ATTR_INIT. */
typedef struct mltp_attr {
  const char *name;  /**< shown in reports; not copied, must outlive the thread; NULL: none */
  size_t stack_size; /**< bytes, rounded up to a power of two; 0: MLTP_STACK_SIZE (256 KiB).
                          Address space only: memory is used as it is touched. */
  int bound;         /**< nonzero: a kernel thread of its own (thesis 3.1.2.2) */
  int detached;      /**< nonzero: nobody will join it; freed when it ends */
  int fp_control;    /**< nonzero: rounding mode and exception masks are the thread's own: at
                          first its creator's, then what it sets, wherever it runs. Zero: it
                          shares those of its VP with all such threads; bound threads have
                          their own anyway */
  int priority;      /**< MLTP_PRIORITY_..., a hint to VPs: the kernel knows nothing of it, nor
                          do bound threads and deterministic mode */
} mltp_attr_t;

#define MLTP_ATTR_INIT {NULL, 0, 0, 0, 0, 0}

/** Each time the thread becomes ready it goes to the front of its VP's queue, unless another
 * did so within the last four scheduling points: so ready threads still run within a
 * bounded number of them, a third larger. */
#define MLTP_PRIORITY_HIGH 1

/** When its turn comes the thread lets all others pass that are ready, once: so it waits for
 * two rounds of the queue at most. */
#define MLTP_PRIORITY_LOW (-1)

/** The smallest stack_size, in bytes: for very many threads that do little (no printf).
 * A quarter of it is the guard. Threads take the memory they touch whatever their size,
 * but page tables grow with address space: 33 bytes a thread, not 512. */
#define MLTP_STACK_MIN 16384

/** Most bytes of arguments mltp_vcreate() copies. */
#define MLTP_VARGS_MAX 256

/**
 * Creates an unbound, joinable thread that runs func(p0) (thesis 3.3.1.1).
 * It is put at the end of the creating VP's ready queue and starts when a VP
 * gets to it; it may start before this call returns. From a bound or foreign
 * thread it goes to the VP that is chosen in turn.
 * @return the thread, or NULL when memory is short (EAGAIN of mltp_create_with()).
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API mltp_t *mltp_create(mltp_userf_t *func, void *p0);

/**
 * Creates a joinable thread with attributes.
 * @param[out] thread the new thread; may be NULL when attr says detached
 * @param attr        NULL for the defaults
 * @return 0; EINVAL: stack_size above 1 GiB, or thread is NULL for a joinable one;
 *         EAGAIN: no memory, or the kernel refused a thread (bound).
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API int mltp_create_with(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func,
                              void *p0);

/**
 * Creates an unbound, joinable thread that calls func with the arguments after
 * nbytes (thesis 3.3.1.1, after QuickThreads).
 * @param nbytes bytes the arguments take, each rounded up to 8; at most
 *               MLTP_VARGS_MAX. The arguments must be integers, pointers or
 *               doubles (no structures, no long double), at most 8 of them doubles.
 * @return the thread, or NULL: nbytes out of range or memory short.
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API mltp_t *mltp_vcreate(mltp_vuserf_t *func, int nbytes, ...);

/**
 * Creates a bound, joinable thread: a kernel thread of its own (thesis 3.3.1.2).
 * It may use every call of this library that an unbound thread may.
 * @return the thread, or NULL: memory short or the kernel refused a thread.
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API mltp_t *mltp_create_bound(mltp_userf_t *func, void *p0);

/**
 * Waits until a thread has ended and frees it.
 * @param[out] result what its function returned or mltp_exit() was given; may be NULL
 * @return 0; EDEADLK: the calling thread itself; EINVAL (misuse): detached,
 *         joined already, or another thread is joining it.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_join(mltp_t *thread, void **result);

/**
 * mltp_join() until a deadline. When it gives up the thread is as joinable as before.
 * @param[out] result what its function returned or mltp_exit() was given; may be NULL
 * @return 0; ETIMEDOUT; ECANCELED: see mltp_cancel(); EDEADLK, EINVAL as of mltp_join().
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_join_timed(mltp_t *thread, void **result, uint64_t deadline);

/**
 * Says that nobody will join the thread: it is freed when it ends.
 * @return 0; EINVAL (misuse): detached or joined already, or being joined.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_detach(mltp_t *thread);

/**
 * Ends the calling thread with a result for its joiner. Runs no C++ destructors
 * of frames left behind. In the main thread: waits for all others to end, then
 * exits the process with status 0.
 * Context: threads of this library (a foreign thread: misuse).
 */
MLTP_API void mltp_exit(void *result) __attribute__((noreturn));

/** The thesis's name (3.3.2) for mltp_exit(NULL). Context: as mltp_exit(). */
MLTP_API void mltp_abort(void) __attribute__((noreturn));

/**
 * @return the calling thread. A foreign thread gets a handle at its first call,
 * valid until it exits; NULL when there is no memory for one.
 * Blocks: no. Context: any.
 */
MLTP_API mltp_t *mltp_self(void);

/**
 * Changes a thread's name; not copied, it must outlive the thread or the next
 * change. Blocks: no. Context: any.
 */
MLTP_API void mltp_set_name(mltp_t *thread, const char *name);

/** @return the thread's name, "" when it has none. Blocks: no. Context: any. */
MLTP_API const char *mltp_name(const mltp_t *thread);

/** @return the thread's number, unique in this process. Blocks: no. Context: any. */
MLTP_API uint64_t mltp_id(const mltp_t *thread);

/**
 * Gives the memory of free stacks back to the kernel: that of threads that have
 * ended, except what awake VPs other than the caller's keep for their next ones
 * (512 stacks each at most). What has not been used for a second is given back
 * anyway. A thread that gets such a stack touches new memory.
 * Blocks: no (a system call for each free stack). Context: any, after mltp_init().
 */
MLTP_API void mltp_trim(void);

MLTP_END_DECLS

#endif

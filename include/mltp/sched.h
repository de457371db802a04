/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * Starting and stopping the runtime, virtual processors (VPs), and yielding.
 */
#ifndef MLTP_SCHED_H
#define MLTP_SCHED_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/**
 * Starts the runtime. The caller becomes the main thread: an unbound thread on the process's own
 * stack, or a bound thread if MLTP_MAIN=bound. Reads the MLTP_* environment variables (see
 * mltp-options(7)).
 *
 * The child of a fork() has no runtime, whichever thread forked. It may exec, exit, or call
 * mltp_init(); any other call is a misuse there. It must initialise anew the objects that a
 * thread used at the time of the fork.
 * @param vps virtual processors to start with; 0: as many as MLTP_VPS says, else as many as the
 *            CPUs that this process may use (affinity mask and cgroup CPU quota)
 * @return 0; EALREADY: it runs already; EINVAL: a bad MLTP_* value, or a dump signal that cannot
 *         be caught; EACCES: an object asks for executable stacks, and the kernel refuses them;
 *         ENOMEM, EAGAIN: memory or kernel threads are short. A message on stderr names the cause
 *         of all but EALREADY.
 * Blocks: while another kernel thread starts or stops the runtime. Context: foreign (normally the
 * process's first thread).
 */
MLTP_API int mltp_init(int vps);

/** How a runtime starts. Initialise it with MLTP_INIT_ATTR_INIT, or with size and the fields that
 * matter: later versions add fields at the end, and size tells them apart. */
typedef struct mltp_init_attr {
  size_t size;    /**< sizeof(mltp_init_attr_t) as the caller was compiled */
  int vps;        /**< as for mltp_init() */
  int bound_main; /**< nonzero: the main thread is bound and stays on the caller's kernel thread,
                       and every VP is a kernel thread of its own. For callers whose language keeps
                       state with the kernel thread: Python, Go, Rust. Zero: as MLTP_MAIN says. */
} mltp_init_attr_t;

#define MLTP_INIT_ATTR_INIT {sizeof(mltp_init_attr_t), 0, 0}

/**
 * Starts the runtime as mltp_init() does, with attributes. Deterministic mode has one VP and runs
 * the main thread on it, whatever bound_main says.
 * @param attr NULL: as mltp_init(0)
 * @return as mltp_init(); also EINVAL: attr has a size or a field that this library does not know.
 * Blocks: as mltp_init(). Context: foreign (normally the process's first thread).
 */
MLTP_API int mltp_init_with(const mltp_init_attr_t *attr);

/**
 * Stops the runtime. It waits until every other thread of the library has ended, and frees the
 * joinable ones that were not joined. It moves the caller back to the kernel thread that called
 * mltp_init(), ends the other VPs, and frees stacks and descriptors. The caller is an ordinary
 * pthread afterwards, and may call mltp_init() again. If the other threads wait for each other
 * forever, the library lists them and exits with status 86 (MLTP_DEADLOCK).
 * @return 0; EPERM: the caller is not the main thread; EINVAL: there is no runtime.
 * Blocks: thread. Context: the main thread.
 */
MLTP_API int mltp_finalize(void);

/**
 * Yields: other threads run, and the caller goes to the end of its VP's ready queue (thesis
 * 3.3.2). Bound and foreign threads, and every thread of the kernel backend, yield their CPU by
 * sched_yield().
 * Blocks: thread. Context: any.
 */
MLTP_API void mltp_yield(void);

/**
 * Yields to the thread at the front of the ready queue (thesis 3.3.2): the caller takes its place,
 * and is the next to run after it. Bound and foreign threads: as mltp_yield().
 * Blocks: thread. Context: any.
 */
MLTP_API void mltp_yield_to_first(void);

/**
 * Yields to a given thread: it runs at once on this VP, and the caller goes to the end of the
 * ready queue.
 * @return 0: the thread ran; EAGAIN: it is not ready on this VP, or another thread is due (one
 *         scheduling point in 64), and the caller yielded as by mltp_yield().
 * Blocks: thread. Context: any (bound and foreign: always EAGAIN).
 */
MLTP_API int mltp_yield_to(mltp_t *thread);

/**
 * Changes the number of VPs while the program runs. No more VPs are active at a time than the
 * process may use CPUs, unless MLTP_OVERSUBSCRIBE=1. Surplus VPs stop at their next scheduling
 * point.
 * @param vps from 1 to 1024
 * @return 0; EINVAL: out of range; EAGAIN: the kernel refused a thread, and the number is
 *         unchanged; EPERM (misuse): there is no runtime.
 * Blocks: no. Context: any.
 */
MLTP_API int mltp_set_vps(int vps);

/** Returns the number of VPs that the program asked for. @return the number; 0: there is no
 * runtime. Blocks: no. Context: any. */
MLTP_API int mltp_vps(void);

/** Returns how many VPs may be active at a time. @return the smaller of mltp_vps() and mltp_cpus();
 * mltp_vps() with MLTP_OVERSUBSCRIBE=1. Blocks: no. Context: any. */
MLTP_API int mltp_vps_active(void);

/** Returns how many CPUs the process may use, by its affinity mask and its cgroup quota (v1 and v2,
 * ancestors included). @return the number, rounded up, at least 1. Blocks: no. Context: any. */
MLTP_API int mltp_cpus(void);

/** Returns the index of the VP that the caller runs on. After a yield or a block it may be another.
 * @return the index; -1: the caller is bound or foreign. Blocks: no. Context: any. */
MLTP_API int mltp_vp(void);

/**
 * Begins a call that may block in the kernel (a read, a flock, a foreign library). Until the
 * caller's mltp_blocking_end(), another VP may be active in place of this one, and other VPs may
 * run this VP's ready threads. The same thread must call both, and must call no other function of
 * this library in between. In bound and foreign threads both do nothing. If the kernel refuses a
 * VP as a substitute, the ready threads wait until the blocking call has returned.
 * Blocks: mltp_blocking_begin() no; mltp_blocking_end() thread (while too many VPs are active).
 * Context: any.
 */
MLTP_API void mltp_blocking_begin(void);
MLTP_API void mltp_blocking_end(void); /**< see mltp_blocking_begin() */

/**
 * Marks a point where the order of threads matters: between the load and the compare-and-swap of
 * a lock-free structure, for instance. In deterministic mode (MLTP_SEED, `mltp explore`) another
 * thread may run here. Otherwise it does nothing.
 * Blocks: no (other threads may run in deterministic mode). Context: any (foreign: does nothing).
 */
MLTP_API void mltp_explore_point(void);

MLTP_END_DECLS

#endif

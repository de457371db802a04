/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * The runtime's life, virtual processors and yielding.
 */
#ifndef MLTP_SCHED_H
#define MLTP_SCHED_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

struct mltp_thread;

/**
 * Starts the runtime; the caller becomes its main thread, an unbound thread on
 * the process's own stack. Reads the MLTP_* environment (see mltp-options(7)).
 * A child of fork() has no runtime, whichever thread made it: it may exec, exit, or
 * call this; any other call there is a misuse. Objects of the library that a thread
 * used at the fork must be made anew in it.
 * @param vps virtual processors to start with; 0: what MLTP_VPS says, else the
 *            CPUs this process may use (affinity mask and cgroup CPU quota).
 * @return 0; EALREADY: running already; EINVAL: a bad MLTP_* value, or a dump
 *         signal that cannot be caught, named on stderr; ENOMEM, EAGAIN: memory or kernel threads
 * are short, said on stderr. Blocks: no. Context: foreign (normally the process's first thread).
 */
MLTP_API int mltp_init(int vps);

/**
 * Stops the runtime, in this order: waits until every other thread of the
 * library has ended (joinable ones nobody joined are freed); brings the caller
 * back to the kernel thread that called mltp_init(); ends the other VPs; frees
 * stacks and descriptors. When the others wait for each other for ever, that is a
 * deadlock: they are listed and the process exits with status 86 (MLTP_DEADLOCK). The caller is an
 * ordinary pthread afterwards, and mltp_init() may be called again.
 * @return 0; EPERM: not the main thread; EINVAL: not running.
 * Blocks: thread. Context: the main thread.
 */
MLTP_API int mltp_finalize(void);

/**
 * Lets another thread run: the caller goes to the end of its VP's ready queue
 * (thesis 3.3.2). Bound and foreign threads, and every thread of the kernel
 * backend, yield their CPU (sched_yield).
 * Blocks: thread. Context: any.
 */
MLTP_API void mltp_yield(void);

/**
 * The shorter yield of the thesis (3.3.2): trades places with the thread at the
 * front of the ready queue, so that the caller is the next to run after it.
 * Bound and foreign threads: as mltp_yield().
 * Blocks: thread. Context: any.
 */
MLTP_API void mltp_yield_to_first(void);

/**
 * Yields to the given thread: it runs at once on this VP, the caller goes to the
 * end of the ready queue.
 * @return 0: it ran; EAGAIN: it is not ready on this VP, or it is the turn of another
 *         thread (one scheduling point in 64), and the caller has yielded as by mltp_yield().
 * Blocks: thread. Context: any (bound and foreign: always EAGAIN).
 */
MLTP_API int mltp_yield_to(mltp_t *thread);

/**
 * Moves the number of VPs while the program runs. No more of them are active at
 * a time than the process may use CPUs, unless MLTP_OVERSUBSCRIBE=1.
 * @param vps at least 1, at most 1024
 * @return 0; EINVAL: out of range; EAGAIN: the kernel refused a thread (the
 *         number is unchanged).
 * Blocks: no; surplus VPs stop at their next scheduling point. Context: any.
 */
MLTP_API int mltp_set_vps(int vps);

/** @return the number of VPs asked for. Blocks: no. Context: any. */
MLTP_API int mltp_vps(void);

/** @return how many VPs may be active at a time: min(mltp_vps(), CPUs), or mltp_vps()
 * with MLTP_OVERSUBSCRIBE=1. Blocks: no. Context: any. */
MLTP_API int mltp_vps_active(void);

/** @return CPUs the process may use: affinity mask and cgroup quota (v1 and v2,
 * ancestors included), rounded up, at least 1. Blocks: no. Context: any. */
MLTP_API int mltp_cpus(void);

/** @return index of the VP the caller runs on; -1 for bound and foreign threads.
 * May be stale as soon as the caller yields or blocks. Context: any. */
MLTP_API int mltp_vp(void);

/**
 * Brackets a call that may block in the kernel (a read, a flock, a foreign
 * library): while the caller is between the two, another VP may be active in
 * this one's place, and this VP's ready threads can be run by others. The two
 * must be called by the same thread, with no other call of this library between
 * them. Bound and foreign threads: no effect. When the kernel refuses a VP to take
 * this one's place, its ready threads wait until the call has returned.
 * Blocks: mltp_blocking_begin() no; mltp_blocking_end() thread (when too many VPs
 * are active by then). Context: any.
 */
MLTP_API void mltp_blocking_begin(void);
MLTP_API void mltp_blocking_end(void); /**< see mltp_blocking_begin() */

/**
 * Marks a place where the order of threads matters: between the load and the
 * compare-and-swap of a lock-free structure, say. In deterministic mode (MLTP_SEED,
 * `mltp explore`) another thread may run here; otherwise it does nothing.
 * Blocks: no (others may run in deterministic mode). Context: any (foreign: nothing).
 */
MLTP_API void mltp_explore_point(void);

MLTP_END_DECLS

#endif

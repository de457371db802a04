/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mltp.h
 * MLTP: two-level (M:N) threads for Linux. Include this one header.
 *
 * Many cheap user-level threads run on a few kernel threads, the virtual processors (VPs). An
 * *unbound* thread runs on any VP. A *bound* thread has a kernel thread of its own. A *foreign*
 * thread is a pthread that this library did not create.
 *
 * Conventions of every function:
 *  - A function that can fail returns 0 or a positive errno value, and does not touch errno,
 *    unless its docstring says otherwise.
 *  - The suffix _try marks a call that does not wait: it returns EBUSY (locks, joins) or EAGAIN
 *    where it would have to. The suffix _timed marks a call that gives up at a deadline with
 *    ETIMEDOUT.
 *  - Deadlines are absolute, in nanoseconds of CLOCK_MONOTONIC (mltp_now()). MLTP_NEVER waits
 *    forever.
 *  - "Context: any" means that unbound, bound and foreign threads may call the function. Signal
 *    handlers may call only the functions that mltp-signals(7) lists.
 *  - "Blocks: thread" means that only the calling thread waits; its VP runs other threads
 *    meanwhile. "Blocks: no" means that the function never waits.
 *  - A misuse (to unlock another thread's lock, to join twice, ...) prints a message that names
 *    thread, object and call, and aborts the process. With MLTP_MISUSE=error the call returns
 *    the documented error instead.
 *  - A call before mltp_init() or after mltp_finalize() is a misuse, and its error is EPERM (NULL
 *    from mltp_self()). EPERM also means that there is no memory to make a foreign thread known at
 *    its first call; a message on stderr says so.
 *  - These calls need no runtime: the initialisers and _destroy functions of objects,
 *    mltp_channel_create(), mltp_tss_create() and mltp_tss_delete(), mltp_now(), mltp_after(),
 *    mltp_cpus(), mltp_dump(), mltp_options(), mltp_options_measured(), mltp_version(). Without a
 * runtime, the yields yield the CPU, mltp_await_store() only stores, mltp_vps() and
 * mltp_cancelled() return 0, mltp_vp() returns -1, and mltp_uncancel(), mltp_explore_point(),
 * mltp_blocking_begin() and mltp_blocking_end() do nothing.
 *
 * Some state that libc and compilers attach to a kernel thread belongs to the thread here,
 * wherever it runs:
 *  - errno. A compiler may keep its address across a call, so read it right after the call that
 *    set it.
 *  - C++ exceptions. A thread may wait, and move to another VP, in a handler and in a destructor
 *    that unwinding calls. The C++ runtime must be part of the process when mltp_init() is
 *    called, must have visible symbols, and must be the only one.
 *  - Rounding mode and floating-point exception masks, if the thread was created with the
 *    attribute fp_control. Other threads share those of their VP.
 *
 * All other such state belongs to the VP, and may be another VP's after any call that blocks the
 * thread: thread-local variables, pthread_self(), the signal mask, the owner of a
 * pthread_mutex_t. A bound thread has all of it for itself.
 */
#ifndef MLTP_MLTP_H
#define MLTP_MLTP_H

#include <mltp/await.h>
#include <mltp/cancel.h>
#include <mltp/channel.h>
#include <mltp/debug.h>
#include <mltp/latch.h>
#include <mltp/once.h>
#include <mltp/rwlock.h>
#include <mltp/sched.h>
#include <mltp/sync.h>
#include <mltp/thread.h>
#include <mltp/time.h>
#include <mltp/tss.h>

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mltp.h
 * MLTP: two-level (M:N) threads for Linux. Include this one header.
 *
 * Many cheap user-level threads run on a few kernel threads, the virtual
 * processors (VPs). A thread is *unbound* (runs on any VP), *bound* (has a
 * kernel thread of its own) or *foreign* (a pthread this library did not make).
 *
 * Conventions of every function here:
 *  - It returns 0 or a positive errno value and does not touch errno, unless its
 *    docstring says otherwise.
 *  - EPERM, and NULL of calls that return a thread: there is no runtime (a misuse), or
 *    no memory to make a foreign thread known at its first call, said on stderr.
 *  - Deadlines are absolute, in nanoseconds of CLOCK_MONOTONIC (mltp_now());
 *    MLTP_NEVER waits for ever.
 *  - "Context: any" means unbound, bound and foreign threads may call it;
 *    from a signal handler only those that mltp-signals(7) lists.
 *  - "Blocks: thread" means that only the calling thread waits, its VP goes on
 *    with other threads; "Blocks: no" means it never waits.
 *  - Misuse (unlocking another's lock, joining twice, ...) prints a message that
 *    names thread, object and call, and aborts; with MLTP_MISUSE=error the call
 *    returns the documented error instead.
 *
 * Of what libc and compilers take to belong to a kernel thread, these belong to
 * the thread, wherever it runs:
 *  - errno. But a compiler may keep its address across a call: read it right
 *    after the call that set it.
 *  - C++ exceptions: a thread may wait, and move to another VP, in a handler and
 *    in a destructor that unwinding calls. The C++ runtime must be part of the
 *    process when mltp_init() is called, with its symbols visible, and be the
 *    only one.
 *  - Rounding mode and floating-point exception masks, if it was created with
 *    fp_control (mltp_create()); other threads share those of their VP.
 *
 * All else belongs to the VP, and may be another's after any call that blocks
 * the thread: thread-local variables, pthread_self(), the signal mask, the owner
 * of a pthread_mutex_t. Bound threads have all of it for themselves.
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

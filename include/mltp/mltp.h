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
 *  - Deadlines are absolute, in nanoseconds of CLOCK_MONOTONIC (mltp_now());
 *    MLTP_NEVER waits for ever.
 *  - "Context: any" means unbound, bound and foreign threads may call it;
 *    no function may be called from a signal handler.
 *  - "Blocks: thread" means that only the calling thread waits, its VP goes on
 *    with other threads; "Blocks: no" means it never waits.
 *  - Misuse (unlocking another's lock, joining twice, ...) prints a message that
 *    names thread, object and call, and aborts; with MLTP_MISUSE=error the call
 *    returns the documented error instead.
 */
#ifndef MLTP_MLTP_H
#define MLTP_MLTP_H

#include <mltp/channel.h>
#include <mltp/debug.h>
#include <mltp/key.h>
#include <mltp/sched.h>
#include <mltp/sync.h>
#include <mltp/thread.h>
#include <mltp/time.h>

#endif

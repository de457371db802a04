/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file alone.h
 * Waiting on the processor by a thread that has a VP and a CPU for itself: an MPI rank, where there
 * are no more ranks than CPUs.
 *
 * Parking such a thread frees nothing: its VP would search, then sleep, and pay a wake-up, which is
 * expensive in a virtual machine. So the thread spins for many times as long as a wake-up takes. It
 * stops when another thread of its VP is ready, or the VP has a duty. After the time of one wake-up
 * it yields the CPU to the kernel between its looks, so another program on that CPU runs at once.
 * The spinner then sees that time has passed, and its next waits are brief for a while.
 *
 * Rejected: the load of the machine or the count of involuntary switches (a system call that
 * reports the past); no yields (a program beside it would wait for a time slice).
 *
 * A waiter for the answer to what it has just sent looks when answers used to come: a look before
 * that delays the answer (policy/wait.h).
 */
#ifndef MT_CORE_WAIT_ALONE_H
#define MT_CORE_WAIT_ALONE_H

#include <stdbool.h>

#include "policy/wait.h"

struct mltp_thread;

/** Spins until ended(what), or until parking is better. Counted as a wait for a word. nearer:
 * ended() takes longer than a pause, and sets this when the end has come nearer: the time to spin
 * begins anew then. NULL: it does neither.
 * @return whether ended(what) became true */
bool mt_spin_alone(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                   bool *nearer);

/** The same for an answer. reply: what is known about answers, and is learned here. Threads that
 * share it may lose what one of them has learned. */
bool mt_spin_for_reply(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                       struct mt_reply *reply);

#endif

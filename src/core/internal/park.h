/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file park.h
 * Internal API: parking and resuming threads.
 */
#ifndef MT_CORE_INTERNAL_PARK_H
#define MT_CORE_INTERNAL_PARK_H

#include <mltp/sync.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/internal/export.h"

struct mltp_thread;
struct mt_reply;

/**
 * Parks the calling thread until mti_resume(). The caller holds the lock. It is released once the
 * thread can be resumed, and is not held on return.
 * @param text what the thread waits for, as dumps print it; readable while the thread waits
 */
MTI_EXPORT void mti_park_unlock(uint32_t *lock, const char *text);

/** Parks the calling thread at the end of a queue, whose lock it holds. The lock is not held on
 * return; text as for mti_park_unlock(). */
MTI_EXPORT void mti_wait_unlock(mltp_waitq_t *queue, const char *text);

/** Makes a parked thread ready. The caller has seen it parked under the lock it parked with. */
MTI_EXPORT void mti_resume(struct mltp_thread *t);

/** Makes all waiters of a queue ready. The caller holds the queue's lock, or has held it since the
 * last waiter entered and no other can enter now. The lock stays as it is. */
MTI_EXPORT void mti_resume_all(mltp_waitq_t *queue);

/**
 * Spins until ended(what) is true, for as long as spinning may pay (core/wait/await.h), or for
 * blindly_ns if that is not 0. Counted as a wait for a word.
 * @param waker the thread that will end the wait; NULL: not known
 * @return whether ended(what) became true
 */
MTI_EXPORT bool mti_spin_until(bool (*ended)(const void *), const void *what,
                               const struct mltp_thread *waker, uint64_t blindly_ns);

/**
 * Spins until ended(what) is true, by a thread that has a VP and a CPU for itself
 * (core/wait/alone.h). Counted as a wait for a word.
 * @param nearer ended() takes longer than a pause, and sets this when the end has come nearer;
 * NULL: it does neither
 * @return whether ended(what) became true
 */
MTI_EXPORT bool mti_spin_alone(bool (*ended)(const void *), const void *what, bool *nearer);

/** The same for the answer to what the caller has sent. reply: what is known about answers, and is
 * learned here. */
MTI_EXPORT bool mti_spin_for_reply(bool (*ended)(const void *), const void *what,
                                   struct mt_reply *reply);

/** @return nanoseconds that a park and an unpark of a thread like the caller take; 0 in
 * deterministic mode, or if MLTP_AWAIT_SPIN_NS says so. */
MTI_EXPORT uint64_t mti_park_ns(void);

#endif

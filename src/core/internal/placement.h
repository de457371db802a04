/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file placement.h
 * Internal API: on which VP threads run, and what moving them costs.
 */
#ifndef MT_CORE_INTERNAL_PLACEMENT_H
#define MT_CORE_INTERNAL_PLACEMENT_H

#include <mltp/sync.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/internal/export.h"

struct mltp_thread;

/**
 * mti_resume(), and an unbound thread continues on this VP. It stays on its own VP if the target
 * has passed no scheduling point since a thread was last sent there: a VP that lost its CPU is sent
 * one thread at most.
 * @param ticks ticks of the target at the last send, 0 at first; changed atomically
 */
MTI_EXPORT void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks);

/** mti_resume_all(), and each unbound thread continues on the VP that vp_of() gives for its number
 * (mti_number()), unless that VP is blocked or does not exist. For threads that work on the same
 * data. They lose what another VP's cache holds for them. */
MTI_EXPORT void mti_resume_all_on(mltp_waitq_t *queue, int (*vp_of)(uint32_t number));

/** @return whether no other thread is ready on the caller's VP, so that spinning delays none. */
MTI_EXPORT bool mti_is_only_ready(void);

/** @return scheduling points that a VP has passed, modulo 2^32; 0: no such VP. A clock of the VP
 * that costs one load. From any context. */
MTI_EXPORT uint32_t mti_vp_ticks(int vp);

/** @return whether a thread runs, and is not the caller. NULL, or a thread that has ended: false.
 */
MTI_EXPORT bool mti_runs_elsewhere(const struct mltp_thread *t);

/** Says in which call of the kernel a thread blocks its VP. From any context.
 * @return false: it does not block one. */
MTI_EXPORT bool mti_blocks_in(char *text, size_t size, const struct mltp_thread *t);

/** Where a thread is, for reports. */
struct mti_whereabouts {
  int task;          /**< the kernel thread that runs it; 0: it does not run, and has a frame */
  const void *frame; /**< the last frame, of the library, in which it gave its VP away */
  bool ready;        /**< it waits for a VP alone */
};

/** Looks where an unbound thread is. From any context. @return false: it is not known. */
MTI_EXPORT bool mti_whereabouts(struct mti_whereabouts *where, const struct mltp_thread *t);

/** Says that the program's threads are MPI ranks. A theft then pays only if it also outweighs the
 * messages that cross between VPs while a rank is away (docs/design/013). */
MTI_EXPORT void mti_move_ranks(void);

#endif

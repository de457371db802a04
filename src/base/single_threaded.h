/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file single_threaded.h
 * Whether nobody can come between a load and a store of the caller's. What needs a locked
 * instruction elsewhere (7 ns of 16 for a lock and an unlock, docs/design/016) is done without
 * then. What is stored is the same, so the answer may change at any time: each operation asks anew.
 *
 * One kernel thread has the *bias* while no other has used an internal lock. There may be others,
 * such as the monitor (core/sched/monitor.h). The bias is lost for good when another kernel thread
 * comes to a lock. Each kernel thread has two bytes of its own, so the
 * owner needs one instruction for each step (labels BI-n):
 *   its owner  inside = 1; light fence; looks whether `share` is still MINE; load, store;
 *              inside = 0
 *   another    bias = REVOKED; the owner's share = UNKNOWN; heavy fence; waits for the owner's
 *              inside == 0; bias = NONE; its own share = SHARED
 * Either the owner sees that the bias is revoked or the other sees that the owner is inside. While
 * one revokes the others wait. A kernel thread comes with share UNKNOWN, so its first operation
 * takes the slow way, and no later one has to look at what all share.
 *
 * Only the owner's `inside` counts: the others leave theirs at 1.
 *
 * Rejected: libc's flag, which says that the process has one kernel thread. The monitor is one
 * more.
 */
#ifndef MT_BASE_SINGLE_THREADED_H
#define MT_BASE_SINGLE_THREADED_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/fence.h"

enum mt_bias_share { MT_BIAS_UNKNOWN, MT_BIAS_SHARED, MT_BIAS_MINE };

/** What a kernel thread knows of the bias. mt_arch_tls_enter() has the order of the two bytes, and
 * that of the values of `share`. */
struct mt_bias_block {
  uint8_t inside; /* [atomic] 1: the owner is between the load and the store; its thread writes */
  uint8_t share;  /* [atomic] enum mt_bias_share; its thread writes, or a revoker */
};

extern __thread struct mt_bias_block mt_bias_block __attribute__((tls_model("initial-exec")));

/** Gives the calling kernel thread the bias. It is the only one of the process, or was when it got
 * the bias, and asymmetric fences can be had; else nothing happens. */
void mt_bias_take(void);

/** In a child of fork(): nobody has it. */
void mt_bias_forget(void);

/** The caller's share was UNKNOWN: from now on it is SHARED, and nobody has the bias. */
void mt_bias_settle(void);

/** @return where the caller's two bytes are: the same for all kernel threads. */
static inline uintptr_t mt_bias_here(void) { return MT_ARCH_TLS_OFFSET(mt_bias_block); }

/** @param here mt_bias_here()
 * @return whether the caller may load and store without a locked instruction, up to
 * mt_alone_end(): MINE. SHARED: it may not. UNKNOWN: mt_bias_settle() comes first, then it may not.
 * Nothing that waits comes in between. */
static inline enum mt_bias_share mt_alone_begin(uintptr_t here) {
  /* BI-4 asm: inside before share, a light fence; the bias exists only where it is a fence of the
   * compiler; pairs BI-2 */
  int order = mt_arch_tls_enter(here);
  return order > 0 ? MT_BIAS_MINE : order < 0 ? MT_BIAS_UNKNOWN : MT_BIAS_SHARED;
}

/** The same, where a few instructions count: the processor jumps unless it is MINE. Beside the
 * locked instruction that another share costs, a jump is nothing. */
static inline enum mt_bias_share mt_alone_begin_mine(uintptr_t here) {
  /* BI-9 asm: as BI-4; pairs BI-2 */
  int order = mt_arch_tls_enter_above(here);
  return mt_likely(order > 0) ? MT_BIAS_MINE : order < 0 ? MT_BIAS_UNKNOWN : MT_BIAS_SHARED;
}

/* BI-1 asm: a release: what was stored inside; pairs BI-3 */
static inline void mt_alone_end(uintptr_t here) { mt_arch_tls_leave(here); }

/** Before a locked instruction on a word that the owner may load and store: nobody else has the
 * bias from now on. */
static inline void mt_bias_claim(void) {
  uintptr_t here = mt_bias_here();
  if (mt_unlikely(mt_alone_begin(here) == MT_BIAS_UNKNOWN))
    mt_bias_settle();
  else
    mt_alone_end(here);
}

#endif

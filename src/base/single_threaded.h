/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file single_threaded.h
 * Whether nobody can come between a load and a store of the caller's. What needs a locked
 * instruction elsewhere (7 ns of 16 for a lock and an unlock, docs/design/016) is done without
 * then. What is stored is the same, so the answer may change at any time: each operation asks anew.
 *
 * Two cases. The process has one kernel thread, as libc says: that changes only where the thread
 * itself calls libc to start another. Or the kernel thread has the *bias*: there are others, such
 * as the monitor (core/sched/handover.h), but none has used an internal lock yet.
 *
 * The bias is lost for good when another kernel thread comes to a lock (labels BI-n):
 *   its owner  inside = 1; light fence; looks whether the bias is still its own; load, store;
 *              inside = 0
 *   another    bias = REVOKED; heavy fence; waits for inside == 0; bias = NONE
 * Either the owner sees that the bias is revoked or the other sees that the owner is inside. While
 * one revokes the others wait.
 */
#ifndef MT_BASE_SINGLE_THREADED_H
#define MT_BASE_SINGLE_THREADED_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/fence.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h> /* glibc 2.32 */
static inline bool mt_single_threaded(void) { return __libc_single_threaded != 0; }
#else
static inline bool mt_single_threaded(void) { return false; }
#endif

enum mt_bias_state { MT_BIAS_NONE, MT_BIAS_OWNED, MT_BIAS_REVOKED };

/** The bias. Hidden: one instruction tests it, also in the shared library. */
extern struct mt_bias {
  uint32_t state;  /* [atomic] enum mt_bias_state */
  uint32_t inside; /* [atomic] 1: its owner is between the load and the store; the owner writes */
} mt_bias __attribute__((visibility("hidden")));

/** Whether the kernel thread is the owner: NULL: no. A pointer for MT_ARCH_TLS_READ(). */
extern __thread char *mt_bias_mine __attribute__((tls_model("initial-exec")));

/** Gives the calling kernel thread the bias. It is the only one of the process, or was when it got
 * the bias, and asymmetric fences can be had; else nothing happens. */
void mt_bias_take(void);

/** In a child of fork(): nobody has it. */
void mt_bias_forget(void);

/** The caller is not the owner: nobody is from now on. */
void mt_bias_revoke(void);

/* The owner's part of mt_alone_begin(). */
static inline bool mt_bias_enter(void) {
  if (MT_ARCH_TLS_READ(mt_bias_mine) == NULL) {
    mt_bias_revoke();
    return false;
  }
  mt_store_relaxed(&mt_bias.inside, 1); /* relaxed: the fence orders it */
  mt_fence_light();                     /* BI-4 light fence: inside before the state; pairs BI-2 */
  uint32_t state = mt_load_relaxed(&mt_bias.state); /* relaxed: the fence orders it */
  if (mt_likely(state == MT_BIAS_OWNED)) return true;
  mt_store_relaxed(&mt_bias.inside, 0); /* relaxed: nothing was done inside */
  return false;
}

/** @return whether the caller may load and store without a locked instruction, up to
 * mt_alone_end(). Nothing that waits comes in between. */
static inline bool mt_alone_begin(void) {
  if (mt_single_threaded()) return true;
  /* relaxed: a caller that is not the owner may see an old NONE only if it had none to revoke */
  if (mt_likely(mt_load_relaxed(&mt_bias.state) == MT_BIAS_NONE)) return false;
  return mt_bias_enter();
}

static inline void mt_alone_end(void) {
  mt_store_release(&mt_bias.inside, 0); /* BI-1 release: what was stored inside; pairs BI-3 */
}

#endif

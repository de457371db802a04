/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving the bias to a kernel thread, and taking it away; the header has the protocol.
 *
 * Relaxed: what the one kernel thread of a process writes.
 */
#include "base/single_threaded.h"

#include "os/os.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_BIAS 0 /* ThreadSanitizer does not know fences */
#elif defined(__has_feature)
#define HAS_BIAS (!__has_feature(thread_sanitizer))
#else
#define HAS_BIAS 1
#endif

struct mt_bias mt_bias;
__thread char *mt_bias_mine;

void mt_bias_take(void) {
  bool may = mt_single_threaded() && mt_fence_asymmetric && HAS_BIAS;
  if (!may || mt_load_relaxed(&mt_bias.state) != MT_BIAS_NONE) return; /* relaxed: one thread */
  MT_ARCH_TLS_WRITE(mt_bias_mine, (char *)&mt_bias);
  mt_store_relaxed(&mt_bias.state, MT_BIAS_OWNED); /* relaxed: pthread_create() orders it */
}

void mt_bias_forget(void) {
  MT_ARCH_TLS_WRITE(mt_bias_mine, (char *)NULL);
  mt_store_relaxed(&mt_bias.inside, 0); /* relaxed: a child of fork() has one kernel thread */
  mt_store_relaxed(&mt_bias.state, MT_BIAS_NONE);
}

void mt_bias_revoke(void) {
  uint32_t owned = MT_BIAS_OWNED;
  if (mt_cas_relaxed(&mt_bias.state, &owned, MT_BIAS_REVOKED)) { /* relaxed: the fence orders it */
    mt_fence_heavy(); /* BI-2 heavy fence: the state before inside; pairs BI-4 */
    while (mt_load_acquire(&mt_bias.inside) != 0) os_yield(); /* BI-3 acquire: pairs BI-1 */
    mt_store_release(&mt_bias.state,
                     MT_BIAS_NONE); /* BI-5 release: the owner's stores; pairs BI-6 */
  } else {
    /* BI-6 acquire: as if the caller had waited for the owner itself; pairs BI-5 */
    while (mt_load_acquire(&mt_bias.state) != MT_BIAS_NONE) os_yield();
  }
}

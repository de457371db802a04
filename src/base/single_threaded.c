/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving the bias to a kernel thread, and taking it away; the header has the protocol.
 *
 * Relaxed: what the one kernel thread of a process writes.
 */
#include "base/single_threaded.h"

#include "os/os.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h> /* glibc 2.32 */
static bool single_threaded(void) { return __libc_single_threaded != 0; }
#else
static bool single_threaded(void) { return false; }
#endif

#if defined(__SANITIZE_THREAD__)
#define HAS_BIAS 0 /* ThreadSanitizer does not know fences */
#elif defined(__has_feature)
#define HAS_BIAS (!__has_feature(thread_sanitizer))
#else
#define HAS_BIAS 1
#endif

enum { NONE, OWNED, REVOKED };

static struct {
  uint32_t state;              /* [atomic] NONE, OWNED, REVOKED */
  struct mt_bias_block *owner; /* [const] while there is one */
} bias;

__thread struct mt_bias_block mt_bias_block;

/* libc's flag stays false once it has been. So the owner is the process's first kernel thread,
 * whose thread-local data stay until the process ends. */
void mt_bias_take(void) {
  if (!single_threaded() || !mt_fence_asymmetric || !HAS_BIAS) return;
  if (mt_load_relaxed(&bias.state) != NONE) return; /* relaxed: one thread */
  bias.owner = &mt_bias_block;
  mt_store_relaxed(&mt_bias_block.inside, 0);
  mt_store_relaxed(&mt_bias_block.share, MT_BIAS_MINE);
  mt_store_relaxed(&bias.state, OWNED); /* relaxed: pthread_create() orders it */
}

void mt_bias_forget(void) {
  /* relaxed: a child of fork() has one kernel thread */
  mt_store_relaxed(&mt_bias_block.share, MT_BIAS_UNKNOWN);
  mt_store_relaxed(&bias.state, NONE);
}

/* Takes the bias from its owner. The state is REVOKED. */
static void take_away(void) {
  mt_store_relaxed(&bias.owner->share, MT_BIAS_UNKNOWN); /* relaxed: the fence orders it */
  mt_fence_heavy(); /* BI-2 heavy fence: share before inside; pairs BI-4 BI-9 */
  while (mt_load_acquire(&bias.owner->inside) != 0) os_yield(); /* BI-3 acquire: pairs BI-1 BI-8 */
  mt_store_release(&bias.state, NONE); /* BI-5 release: the owner's stores; pairs BI-6 */
}

void mt_bias_settle(void) {
  uint32_t owned = OWNED;
  /* BI-8 release: nothing was done inside, but before it; pairs BI-3 */
  mt_store_release(&mt_bias_block.inside, 0);
  if (mt_cas_relaxed(&bias.state, &owned, REVOKED)) /* relaxed: the fence orders it */
    take_away();
  /* BI-6 acquire: as if the caller had waited for the owner itself; pairs BI-5 */
  while (mt_load_acquire(&bias.state) != NONE) os_yield();
  mt_store_relaxed(&mt_bias_block.share, MT_BIAS_SHARED);
}

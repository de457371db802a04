/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: the VP that sleeps in the poller changes under sleep.ilock; times are hints.
 */
#include "core/sched/poll.h"

#include <errno.h>

#include "core/det/det.h"
#include "core/sched/wake.h"
#include "core/timer/timer.h"

void mt_poll_now(struct mt_vp *here, uint64_t now) {
  const struct mt_poller *poller = mt_poller();
  if (poller == NULL || mt_load_relaxed(&mt_rt.poll.sleeper) != NULL) return;
  if (mt_load_relaxed(&mt_rt.poll.busy) != 0 || mt_or_relaxed(&mt_rt.poll.busy, 1) != 0) return;
  struct mt_poll_batch batch;
  mt_store_relaxed(&mt_rt.poll.polled_at, now);
  poller->wait(&batch, 0);
  mt_store_relaxed(&mt_rt.poll.busy, 0); /* relaxed: it orders nothing, the kernel has locks */
  if (batch.count == 0) return;
  poller->deliver(&batch, here);
  /* The first thread is the caller's. A VP that searches looks when its search ends. */
  if (here != NULL && !here->search.searching && mt_load_relaxed(&here->runq.length) > 1)
    mt_notice(here);
}

void mt_poll_install(const struct mt_poller *poller) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_release(&mt_rt.poll.poller, poller); /* IO-1 release: what it uses; pairs IO-2 */
  struct mt_vp *heir = mt_poll_heir();
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (heir != NULL) mt_vp_rouse(heir);
}

bool mt_poll_claim(struct mt_vp *vp) {
  if (mt_poller() == NULL || mt_load_relaxed(&mt_rt.poll.sleeper) != NULL) return false;
  if (mt_load_relaxed(&mt_rt.idle.awake) != 0) return false;
  mt_store_relaxed(&mt_rt.poll.sleeper, vp);
  return true;
}

int mt_poll_sleep(struct mt_vp *vp, uint64_t deadline) {
  const struct mt_poller *poller = mt_poller();
  struct mt_poll_batch batch;
  poller->wait(&batch, deadline);
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_relaxed(&mt_rt.poll.sleeper, NULL);
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (batch.count == 0) return os_now() >= deadline ? ETIMEDOUT : 0;
  mt_vp_sleep_cancel(vp);
  mt_count_searching(vp, true);
  poller->deliver(&batch, vp);
  return 0;
}

bool mt_poll_det(struct mt_vp *vp) {
  const struct mt_poller *poller = mt_poller();
  if (poller == NULL || mt_rt.poll.waiters == 0) return false;
  uint64_t first = mt_timers_earliest(), now = mt_det_now();
  if (first == MLTP_NEVER) return false; /* it goes to sleep, and sleeps in the poller */
  struct mt_poll_batch batch;
  poller->wait(&batch, os_now() + (first > now ? first - now : 0));
  if (batch.count != 0) poller->deliver(&batch, vp);
  return batch.count != 0;
}

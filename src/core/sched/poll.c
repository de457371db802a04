/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: the VP that sleeps in the poller changes under sleep.ilock; times are hints.
 */
#include "core/sched/poll.h"

#include <errno.h>

#include "core/det/det.h"
#include "core/sched/wake.h"
#include "core/timer/timer.h"
#include "core/vp/tuned.h"
#include "policy/wait.h"

/* ---- which VP runs what was found */

/* Another VP may have lost its CPU after `now`. */
static struct mt_alone_seen taken_seen(uint64_t now) {
  uint64_t taken_at = mt_load_relaxed(&mt_rt.poll.taken_at);
  return (struct mt_alone_seen){.level = mt_load_relaxed(&mt_rt.poll.taken_level),
                                .since_ns = now > taken_at ? now - taken_at : 0};
}

bool mt_poll_rests(uint64_t now) { return mt_alone_rests(taken_seen(now)); }

static struct mt_batch_seen batch_seen(const struct mt_vp *vp, uint64_t count, uint64_t now) {
  return (struct mt_batch_seen){.count = count,
                                .most = MT_POLL_EVENTS,
                                .each_ns = vp->search.each_ns,
                                .wake_ns = mt_tuned(MT_IDLE_SPIN_NS),
                                .taken = mt_poll_rests(now)};
}

static void deliver(const struct mt_poller *poller, const struct mt_poll_batch *batch,
                    struct mt_vp *here, uint64_t now) {
  poller->deliver(batch, here);
  if (here == NULL) return;
  const struct mt_batch_seen seen = batch_seen(here, (uint64_t)batch->count, now);
  bool kept = mt_batch_is_kept(seen);
  here->search.batch = (uint32_t)batch->count;
  here->search.batch_at = now;
  here->search.kept = kept ? (uint32_t)batch->count : 0;
  mt_store_relaxed(&mt_rt.poll.keeps_until, now + mt_batch_kept_ns(seen));
  mt_store_relaxed(&mt_rt.poll.keeps, kept ? here : NULL);
}

/* @return whether another program had the CPU meanwhile. A VP that blocked was not interrupted. */
static bool lost_cpu(struct mt_vp *vp, uint64_t now) {
  struct mt_vp_search *search = &vp->search;
  uint64_t expected = mt_batch_kept_ns(batch_seen(vp, search->batch, now));
  if (now - search->batch_at < expected + MT_TAKEN_NS) return false;
  uint64_t before = search->batch_taken;
  search->batch_taken = os_thread_taken();
  return search->batch_taken != before;
}

void mt_poll_judge(struct mt_vp *vp, uint64_t now) {
  struct mt_vp_search *search = &vp->search;
  if (search->batch == 0) return;
  if (!lost_cpu(vp, now)) {
    search->each_ns = mt_batch_each_ns(search->each_ns, (now - search->batch_at) / search->batch);
  } else { /* what the loss itself took does not count: wait/alone.c says why */
    mt_store_relaxed(&mt_rt.poll.taken_level, mt_alone_level(taken_seen(search->batch_at)));
    mt_store_relaxed(&mt_rt.poll.taken_at, now);
  }
  search->batch = 0;
  /* It searches now. */
  if (mt_load_relaxed(&mt_rt.poll.keeps) == vp)
    mt_store_relaxed(&mt_rt.poll.keeps_until, now + 2 * mt_tuned(MT_IDLE_SPIN_NS));
}

void mt_poll_now(struct mt_vp *here, uint64_t now) {
  const struct mt_poller *poller = mt_poller();
  if (poller == NULL || mt_load_relaxed(&mt_rt.poll.sleeper) != NULL) return;
  if (here != NULL && mt_poll_is_left(here, now)) return;
  if (mt_load_relaxed(&mt_rt.poll.busy) != 0 || mt_or_relaxed(&mt_rt.poll.busy, 1) != 0) return;
  struct mt_poll_batch batch;
  mt_store_relaxed(&mt_rt.poll.polled_at, now);
  poller->wait(&batch, 0);
  mt_store_relaxed(&mt_rt.poll.busy, 0); /* relaxed: it orders nothing, the kernel has locks */
  if (batch.count == 0) return;
  deliver(poller, &batch, here, now);
  /* The first thread is the caller's. A VP that searches looks when its search ends. */
  if (here != NULL && !here->search.searching && mt_load_relaxed(&here->runq.length) > 1 &&
      mt_load_relaxed(&here->runq.length) > here->search.kept)
    mt_notice(here);
}

void mt_poll_install(const struct mt_poller *poller) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_release(&mt_rt.poll.poller, poller); /* IO-1 release: what it uses; pairs IO-2 */
  struct mt_vp *heir = mt_poll_heir();
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (heir != NULL) mt_vp_rouse(heir);
  mt_watch_pass_on(); /* a watchdog that is awake may not look for long */
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
  deliver(poller, &batch, vp, os_now());
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for words; await.h has the argument.
 *
 * Relaxed: counters and hints; what is under a bucket's internal lock.
 */
#include "core/wait/await.h"

#include <errno.h>
#include <string.h>

#include "base/fence.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/vp/vp.h"
#include "core/wait/await_index.h"
#include "core/wait/park.h"
#include "core/wait/spin_budget.h"
#include "instrument/decisions.h"
#include "mltp/await.h"
#include "policy/wait.h"

enum {
  BUCKETS = 256,
  TRIALS = 4,          /* of which the shortest counts */
  SPIN_NS_MOST = 50000 /* a machine that seems slower than that was disturbed */
};

static struct mt_await_bucket buckets[BUCKETS];
static struct mt_await_index indexes[BUCKETS]; /* [ilock: the bucket's] its waiters by predicate */

/* [atomic] How long a thread with a kernel thread of its own spins. */
static uint64_t spin_ns_outside;

struct mt_await_bucket *mt_await_bucket(const uint32_t *word) {
  uint64_t address = (uintptr_t)word / sizeof *word;
  return &buckets[address * 0x9e3779b97f4a7c15u >> 56];
}

static struct mt_await_index *index_of(const struct mt_await_bucket *bucket) {
  return &indexes[bucket - buckets];
}

void mt_await_forget(void) {
  memset(buckets, 0, sizeof buckets);
  memset(indexes, 0, sizeof indexes);
}

/* ---- how long a park takes */

/* Parks until a deadline that has passed already: to the idle context, and back. */
static void park_and_unpark(void) {
  mltp_waitq_t nobody = {0, 0, NULL, NULL};
  struct mltp_thread *self = mt_current();
  struct mt_timer timer;
  mt_timer_arm(&timer, self, 1);
  mt_ilock_lock(&nobody.ilock_);
  mt_timer_disarm(&timer, mt_wait(self, &nobody, false, MT_WHY_SLEEP, &timer));
}

/* Goes to sleep in the kernel until a deadline that has passed, and wakes nobody: what it
 * costs at least when a kernel thread parks. */
static void sleep_and_wake(void) {
  uint32_t word = 0;
  os_futex_wait(&word, 0, 1);
  os_futex_wake(&word, 1);
}

static uint64_t measure(void (*trial)(void)) {
  uint64_t best = SPIN_NS_MOST;
  for (int i = 0; i < TRIALS; i++) {
    uint64_t start = os_now();
    trial();
    uint64_t taken = os_now() - start;
    if (taken < best) best = taken;
  }
  return best;
}

void mt_await_init(void) {
  spin_ns_outside = mt_det_on ? 0 : (uint64_t)mt_options.await_spin_ns;
  if (mt_det_on || mt_here() == NULL) return;
  mt_tuning_know(MT_PARK_NS, measure(park_and_unpark));
}

/* Measured when the first such thread waits: few programs have any, and it takes tens of
 * microseconds. */
static uint64_t how_long_outside(void) {
  uint64_t ns = mt_load_relaxed(&spin_ns_outside); /* relaxed: all measurements are right */
  if (ns != (uint64_t)MT_MEASURED) return ns;
  ns = measure(sleep_and_wake);
  mt_store_relaxed(&spin_ns_outside, ns);
  return ns;
}

/* ---- waiting */

void mt_await_count(const struct mltp_thread *self, enum mt_await_end end) {
  if (self->vp != NULL)
    mt_count_owner(&self->vp->stats.awaits[end]);
  else
    mt_add_relaxed(&mt_rt.outside.awaits[end], 1);
}

/* @return true when the thread ran here when it last waited: what it needs is in this
 * VP's cache. A kernel thread of one's own is always the same. */
static bool has_affinity(struct mltp_thread *self) {
  if (self->vp == NULL) return true;
  uint32_t vp = self->vp->index + 1;
  bool here = self->waited_on == vp;
  self->waited_on = vp;
  return here;
}

/* @return whether a thread runs that may make the predicate hold. */
static bool waker_runs(const struct mltp_thread *self, const struct mltp_thread *waker) {
  if (waker != NULL) return waker != self && mt_is_running(waker);
  return mt_load_relaxed(&mt_rt.idle.awake) > (self->vp != NULL) || mt_outside_may_post();
}

uint64_t mt_await_spin_ns(const struct mltp_thread *self) {
  if (mt_det_on) return 0; /* no other thread runs */
  return self->vp != NULL ? mt_tuned(MT_AWAIT_SPIN_NS) : how_long_outside();
}

bool mt_await_spin(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                   const struct mltp_thread *waker, uint64_t fixed_ns) {
  uint64_t most = mt_await_spin_ns(self);
  const struct mt_wait_seen seen = {.spin_ns = most,
                                    .affinity = most != 0 && has_affinity(self),
                                    .waker_runs = most != 0 && waker_runs(self, waker),
                                    .fixed_ns = mt_det_on ? 0 : fixed_ns};
  uint64_t ns = mt_decided("wait_spin_ns", &seen, sizeof seen, mt_wait_spin_ns(seen));
  if (ns == 0) return false;
  if (seen.fixed_ns != 0) waker = NULL;
  struct mt_spin_budget budget = mt_spin_budget_begin(ns);
  while (mt_spin_budget_left(&budget, waker)) {
    if (ended(what)) {
      mt_await_count(self, MT_AWAIT_PAID);
      return true;
    }
  }
  mt_await_count(self, MT_AWAIT_FAILED);
  return false;
}

/* Under the internal lock. */
static void uncount(struct mt_await_bucket *bucket, uint32_t waiters) {
  mt_store_relaxed(&bucket->waiters, bucket->waiters - waiters);
}

static int park(struct mltp_thread *self, const struct mt_await *predicate,
                struct mt_timer *timer) {
  struct mt_await_bucket *bucket = mt_await_bucket(predicate->word);
  mt_step("await: to the bucket");
  mt_ilock_lock(&bucket->queue.ilock_);
  /* AW-2 seq_cst: before the look; pairs AW-4 AW-6 */
  mt_store_seq_cst(&bucket->waiters, bucket->waiters + 1);
  /* AW-3 seq_cst: after the count; pairs AW-1 AW-6 */
  if ((mt_load_seq_cst(predicate->word) == predicate->value) == predicate->equal) {
    uncount(bucket, 1);
    mt_ilock_unlock(&bucket->queue.ilock_);
    return 0;
  }
  self->awaits = predicate;
  mt_await_count(self, MT_AWAIT_PARKED);
  struct mt_await_waiter waiter; /* not initialised if there are few */
  bool indexed = bucket->indexed != 0 || bucket->queue.count_ >= MT_AWAIT_FEW;
  self->wait_mode = indexed;
  if (indexed) {
    waiter.thread = self;
    waiter.predicate = predicate;
    mt_await_index_add(index_of(bucket), &waiter);
    bucket->indexed++;
  }
  int error = mt_wait(self, &bucket->queue, false, MT_WHY_AWAIT, timer);
  if (error == 0) return 0; /* the waker has decremented the count, and removed us from the index */
  mt_ilock_lock(&bucket->queue.ilock_);
  if (indexed) {
    mt_await_index_remove(index_of(bucket), &waiter);
    bucket->indexed--;
  }
  uncount(bucket, 1);
  mt_ilock_unlock(&bucket->queue.ilock_);
  return error;
}

static bool predicate_holds(const void *predicate) { return mt_await_holds(predicate); }

int mt_await_slow(struct mltp_thread *self, const struct mt_await *predicate,
                  const struct mltp_thread *waker, uint64_t deadline) {
  if (mt_await_spin(self, predicate_holds, predicate, waker, 0)) return 0;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  return mt_timer_disarm(&timer, park(self, predicate, &timer));
}

/* Moves the waiters of a group whose predicate holds to a chain. A waiter that a timer has taken
 * out of the queue removes itself. Under the internal lock. @return how many. */
static uint32_t take_group(struct mt_await_bucket *bucket, const struct mt_await *predicate,
                           struct mltp_thread ***link) {
  uint32_t taken = 0;
  struct mt_await_node *node = mt_await_index_find(index_of(bucket), predicate);
  for (struct mt_await_node *next; node != NULL; node = next) {
    next = node->next;
    struct mltp_thread *t = node->waiter->thread;
    if (mt_load_relaxed(&t->waitq) != &bucket->queue || !mt_await_holds(&node->key)) continue;
    mt_await_index_remove(index_of(bucket), node->waiter);
    bucket->indexed--;
    mt_waitq_remove(&bucket->queue, t);
    **link = t;
    *link = &t->next;
    taken++;
  }
  return taken;
}

/* Without a waiter for the word, the word may be gone. */
static uint32_t take_indexed(struct mt_await_bucket *bucket, const uint32_t *word,
                             struct mltp_thread ***link) {
  const struct mt_await any = {word, 0, MT_AWAIT_ANY};
  if (mt_await_index_find(index_of(bucket), &any) == NULL) return 0;
  /* AW-7 acquire: a store of another value comes with a wake of its own; pairs AW-1 */
  uint32_t value = mt_load_acquire(word);
  uint32_t taken = take_group(bucket, &(struct mt_await){word, value, true}, link);
  return taken + take_group(bucket, &(struct mt_await){word, value, false}, link);
}

/* The few that are not indexed are in front of the queue. */
void mt_await_wake_slow(struct mt_await_bucket *bucket, const uint32_t *word) {
  struct mltp_thread *first = NULL, **link = &first;
  uint32_t woken = 0;
  mt_ilock_lock(&bucket->queue.ilock_);
  for (struct mltp_thread *t = bucket->queue.head_, *next; t != NULL && !t->wait_mode; t = next) {
    next = t->next;
    if (t->awaits->word != word || !mt_await_holds(t->awaits)) continue;
    mt_waitq_remove(&bucket->queue, t);
    *link = t;
    link = &t->next;
    woken++;
  }
  if (mt_unlikely(bucket->indexed != 0)) woken += take_indexed(bucket, word, &link);
  *link = NULL;
  uncount(bucket, woken);
  mt_ilock_unlock(&bucket->queue.ilock_);
  if (woken == 1)
    mt_resume(first);
  else
    mt_resume_chain(first);
}

/* ---- the public calls */

static int await(const char *call, const uint32_t *word, uint32_t value, bool equal,
                 const mltp_t *waker, uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call);
  const struct mt_await predicate = {word, value, equal};
  return mt_await(self, &predicate, waker, deadline);
}

int mltp_await(const uint32_t *word, uint32_t value, const mltp_t *waker) {
  return await("mltp_await", word, value, true, waker, MLTP_NEVER);
}

int mltp_await_timed(const uint32_t *word, uint32_t value, const mltp_t *waker, uint64_t deadline) {
  return await("mltp_await_timed", word, value, true, waker, deadline);
}

int mltp_await_not(const uint32_t *word, uint32_t value, const mltp_t *waker) {
  return await("mltp_await_not", word, value, false, waker, MLTP_NEVER);
}

int mltp_await_not_timed(const uint32_t *word, uint32_t value, const mltp_t *waker,
                         uint64_t deadline) {
  return await("mltp_await_not_timed", word, value, false, waker, deadline);
}

void mltp_await_store(uint32_t *word, uint32_t value) {
  mt_await_store(word, value);
  mt_preempt("mltp_await_store");
}

void mltp_await_wake(const uint32_t *word) {
  struct mt_await_bucket *bucket = mt_await_bucket(word);
  mt_fence_full(); /* AW-6 full fence: the caller's store before the count; pairs AW-2 AW-3 */
  if (mt_load_relaxed(&bucket->waiters) != 0) mt_await_wake_slow(bucket, word);
  mt_preempt("mltp_await_wake");
}

int mltp_await_counts(mltp_await_counters_t *counters) {
  if (counters->size < sizeof *counters) return EINVAL;
  uint64_t sum[3];
  for (int end = 0; end < 3; end++) sum[end] = mt_load_relaxed(&mt_rt.outside.awaits[end]);
  for (uint32_t i = 0, vps = mt_vp_count(); i < vps; i++)
    for (int end = 0; end < 3; end++) sum[end] += mt_load_relaxed(&mt_rt.vps[i]->stats.awaits[end]);
  counters->spins_paid = sum[MT_AWAIT_PAID];
  counters->spins_failed = sum[MT_AWAIT_FAILED];
  counters->parks = sum[MT_AWAIT_PARKED];
  return 0;
}

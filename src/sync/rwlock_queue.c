/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a readers-writer lock, and releasing one that has waiters: phase-fair
 * (Brandenburg and Anderson, 2009).
 *
 * While WAITERS is set in the word (rwlock.h) a thread can acquire the lock only through the
 * queue, and the last holder releases it under the internal lock.
 *
 * Queue: readers in front, then writers in order of arrival. A writer that releases admits
 * all readers; the last reader that releases admits the first writer. It searches for that
 * writer past the readers that came meanwhile. It passes each of them once only, since the
 * end of that writer admits them.
 *
 * Invariant, under the internal lock: if the queue is not empty, WAITERS is set and the lock
 * has a holder. Only a deadline leaves WAITERS without waiters, or readers behind a writer
 * that has left. The waiter that gave up corrects that (give_up()).
 *
 * The lock is never set free under the internal lock, only handed over. So the next holder
 * can release it and free its memory without disturbing the last holder.
 *
 * Explored by tests/models/rwlock.pml.
 *
 * Rejected: a new reader after a waiting writer as long as others read (starves
 * writers); writers before readers (starves readers); a second queue for readers
 * (two internal locks for each change); counting readers by an addition that is taken back
 * when a writer is there (the count is then wrong for the writer, for a gain under
 * contention among readers only).
 *
 * Relaxed: the word as a hint, because the compare-and-swap that follows checks it; and all
 * changes under the internal lock that order nothing for callers of the fast path.
 */
#include <errno.h>

#include "base/options.h"
#include "core/wait/spin_budget.h"
#include "sync/rwlock.h"

static bool is_last_reader(uint64_t word) { return mt_rw_readers(word) == 1; }

/* Waits on the processor for a writer that runs. @return true: acquired. */
static bool spin(mltp_rwlock_t *lock, const struct mltp_thread *self, enum mt_rw_mode mode) {
  struct mt_spin_budget budget = mt_spin_budget_begin(mt_tuned(MT_LOCK_SPIN_NS));
  struct mltp_thread *writer;
  do {
    if (mt_rw_take(lock, self, mode)) return true;
    writer = mt_rw_writer(mt_load_relaxed(&lock->word_)); /* relaxed: a hint */
  } while (writer != NULL && mt_spin_budget_left(&budget, writer));
  return false;
}

/* Under the internal lock: acquires, or makes sure that the last holder will come for us.
 * @return true: acquired. */
static bool take_or_mark(mltp_rwlock_t *lock, const struct mltp_thread *self,
                         enum mt_rw_mode mode) {
  if (lock->queue_.count_ != 0) return false;
  uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swaps check it */
  while (true) {
    uint64_t next = mt_rw_with(word & ~(uint64_t)MT_RW_WAITERS, self, mode);
    if (next != 0) {
      if (mt_cas_acquire(&lock->word_, &word, next)) /* RW-2 acquire: pairs RW-3 RW-4 */
        return true;
    } else if (word & MT_RW_WAITERS || mt_cas_relaxed(&lock->word_, &word, word | MT_RW_WAITERS)) {
      return false; /* relaxed: the internal lock orders the queue */
    }
  }
}

/* Takes the readers out of the queue, linked by next in order of arrival. Internal lock held. */
static struct mltp_thread *pop_readers(mltp_waitq_t *q, uint64_t *word) {
  struct mltp_thread *chain = NULL, *t;
  while ((t = q->head_) != NULL && t->wait_mode == MT_RW_READ) {
    mt_waitq_remove(q, t);
    t->next = chain;
    chain = t;
    *word = (*word | MT_RW_READERS) + MT_RW_ONE_READER;
  }
  return chain;
}

/* Writers are behind all readers, so the last one tells. */
static bool writer_waits(const mltp_waitq_t *q) {
  const struct mltp_thread *last = q->tail_;
  return last != NULL && last->wait_mode == MT_RW_WRITE;
}

static struct mltp_thread *first_writer(const mltp_waitq_t *q) {
  struct mltp_thread *t = q->head_;
  while (t != NULL && t->wait_mode == MT_RW_READ) t = t->next;
  return t;
}

/* Hands the caller's lock to waiters. @return false: there are no more waiters, or
 * the caller is no longer the last reader; it holds the lock as before. */
static bool hand_over(mltp_rwlock_t *lock) {
  mltp_waitq_t *q = &lock->queue_;
  mt_step("rwlock unlock: to the queue");
  mt_ilock_lock(&q->ilock_);
  uint64_t word = mt_load_acquire(&lock->word_); /* RW-5 acquire: all readers; pairs RW-3 */
  bool reading = word & MT_RW_READERS;
  if (q->count_ == 0 || (reading && !is_last_reader(word))) {
    if (q->count_ == 0) mt_and_relaxed(&lock->word_, ~(uint64_t)MT_RW_WAITERS);
    mt_ilock_unlock(&q->ilock_);
    return false;
  }
  struct mltp_thread *first = q->head_, *chain;
  struct mltp_thread *writer = reading || first->wait_mode == MT_RW_WRITE ? first_writer(q) : NULL;
  uint64_t next = (uint64_t)(uintptr_t)writer;
  if (writer != NULL) {
    mt_waitq_remove(q, writer);
    writer->next = NULL;
    chain = writer;
  } else {
    chain = pop_readers(q, &next);
  }
  if (q->count_ != 0) next |= MT_RW_WAITERS;
  /* RW-4 release: nobody else changes it now; pairs RW-1 RW-2 RW-6 */
  mt_store_release(&lock->word_, next);
  mt_ilock_unlock(&q->ilock_);
  mt_resume_chain(chain);
  return true;
}

/* A deadline took the caller out of the queue. Readers behind it need not wait for other
 * readers any more. */
static void give_up(mltp_rwlock_t *lock) {
  mltp_waitq_t *q = &lock->queue_;
  struct mltp_thread *chain = NULL;
  mt_step("rwlock: give up");
  mt_ilock_lock(&q->ilock_);
  uint64_t more = 0;
  /* it stays so while the queue is not empty. RW-6 acquire: for them; pairs RW-3 RW-4 */
  if (mt_load_acquire(&lock->word_) & MT_RW_READERS && !writer_waits(q))
    chain = pop_readers(q, &more);
  mt_add_relaxed(&lock->word_, more & ~(uint64_t)MT_RW_READERS);
  if (q->count_ == 0) mt_and_relaxed(&lock->word_, ~(uint64_t)MT_RW_WAITERS);
  mt_ilock_unlock(&q->ilock_);
  mt_resume_chain(chain);
}

int mt_rw_wait(mltp_rwlock_t *lock, struct mltp_thread *self, enum mt_rw_mode mode,
               struct mt_timer *timer) {
  if (spin(lock, self, mode)) return 0;
  mt_step("rwlock: to the queue");
  mltp_waitq_t *q = &lock->queue_;
  mt_ilock_lock(&q->ilock_);
  if (take_or_mark(lock, self, mode)) {
    mt_ilock_unlock(&q->ilock_);
    return 0;
  }
  self->wait_mode = (uint8_t)mode;
  bool reads = mode == MT_RW_READ;
  int error = mt_wait(self, q, reads, reads ? MT_WHY_RDLOCK : MT_WHY_WRLOCK, timer);
  if (error != 0) give_up(lock);
  return error;
}

int mt_rw_release(mltp_rwlock_t *lock, const struct mltp_thread *self) {
  while (true) {
    uint64_t word = mt_load_relaxed(&lock->word_); /* relaxed: the swap checks it */
    bool writing = mt_rw_writer(word) == self;
    if (!writing && (word & MT_RW_READERS) == 0) return EPERM;
    bool last = writing || is_last_reader(word);
    if (last && word & MT_RW_WAITERS) {
      if (hand_over(lock)) return 0;
      continue;
    }
    uint64_t next = last ? 0 : word - MT_RW_ONE_READER;
    mt_step("rwlock unlock: swap");
    /* RW-3 release: pairs RW-1 RW-2 RW-5 RW-6 */
    if (mt_cas_release(&lock->word_, &word, next)) return 0;
  }
}

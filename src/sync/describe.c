/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread waits for. Its descriptor says why, and in which queue; the queue
 * lies inside the object. So a wait pays nothing for being described.
 *
 * Relaxed: a snapshot; nothing follows from it.
 */
#include "sync/describe.h"

#include "base/log.h"
#include "core/thread.h"
#include "mltp/latch.h"
#include "mltp/once.h"
#include "sync/channel.h"
#include "sync/lock.h"
#include "sync/rwlock.h"

#define OBJECT_OF(q, type, member) ((const type *)((const char *)(q) - offsetof(type, member)))

static const char *text(const char *name) { return name != NULL ? name : ""; }

static void describe_thread(int fd, const char *before, const struct mltp_thread *t) {
  if (t != NULL)
    mt_print(fd, "%s thread %lu '%s'", before, (unsigned long)t->id, mt_name(t));
  else
    mt_print(fd, "%s nobody", before);
}

static void describe_object(int fd, const char *kind, const void *object, const char *name) {
  mt_print(fd, "%s %p '%s'", kind, object, text(name));
}

MT_NO_TSAN static void describe_lock(int fd, const mltp_lock_t *lock) {
  const struct mt_lock_ops *ops = mt_lock_ops(lock);
  describe_object(fd, "lock", lock, lock->name_);
  describe_thread(fd, " (held by", ops != NULL ? ops->holder(lock) : NULL);
  mt_print(fd, ")");
}

MT_NO_TSAN static void describe_cond(int fd, const mltp_cond_t *cond) {
  describe_object(fd, "condition", cond, cond->name_);
}

MT_NO_TSAN static void describe_barrier(int fd, const mltp_barrier_t *barrier) {
  describe_object(fd, "barrier", barrier, barrier->name_);
  mt_print(fd, " (%u of %u have come)", barrier->queue_.count_, barrier->needed_);
}

MT_NO_TSAN static void describe_sem(int fd, const mltp_sem_t *sem) {
  describe_object(fd, "semaphore", sem, sem->name_);
}

MT_NO_TSAN static void describe_channel(int fd, const struct mt_place *place) {
  const mltp_case_t *c = place->cases;
  describe_object(fd, "channel", c->channel, c->channel->name);
  mt_print(fd, " to %s (%zu of %zu are in it)", c->op == MLTP_SEND ? "send" : "receive",
           mltp_channel_length(c->channel), c->channel->capacity);
}

MT_NO_TSAN static void describe_select(int fd, const struct mt_place *place) {
  mt_print(fd, "select among %zu channels", place->count);
}

MT_NO_TSAN static void describe_latch(int fd, const mltp_latch_t *latch) {
  describe_object(fd, "latch", latch, latch->name_);
  mt_print(fd, " (%lu still to come)", (unsigned long)latch->left_);
}

MT_NO_TSAN static void describe_waitgroup(int fd, const mltp_waitgroup_t *group) {
  describe_object(fd, "wait group", group, group->latch_.name_);
  mt_print(fd, " (%lu not done)", (unsigned long)group->latch_.left_);
}

MT_NO_TSAN static void describe_once(int fd, const mltp_once_t *once) {
  mt_print(fd, "once %p", (const void *)once);
  describe_thread(fd, " (run by", once->runner_);
  mt_print(fd, ")");
}

MT_NO_TSAN static void describe_rwlock(int fd, const mltp_rwlock_t *lock, const char *wish) {
  uint64_t word = mt_load_relaxed(&lock->word_), readers = mt_rw_readers(word);
  describe_object(fd, "readers-writer lock", lock, lock->name_);
  mt_print(fd, ", to %s", wish);
  if (readers != 0)
    mt_print(fd, " (held by %lu readers", (unsigned long)readers);
  else
    describe_thread(fd, " (held for writing by", mt_rw_writer(word));
  mt_print(fd, ")");
}

MT_NO_TSAN void mt_describe_wait(int fd, const struct mltp_thread *t) {
  enum mt_why why = (enum mt_why)mt_load_relaxed(&t->why);
  const mltp_waitq_t *q = mt_load_relaxed(&t->waitq);
  if (q == NULL && why != MT_WHY_SLEEP && why != MT_WHY_FINALIZE)
    why = MT_WHY_NOTHING; /* woken this very moment */
  switch (why) {
    case MT_WHY_NOTHING: mt_print(fd, "nothing"); break;
    case MT_WHY_LOCK: describe_lock(fd, OBJECT_OF(q, mltp_lock_t, queue_)); break;
    case MT_WHY_COND: describe_cond(fd, OBJECT_OF(q, mltp_cond_t, queue_)); break;
    case MT_WHY_BARRIER: describe_barrier(fd, OBJECT_OF(q, mltp_barrier_t, queue_)); break;
    case MT_WHY_SEM: describe_sem(fd, OBJECT_OF(q, mltp_sem_t, queue_)); break;
    case MT_WHY_CHANNEL: describe_channel(fd, OBJECT_OF(q, struct mt_place, queue)); break;
    case MT_WHY_SELECT: describe_select(fd, OBJECT_OF(q, struct mt_place, queue)); break;
    case MT_WHY_LATCH: describe_latch(fd, OBJECT_OF(q, mltp_latch_t, queue_)); break;
    case MT_WHY_WAITGROUP:
      describe_waitgroup(fd, OBJECT_OF(q, mltp_waitgroup_t, latch_.queue_));
      break;
    case MT_WHY_ONCE: describe_once(fd, OBJECT_OF(q, mltp_once_t, queue_)); break;
    case MT_WHY_RDLOCK: describe_rwlock(fd, OBJECT_OF(q, mltp_rwlock_t, queue_), "read"); break;
    case MT_WHY_WRLOCK: describe_rwlock(fd, OBJECT_OF(q, mltp_rwlock_t, queue_), "write"); break;
    case MT_WHY_JOIN: describe_thread(fd, "join of", (const struct mltp_thread *)q); break;
    case MT_WHY_JOIN_TIMED:
      describe_thread(fd, "join of", OBJECT_OF(q, struct mt_timed_join, queue)->thread);
      break;
    case MT_WHY_SLEEP: mt_print(fd, "sleep"); break;
    case MT_WHY_FINALIZE: mt_print(fd, "end of all other threads"); break;
  }
}

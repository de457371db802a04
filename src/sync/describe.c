/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread waits for. Its descriptor says why, and in which queue; the queue
 * lies inside the object. So a wait pays nothing for being described.
 *
 * Objects may lie anywhere, and go when the wait ends: what is described is a copy, and
 * the description counts only if the thread still waits for the same afterwards.
 *
 * Relaxed: a snapshot; nothing follows from it.
 */
#include "sync/describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/peek.h"
#include "core/life/join.h"
#include "core/memory/descriptor.h"
#include "core/wait/await.h"
#include "mltp/latch.h"
#include "mltp/once.h"
#include "sync/barrier.h"
#include "sync/channel.h"
#include "sync/lock.h"
#include "sync/rwlock.h"

union object {
  mltp_lock_t lock;
  mltp_cond_t cond;
  mltp_barrier_t barrier;
  mltp_sem_t sem;
  mltp_latch_t latch;
  mltp_waitgroup_t group;
  mltp_once_t once;
  mltp_rwlock_t rwlock;
};

/* What does not fit is cut off. */
static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, MT_WAIT_TEXT_MAX - used, format, arguments);
  va_end(arguments);
}

static void add_thread(char *text, const char *before, const struct mltp_thread *t) {
  struct mltp_thread copy;
  char name[MT_NAME_MAX];
  if (t == NULL)
    add(text, "%s nobody", before);
  else if (mt_descriptor_peek(&copy, t))
    add(text, "%s thread %lu '%s'", before, (unsigned long)copy.id,
        mt_peek_name(name, mt_name(&copy)));
  else
    add(text, "%s a thread that has ended", before);
}

static void add_holder(char *text, const union object *o) {
  const struct mt_lock_ops *ops = mt_lock_ops(&o->lock);
  add_thread(text, " (held by", ops != NULL ? ops->holder(&o->lock) : NULL);
  add(text, ")");
}

static void add_come(char *text, const union object *o) {
  add(text, " (%u of %u have come)", mt_barrier_waiters(&o->barrier), o->barrier.needed_);
}

static void add_left(char *text, const union object *o) {
  add(text, " (%lu still to come)", (unsigned long)o->latch.left_);
}

static void add_undone(char *text, const union object *o) {
  add(text, " (%lu not done)", (unsigned long)o->group.latch_.left_);
}

static void add_runner(char *text, const union object *o) {
  add_thread(text, " (run by", o->once.runner_);
  add(text, ")");
}

static void add_rwlock(char *text, const char *mode, uint64_t word) {
  uint64_t readers = mt_rw_readers(word);
  add(text, ", to %s", mode);
  if (readers != 0)
    add(text, " (held by %lu readers", (unsigned long)readers);
  else
    add_thread(text, " (held for writing by", mt_rw_writer(word));
  add(text, ")");
}

static void add_read(char *text, const union object *o) {
  add_rwlock(text, "read", o->rwlock.word_);
}

static void add_write(char *text, const union object *o) {
  add_rwlock(text, "write", o->rwlock.word_);
}

enum { NAMELESS = -1 };

/* By reason: what the object is, where in it the queue and the name are, and what else
 * there is to be said of it. */
static const struct kind {
  const char *words;
  size_t size;
  size_t queue;
  int name;
  void (*more)(char *text, const union object *o);
} kinds[] = {
#define KIND(words, type, more)                                                                    \
  {words, sizeof(type), offsetof(type, queue_), offsetof(type, name_), more}
    [MT_WHY_LOCK] = KIND("lock", mltp_lock_t, add_holder),
    [MT_WHY_COND] = KIND("condition", mltp_cond_t, NULL),
    [MT_WHY_BARRIER] = KIND("barrier", mltp_barrier_t, add_come),
    [MT_WHY_SEM] = KIND("semaphore", mltp_sem_t, NULL),
    [MT_WHY_LATCH] = KIND("latch", mltp_latch_t, add_left),
    [MT_WHY_WAITGROUP] = {"wait group", sizeof(mltp_waitgroup_t),
                          offsetof(mltp_waitgroup_t, latch_.queue_),
                          offsetof(mltp_waitgroup_t, latch_.name_), add_undone},
    [MT_WHY_ONCE] = {"once", sizeof(mltp_once_t), offsetof(mltp_once_t, queue_), NAMELESS,
                     add_runner},
    [MT_WHY_RDLOCK] = KIND("readers-writer lock", mltp_rwlock_t, add_read),
    [MT_WHY_WRLOCK] = KIND("readers-writer lock", mltp_rwlock_t, add_write),
#undef KIND
};

static const char gone[] = "which cannot be read: its memory is gone";

static void add_object(char *text, const struct kind *kind, const mltp_waitq_t *q) {
  union object o;
  const char *at = (const char *)((uintptr_t)q - kind->queue);
  add(text, "%s %p", kind->words, (const void *)at);
  if (!mt_peek(&o, at, kind->size)) {
    add(text, ", %s", gone);
    return;
  }
  if (kind->name != NAMELESS) {
    char name[MT_NAME_MAX];
    const char *from;
    memcpy(&from, (const char *)&o + kind->name, sizeof(const char *));
    add(text, " '%s'", mt_peek_name(name, from));
  }
  if (kind->more != NULL) kind->more(text, &o);
}

/* @return false: it is not there. */
static bool peek_record(struct mt_wait_record *record, const mltp_waitq_t *q) {
  return mt_peek(record, (const void *)((uintptr_t)q - offsetof(struct mt_wait_record, queue)),
                 sizeof *record);
}

static void add_channel(char *text, const mltp_waitq_t *q) {
  struct mt_wait_record record;
  mltp_case_t c;
  struct mltp_channel channel;
  char name[MT_NAME_MAX];
  if (peek_record(&record, q) && mt_peek(&c, record.cases, sizeof c) &&
      mt_peek(&channel, c.channel, sizeof channel))
    add(text, "channel %p '%s' to %s (%zu of %zu are in it)", (void *)c.channel,
        mt_peek_name(name, channel.name), c.op == MLTP_SEND ? "send" : "receive", channel.count,
        channel.capacity);
  else
    add(text, "a channel, %s", gone);
}

static void add_select(char *text, const mltp_waitq_t *q) {
  struct mt_wait_record record;
  if (peek_record(&record, q))
    add(text, "select among %zu channels", record.count);
  else
    add(text, "channels, %s", gone);
}

static void add_timed_join(char *text, const mltp_waitq_t *q) {
  struct mt_timed_join record;
  const void *at = (const void *)((uintptr_t)q - offsetof(struct mt_timed_join, queue));
  add_thread(text, "join of", mt_peek(&record, at, sizeof record) ? record.thread : NULL);
}

/* In the words of a library above this one: core/internal/park.h. */
static void add_given(char *text, const char *waiting_for) {
  char what[MT_NAME_MAX];
  add(text, "%s", mt_peek_name(what, waiting_for));
}

/* The predicate is on the thread's stack, the word wherever the program has it. */
static void add_await(char *text, const struct mt_await *at) {
  struct mt_await predicate;
  uint32_t now;
  if (!mt_peek(&predicate, at, sizeof predicate)) {
    add(text, "a word, %s", gone);
    return;
  }
  add(text, "word %p to %s %u", (const void *)predicate.word,
      predicate.equal ? "be" : "be no longer", predicate.value);
  if (mt_peek(&now, predicate.word, sizeof now)) add(text, " (it is %u)", now);
}

static void describe(char *text, const struct mltp_thread *t) {
  const mltp_waitq_t *q = t->waitq;
  enum mt_why why = (enum mt_why)t->why;
  bool given = why == MT_WHY_MESSAGE || why == MT_WHY_SWITCH || why == MT_WHY_IO;
  bool queued = !given && why != MT_WHY_SLEEP && why != MT_WHY_FINALIZE && why != MT_WHY_STACK;
  if ((queued && q == NULL) || (given && t->waiting_for == NULL))
    why = MT_WHY_NOTHING; /* woken this very moment */
  switch (why) {
    case MT_WHY_NOTHING: add(text, "nothing"); break;
    case MT_WHY_LOCK:
    case MT_WHY_COND:
    case MT_WHY_BARRIER:
    case MT_WHY_SEM:
    case MT_WHY_LATCH:
    case MT_WHY_WAITGROUP:
    case MT_WHY_ONCE:
    case MT_WHY_RDLOCK:
    case MT_WHY_WRLOCK: add_object(text, &kinds[why], q); break;
    case MT_WHY_CHANNEL: add_channel(text, q); break;
    case MT_WHY_SELECT: add_select(text, q); break;
    case MT_WHY_JOIN: add_thread(text, "join of", t->joining); break;
    case MT_WHY_JOIN_TIMED: add_timed_join(text, q); break;
    case MT_WHY_SLEEP: add(text, "sleep"); break;
    case MT_WHY_STACK:
      add(text, "memory for its stack of %zu KiB", ((size_t)1 << t->stack_class) / 1024);
      break;
    case MT_WHY_FINALIZE: add(text, "end of all other threads"); break;
    case MT_WHY_MESSAGE:
    case MT_WHY_IO:
    case MT_WHY_SWITCH: add_given(text, t->waiting_for); break;
    case MT_WHY_AWAIT: add_await(text, t->awaits); break;
  }
}

void mt_describe_wait(char text[MT_WAIT_TEXT_MAX], const struct mltp_thread *copy,
                      const struct mltp_thread *t) {
  text[0] = '\0';
  describe(text, copy);
  if (mt_descriptor_unchanged(copy, t)) return;
  text[0] = '\0';
  add(text, "nothing");
}

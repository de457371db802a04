/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file channel.h
 * Channels and the threads that wait for them.
 *
 * A thread may wait for several channels at once, so it is not itself in a channel's
 * queue: its cases are, which lie on its stack. The thread waits in a *wait record*, a
 * wait queue of its own on its stack (as a sleeping thread does). A waker takes it out of
 * its record, under the record's internal lock, and so decides why it continues. The waker
 * is a thread that finds one of its cases in a channel's queue (mt_case_try), or its deadline,
 * which knows nothing of channels. Only one waker can do so; a case whose thread has left is
 * skipped.
 *
 * Protocol (explored by tests/models/select.pml):
 *   waiter   locks all its channels, in the order of their addresses; tries its
 *            cases; puts all of them into the queues; locks its record and enters it;
 *            unlocks the channels; parks, which releases the record.
 *            When it runs again: takes the cases that remain out of the queues, locking
 *            one channel at a time, and only then leaves its stack frame. It leaves the
 *            channel that served it alone: the waker's thread may destroy that at once.
 *   waker    holds a channel's lock; finds a case; locks its record; takes the thread
 *            out, if it is still there; unlocks it; takes the case out of the queue, and
 *            the thread's others for this channel; copies the element; unlocks the
 *            channel; resumes the thread.
 *
 * Internal locks, in this order: channels' by address; a record's. Timers' come before both.
 */
#ifndef MT_SYNC_CHANNEL_H
#define MT_SYNC_CHANNEL_H

#include "core/wait/park.h"
#include "mltp/channel.h"

/** Cases that wait, oldest first. */
struct mt_case_queue {
  mltp_case_t *head, *tail;
};

struct mltp_channel {
  mt_ilock ilock;
  uint8_t closed;      /* [ilock] */
  size_t capacity;     /* [const] */
  size_t element_size; /* [const] */
  size_t first;        /* [ilock] index of the oldest element */
  size_t count;        /* [atomic] elements in the buffer; written under the internal lock */
  struct mt_case_queue senders;   /* [ilock] only when the buffer is full */
  struct mt_case_queue receivers; /* [ilock] only when it is empty */
  const char *name;               /* [const] */
  char buffer[];                  /* [ilock] a ring */
};

/** Where a thread waits for channels. On its stack. */
struct mt_wait_record {
  mltp_waitq_t queue; /* the thread alone */
  mltp_case_t *done;  /* [ilock: queue] the case for which it was taken out */
  mltp_case_t *cases; /* [const] */
  size_t count;       /* [const] */
};

/** Does what a case says if that can be done at once. The channel's internal lock is held.
 * @return true: done, error is set. *peer: to be resumed once the internal lock is released. */
bool mt_case_try(mltp_case_t *c, struct mltp_thread **peer);

/** Puts a case into the queue of its channel, or takes it out. Its internal lock is held. */
void mt_case_enter(mltp_case_t *c, struct mt_wait_record *record);
void mt_case_leave(mltp_case_t *c);

/** mltp_select() for a call of another kind, by the calling thread. */
int mt_select(struct mltp_thread *self, mltp_case_t *cases, size_t count, uint64_t deadline,
              enum mt_why why);

#endif

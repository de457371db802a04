/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: what can be done at once, under the internal lock; waiting is select.c's.
 *
 * Relaxed: count changes under the internal lock; mltp_channel_length() peeks.
 */
#include "sync/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/det/det.h"

/* ---- life */

int mltp_channel_create(mltp_channel_t **channel, size_t capacity, size_t element_size,
                        const char *name) {
  size_t room = SIZE_MAX / 2 - sizeof(mltp_channel_t);
  if (element_size != 0 && capacity > room / element_size) return ENOMEM;
  mltp_channel_t *made = malloc(sizeof *made + capacity * element_size);
  if (made == NULL) return ENOMEM;
  *made = (mltp_channel_t){.capacity = capacity, .element_size = element_size, .name = name};
  *channel = made;
  return 0;
}

int mltp_channel_destroy(mltp_channel_t *channel) {
  struct mltp_thread *self = mt_self("mltp_channel_destroy");
  if (self == NULL) return EPERM;
  mt_ilock_lock(&channel->ilock); /* also waits for the thread that served us */
  bool waited_for = channel->senders.head != NULL || channel->receivers.head != NULL;
  mt_ilock_unlock(&channel->ilock);
  if (waited_for)
    return mt_misuse(EBUSY, "mltp_channel_destroy", self->id, mt_name(self),
                     "threads wait for channel %p '%s' (close it, and end their waits first)",
                     (void *)channel, channel->name != NULL ? channel->name : "");
  free(channel);
  return 0;
}

size_t mltp_channel_length(const mltp_channel_t *channel) {
  return mt_load_relaxed(&channel->count);
}

size_t mltp_channel_capacity(const mltp_channel_t *channel) { return channel->capacity; }

/* ---- the queues; all under the internal lock */

static struct mt_case_queue *queue_of(const mltp_case_t *c) {
  return c->op == MLTP_SEND ? &c->channel->senders : &c->channel->receivers;
}

void mt_case_enter(mltp_case_t *c, struct mt_wait_record *record) {
  struct mt_case_queue *q = queue_of(c);
  c->record_ = record;
  c->next_ = NULL;
  c->prev_ = q->tail;
  if (q->tail != NULL)
    q->tail->next_ = c;
  else
    q->head = c;
  q->tail = c;
}

void mt_case_leave(mltp_case_t *c) {
  struct mt_case_queue *q = queue_of(c);
  if (c->record_ == NULL) return; /* a waker has taken it out */
  c->record_ = NULL;
  if (c->prev_ != NULL)
    c->prev_->next_ = c->next_;
  else
    q->head = c->next_;
  if (c->next_ != NULL)
    c->next_->prev_ = c->prev_;
  else
    q->tail = c->prev_;
}

/* Takes all cases of a claimed thread that wait for this channel out of its queues. The channel
 * may be freed before the thread runs again. */
static void leave_channel(const struct mt_wait_record *record, const mltp_channel_t *channel) {
  for (size_t i = 0; i < record->count; i++)
    if (record->cases[i].channel == channel) mt_case_leave(&record->cases[i]);
}

/* @return the thread that waits with this case, which is the caller's to resume now;
 * NULL: something else has ended its wait. */
static struct mltp_thread *claim(mltp_case_t *c) {
  struct mt_wait_record *record = c->record_;
  mt_ilock_lock(&record->queue.ilock_);
  struct mltp_thread *t = mt_waitq_pop(&record->queue);
  if (t != NULL) record->done = c;
  mt_ilock_unlock(&record->queue.ilock_);
  if (t != NULL) leave_channel(record, c->channel);
  return t;
}

/* @return the case that has waited longest, with its thread in *peer; NULL: none. */
static mltp_case_t *take_waiter(struct mt_case_queue *q, struct mltp_thread **peer) {
  mltp_case_t *c;
  while ((c = q->head) != NULL) {
    struct mltp_thread *t = claim(c);
    mt_case_leave(c);
    if (t == NULL) continue;
    *peer = t;
    return c;
  }
  return NULL;
}

/* ---- what can be done at once; all under the internal lock */

static void copy(const mltp_channel_t *channel, void *to, const void *from) {
  if (channel->element_size != 0) memcpy(to, from, channel->element_size);
}

static void *slot(mltp_channel_t *channel, size_t index) {
  return channel->buffer + (channel->first + index) % channel->capacity * channel->element_size;
}

static void put(mltp_channel_t *channel, const void *element) {
  copy(channel, slot(channel, channel->count), element);
  mt_store_relaxed(&channel->count, channel->count + 1);
}

static void get(mltp_channel_t *channel, void *element) {
  copy(channel, element, slot(channel, 0));
  channel->first = (channel->first + 1) % channel->capacity;
  mt_store_relaxed(&channel->count, channel->count - 1);
}

static bool try_send(mltp_case_t *c, struct mltp_thread **peer) {
  mltp_channel_t *channel = c->channel;
  c->error = channel->closed ? EPIPE : 0;
  if (channel->closed) return true;
  const mltp_case_t *receiver = take_waiter(&channel->receivers, peer);
  if (receiver != NULL)
    copy(channel, receiver->element, c->element);
  else if (channel->count < channel->capacity)
    put(channel, c->element);
  else
    return false;
  return true;
}

static bool try_recv(mltp_case_t *c, struct mltp_thread **peer) {
  mltp_channel_t *channel = c->channel;
  c->error = 0;
  if (channel->count != 0) {
    get(channel, c->element);
    const mltp_case_t *sender = take_waiter(&channel->senders, peer);
    if (sender != NULL) put(channel, sender->element);
    return true;
  }
  const mltp_case_t *sender = take_waiter(&channel->senders, peer);
  if (sender != NULL)
    copy(channel, c->element, sender->element);
  else if (channel->closed)
    c->error = EPIPE;
  else
    return false;
  return true;
}

bool mt_case_try(mltp_case_t *c, struct mltp_thread **peer) {
  return c->op == MLTP_SEND ? try_send(c, peer) : try_recv(c, peer);
}

/* ---- closing */

/* Takes all that wait, each with EPIPE; adds their threads to a chain. */
static struct mltp_thread *give_up(struct mt_case_queue *q, struct mltp_thread *chain) {
  struct mltp_thread *t;
  mltp_case_t *c;
  while ((c = take_waiter(q, &t)) != NULL) {
    c->error = EPIPE;
    t->next = chain;
    chain = t;
  }
  return chain;
}

int mltp_channel_close(mltp_channel_t *channel) {
  if (mt_self("mltp_channel_close") == NULL) return EPERM;
  mt_ilock_lock(&channel->ilock);
  bool closed = channel->closed;
  channel->closed = 1;
  struct mltp_thread *waiters = give_up(&channel->senders, NULL);
  waiters = give_up(&channel->receivers, waiters);
  mt_ilock_unlock(&channel->ilock);
  mt_resume_chain(waiters);
  mt_preempt("mltp_channel_close");
  return closed ? EALREADY : 0;
}

/* ---- sending and receiving */

static int now(const char *call, mltp_channel_t *channel, mltp_op_t op, void *element) {
  if (mt_self(call) == NULL) return EPERM;
  mt_preempt(call);
  mltp_case_t c = {.channel = channel, .op = op, .element = element};
  struct mltp_thread *peer = NULL;
  mt_ilock_lock(&channel->ilock);
  bool done = mt_case_try(&c, &peer);
  mt_ilock_unlock(&channel->ilock);
  if (peer != NULL) mt_resume(peer);
  mt_preempt(call);
  return done ? c.error : EAGAIN;
}

static int in_time(const char *call, mltp_channel_t *channel, mltp_op_t op, void *element,
                   uint64_t deadline) {
  struct mltp_thread *self = mt_self(call);
  if (self == NULL) return EPERM;
  mltp_case_t c = {.channel = channel, .op = op, .element = element};
  mt_preempt(call);
  int happened = mt_select(self, &c, 1, deadline, MT_WHY_CHANNEL);
  mt_preempt(call);
  return happened == 0 ? c.error : -happened;
}

/* A case has one pointer for both ways. */
static void *unconst(const void *element) { return (void *)(uintptr_t)element; }

int mltp_channel_send(mltp_channel_t *channel, const void *element) {
  return in_time("mltp_channel_send", channel, MLTP_SEND, unconst(element), MLTP_NEVER);
}

int mltp_channel_recv(mltp_channel_t *channel, void *element) {
  return in_time("mltp_channel_recv", channel, MLTP_RECV, element, MLTP_NEVER);
}

int mltp_channel_send_try(mltp_channel_t *channel, const void *element) {
  return now("mltp_channel_send_try", channel, MLTP_SEND, unconst(element));
}

int mltp_channel_recv_try(mltp_channel_t *channel, void *element) {
  return now("mltp_channel_recv_try", channel, MLTP_RECV, element);
}

int mltp_channel_send_timed(mltp_channel_t *channel, const void *element, uint64_t deadline) {
  return in_time("mltp_channel_send_timed", channel, MLTP_SEND, unconst(element), deadline);
}

int mltp_channel_recv_timed(mltp_channel_t *channel, void *element, uint64_t deadline) {
  return in_time("mltp_channel_recv_timed", channel, MLTP_RECV, element, deadline);
}

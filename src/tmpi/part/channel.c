/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#include "tmpi/part/channel.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/layout/type.h"

/* ---- copying */

/* Of non-contiguous data, by way of a small buffer. */
static void copy_in_pieces(const struct tm_request *send, const struct tm_request *recv,
                           size_t first, size_t bytes) {
  char piece[4096];
  for (size_t done = 0; done < bytes;) {
    size_t size = bytes - done < sizeof piece ? bytes - done : sizeof piece;
    tm_type_pack(piece, send->buffer, send->type, first + done, size);
    tm_type_unpack(recv->buffer, recv->type, first + done, piece, size);
    done += size;
  }
}

/* A partition of a send that is longer than the receive is cut. */
static void copy_partition(const struct tm_channel *channel, int partition) {
  const struct tm_part_side *from = &channel->send, *to = &channel->recv;
  size_t room = to->bytes * (size_t)to->partitions, first = from->bytes * (size_t)partition;
  size_t bytes = first >= room ? 0 : room - first < from->bytes ? room - first : from->bytes;
  const struct tm_request *send = from->request, *recv = to->request;
  if (bytes == 0) return;
  if (send->type->dense)
    tm_type_unpack(recv->buffer, recv->type, first,
                   (const char *)send->buffer + send->type->true_lb + first, bytes);
  else
    copy_in_pieces(send, recv, first, bytes);
}

void tm_channel_count(struct tm_channel *channel, size_t at, size_t bytes) {
  size_t size = channel->recv.bytes, end = at + bytes;
  size_t room = size * (size_t)channel->recv.partitions;
  if (end > room) end = room;
  while (at < end) {
    size_t number = at / size, next = (number + 1) * size < end ? (number + 1) * size : end;
    channel->arrived[number] += next - at;
    at = next;
  }
}

/* Sets what a status tells. The receive is not complete yet. */
static void set_results(const struct tm_channel *channel) {
  struct tm_request *recv = channel->recv.request;
  size_t sent = channel->send.bytes * (size_t)channel->send.partitions;
  size_t room = channel->recv.bytes * (size_t)channel->recv.partitions;
  recv->source = channel->source;
  recv->tag = channel->tag;
  recv->bytes = sent < room ? sent : room;
  recv->error = sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void tm_channel_end_round(struct tm_channel *channel) {
  struct tm_request *send = channel->send.request, *recv = channel->recv.request;
  set_results(channel);
  mti_unlock(&channel->ilock);
  tm_request_complete(recv);
  if (send != NULL) tm_request_complete(send); /* until here its side keeps the channel */
}

/* Copies a partition that is the caller's, and ends the round with the last one. The lock is held,
 * and released meanwhile. @return whether the round has ended: then the lock is released, and the
 * channel may be gone. */
static bool transfer(struct tm_channel *channel, int partition) {
  mti_unlock(&channel->ilock);
  copy_partition(channel, partition);
  mti_lock(&channel->ilock);
  tm_channel_count(channel, channel->send.bytes * (size_t)partition, channel->send.bytes);
  if (++channel->copied < channel->send.partitions) return false;
  tm_channel_end_round(channel);
  return true;
}

static bool has_send(const struct tm_channel *channel) {
  return channel->send.request != NULL || channel->other != 0;
}

static bool same_round(const struct tm_channel *channel) {
  return has_send(channel) && channel->recv.request != NULL &&
         channel->send.round == channel->recv.round;
}

bool tm_channel_ready(struct tm_channel *channel, int partition) {
  if (channel->to != NULL) return tm_far_channel_ready(channel, partition);
  mti_lock(&channel->ilock);
  bool good = channel->states[partition] == TM_PART_EMPTY;
  bool takes = good && same_round(channel);
  if (good) channel->states[partition] = takes ? TM_PART_TAKEN : TM_PART_READY;
  if (takes && transfer(channel, partition)) return true;
  mti_unlock(&channel->ilock);
  return good;
}

bool tm_channel_arrived(struct tm_channel *channel, int partition) {
  mti_lock(&channel->ilock);
  bool all = same_round(channel) && channel->copied == channel->send.partitions;
  bool arrived =
      all || (channel->recv.bytes > 0 && channel->arrived[partition] == channel->recv.bytes);
  mti_unlock(&channel->ilock);
  return arrived;
}

/* ---- rounds */

static void start_send(struct tm_channel *channel) {
  mti_lock(&channel->ilock);
  channel->send.round++;
  channel->copied = 0;
  memset(channel->states, TM_PART_EMPTY, (size_t)channel->send.partitions);
  mti_unlock(&channel->ilock);
}

/* Takes what is ready already. */
static void start_recv(struct tm_channel *channel) {
  mti_lock(&channel->ilock);
  channel->recv.round++;
  memset(channel->arrived, 0, (size_t)channel->recv.partitions * sizeof *channel->arrived);
  bool far = channel->other != 0, next = far && tm_far_channel_next(channel);
  int count = !far && same_round(channel) ? channel->send.partitions : 0;
  for (int i = 0; i < count; i++) {
    if (channel->states[i] != TM_PART_READY) continue;
    channel->states[i] = TM_PART_TAKEN;
    if (transfer(channel, i)) return;
  }
  mti_unlock(&channel->ilock);
  if (next) tm_far_channel_allow(channel);
}

int tm_channel_start(struct tm_request *request) {
  struct tm_channel *channel = tm_channel_of(request);
  bool sends = request->mode == TM_PART_SEND;
  request->error = MPI_SUCCESS;
  request->source = sends ? MPI_ANY_SOURCE : MPI_PROC_NULL;
  request->tag = MPI_ANY_TAG;
  request->bytes = 0;
  if (channel == NULL || (sends ? &channel->send : &channel->recv)->partitions == 0)
    tm_request_complete(request);
  else if (channel->to != NULL)
    tm_far_channel_start(channel);
  else if (sends)
    start_send(channel);
  else
    start_recv(channel);
  return MPI_SUCCESS;
}

/* ---- a channel's sides meet, and leave */

static void drop(struct tm_channel *channel) {
  free(channel->to);
  free(channel->states);
  free(channel->arrived);
  free(channel);
}

/* Gives a side its memory. @return false: there is none. */
static bool prepare(struct tm_channel *channel, bool sends, int partitions) {
  size_t count = (size_t)partitions + 1; /* calloc(0) may be NULL */
  if (sends)
    channel->states = calloc(count, sizeof *channel->states);
  else
    channel->arrived = calloc(count, sizeof *channel->arrived);
  return sends ? channel->states != NULL : channel->arrived != NULL;
}

struct tm_channel *tm_channel_new(struct tm_request *request, int partitions) {
  struct tm_channel *channel = calloc(1, sizeof *channel);
  bool sends = request->mode == TM_PART_SEND;
  if (channel == NULL || !prepare(channel, sends, partitions)) {
    free(channel);
    return NULL;
  }
  channel->context = request->entry.envelope.context;
  channel->source = request->entry.envelope.source;
  channel->tag = request->entry.envelope.tag;
  channel->receiver = sends ? request->dest : request->comm->owner;
  channel->refs = 1;
  *(sends ? &channel->send : &channel->recv) =
      (struct tm_part_side){request, partitions, request->count * request->type->size, 0};
  return channel;
}

/* @return the place of the oldest channel that waits for this side, or of the list's end. */
static struct tm_channel **find(struct tm_channel **list, const struct tm_channel *wanted) {
  for (; *list != NULL; list = &(*list)->next) {
    const struct tm_channel *c = *list;
    if (c->context == wanted->context && c->source == wanted->source && c->tag == wanted->tag &&
        has_send(c) != has_send(wanted))
      break;
  }
  return list;
}

/* Gives a channel the one side that `own` has. */
static void add_side(struct tm_channel *channel, struct tm_channel *own) {
  mti_lock(&channel->ilock);
  if (has_send(own)) {
    channel->send = own->send;
    channel->states = own->states;
    channel->other = own->other;
    channel->other_rank = own->other_rank;
    own->states = NULL;
  } else {
    channel->recv = own->recv;
    channel->arrived = own->arrived;
    own->arrived = NULL;
  }
  channel->refs++;
  mti_unlock(&channel->ilock);
}

struct tm_channel *tm_channel_enter(struct tm_channel *own) {
  struct tm_rank *receiver = own->receiver;
  mti_lock(&receiver->channels_ilock);
  struct tm_channel **at = find(&receiver->channels, own), *channel = *at;
  if (channel != NULL) {
    *at = channel->next;
    add_side(channel, own);
  } else {
    *at = own;
  }
  mti_unlock(&receiver->channels_ilock);
  if (channel == NULL) return own;
  drop(own);
  return channel;
}

bool tm_channel_join(struct tm_request *request, int partitions) {
  struct tm_channel *own = tm_channel_new(request, partitions);
  if (own == NULL) return false;
  request->extra = tm_channel_enter(own);
  return true;
}

void tm_channel_unlist(struct tm_channel *channel) {
  struct tm_rank *receiver = channel->receiver;
  mti_lock(&receiver->channels_ilock);
  struct tm_channel **at = &receiver->channels;
  while (*at != NULL && *at != channel) at = &(*at)->next;
  if (*at != NULL) *at = channel->next;
  mti_unlock(&receiver->channels_ilock);
}

void tm_channel_release(struct tm_channel *channel) {
  bool last = --channel->refs == 0;
  mti_unlock(&channel->ilock);
  if (last) drop(channel);
}

void tm_channel_leave(struct tm_request *request) {
  struct tm_channel *channel = tm_channel_of(request);
  if (channel == NULL) return;
  if (channel->to != NULL) {
    tm_far_channel_leave(channel);
    return;
  }
  tm_channel_unlist(channel);
  mti_lock(&channel->ilock);
  if (request->mode == TM_PART_SEND)
    channel->send.request = NULL;
  else
    channel->recv.request = NULL;
  tm_channel_release(channel);
}

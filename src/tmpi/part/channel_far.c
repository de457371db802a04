/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels whose sides are on two nodes. Each node has a channel with the side that is there.
 *
 * The sender says hello. On the receiver's node its channel enters the list of the receiver, or
 * joins the receive that waits there, as a sender of that node would. Each MPI_Start() of the
 * receive allows the sender one round. Partitions that are ready then go in pieces of a note each.
 * The receiver acknowledges each piece, so that only some are under way. A send is complete when
 * its last piece has been copied into a note.
 *
 * A sender that is freed says goodbye. Its channel lives until the other node has answered, since
 * acknowledgements may come until then. The receiver's channel lives until the goodbye.
 */
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/far.h"
#include "tmpi/part/channel.h"

enum what { HELLO, WELCOME, ALLOWED, PIECE, TAKEN, GOODBYE, LEFT };

/* A note between two channels. */
struct head {
  int32_t what;           /* enum what */
  int32_t tag;            /* of HELLO */
  uint64_t to, from;      /* channels; to: of HELLO the context */
  uint64_t offset, bytes; /* of PIECE; of HELLO: partitions, and bytes of each */
  int32_t source;         /* of HELLO */
  int32_t receiver;       /* of HELLO: number in the job */
};

enum {
  PIECE_MAX = TM_FAR_NOTE_MAX - sizeof(struct head),
  UNDER_WAY_MAX = 32 /* pieces: enough for a link of 1 GB/s and .5 ms */
};

/* The sender's part of a channel. */
struct tm_far_sending {
  int *order;      /* [ilock] partitions in the order in which they became ready */
  int ready, next; /* [ilock] how many there are; index of the one that is being sent */
  size_t at;       /* [ilock] bytes of that one that have been claimed */
  size_t left;     /* [ilock] pieces of the round that have not been copied */
  int under_way;   /* [ilock] pieces that are not acknowledged */
  bool freed;      /* [ilock] its request has been */
};

static void say(const struct head *head, int rank, bool inside) {
  struct tm_far_send *note = tm_far_note_new(sizeof *head);
  memcpy(tm_far_note_data(note), head, sizeof *head);
  tm_far_note_send(note, TM_FAR_PARTITIONED, rank, inside);
}

static void answer(const struct tm_channel *channel, enum what what, bool inside) {
  say(&(struct head){.what = what, .to = channel->other, .from = (uintptr_t)channel},
      channel->other_rank, inside);
}

/* @return how many pieces a round has. */
static size_t pieces_of(const struct tm_part_side *send) {
  size_t each = send->bytes == 0 ? 1 : (send->bytes + PIECE_MAX - 1) / PIECE_MAX;
  return each * (size_t)send->partitions;
}

/* ---- the sender */

/* A piece of a partition that its claimer sends. */
struct piece {
  size_t offset, bytes; /* of the packed data of the send */
};

/* Claims the next piece that may go. The lock is held. @return false: there is none. */
static bool claim(struct tm_channel *channel, struct piece *piece) {
  struct tm_far_sending *to = channel->to;
  const struct tm_part_side *send = &channel->send;
  if (send->round != channel->recv.round || to->next == to->ready) return false;
  if (to->under_way == UNDER_WAY_MAX) return false;
  size_t rest = send->bytes - to->at;
  piece->offset = send->bytes * (size_t)to->order[to->next] + to->at;
  piece->bytes = rest < PIECE_MAX ? rest : PIECE_MAX;
  bool last = piece->bytes == rest;
  to->at = last ? 0 : to->at + piece->bytes;
  to->next += last;
  to->under_way++;
  return true;
}

static void send_piece(const struct tm_channel *channel, const struct piece *piece, bool inside) {
  const struct tm_request *request = channel->send.request;
  const struct head head = {
      .what = PIECE, .to = channel->other, .offset = piece->offset, .bytes = piece->bytes};
  struct tm_far_send *note = tm_far_note_new(sizeof head + piece->bytes);
  char *data = tm_far_note_data(note);
  memcpy(data, &head, sizeof head);
  tm_type_pack(data + sizeof head, request->buffer, request->type, piece->offset, piece->bytes);
  tm_far_note_send(note, TM_FAR_PARTITIONED, channel->other_rank, inside);
}

/* Sends what may go. The lock is held, also afterwards. The caller keeps the channel. */
static void send_pieces(struct tm_channel *channel, bool inside) {
  struct piece piece;
  while (claim(channel, &piece)) {
    mti_unlock(&channel->ilock);
    send_piece(channel, &piece, inside);
    mti_lock(&channel->ilock);
    if (--channel->to->left > 0) continue;
    struct tm_request *request = channel->send.request;
    mti_unlock(&channel->ilock);
    tm_request_complete(request);
    mti_lock(&channel->ilock);
  }
}

bool tm_far_channel_join(struct tm_request *request, int partitions) {
  struct tm_channel *channel = tm_channel_new(request, partitions);
  struct tm_far_sending *to = calloc(1, sizeof *to + ((size_t)partitions + 1) * sizeof *to->order);
  if (channel == NULL || to == NULL) {
    free(to);
    if (channel != NULL) {
      mti_lock(&channel->ilock);
      tm_channel_release(channel);
    }
    return false;
  }
  to->order = (int *)(to + 1);
  channel->to = to;
  channel->other_rank = request->dest->number;
  channel->refs++; /* the other node's */
  request->extra = channel;
  say(&(struct head){.what = HELLO,
                     .tag = channel->tag,
                     .to = channel->context,
                     .from = (uintptr_t)channel,
                     .offset = (uint64_t)partitions,
                     .bytes = channel->send.bytes,
                     .source = channel->source,
                     .receiver = channel->other_rank},
      channel->other_rank, false);
  return true;
}

void tm_far_channel_start(struct tm_channel *channel) {
  struct tm_far_sending *to = channel->to;
  mti_lock(&channel->ilock);
  channel->send.round++;
  memset(channel->states, TM_PART_EMPTY, (size_t)channel->send.partitions);
  to->ready = to->next = 0;
  to->left = pieces_of(&channel->send);
  mti_unlock(&channel->ilock);
}

bool tm_far_channel_ready(struct tm_channel *channel, int partition) {
  mti_lock(&channel->ilock);
  bool good = channel->states[partition] == TM_PART_EMPTY;
  channel->refs++;
  if (good) {
    channel->states[partition] = TM_PART_READY;
    channel->to->order[channel->to->ready++] = partition;
    send_pieces(channel, false);
  }
  tm_channel_release(channel);
  return good;
}

void tm_far_channel_leave(struct tm_channel *channel) {
  mti_lock(&channel->ilock);
  channel->to->freed = true;
  bool known = channel->other != 0;
  if (!known) { /* the welcome is answered */
    tm_channel_release(channel);
    return;
  }
  mti_unlock(&channel->ilock);
  answer(channel, GOODBYE, false);
  mti_lock(&channel->ilock);
  tm_channel_release(channel);
}

static void be_welcome(struct tm_channel *channel, uint64_t other) {
  mti_lock(&channel->ilock);
  channel->other = other;
  bool freed = channel->to->freed;
  mti_unlock(&channel->ilock);
  if (freed) answer(channel, GOODBYE, true);
}

static void be_allowed(struct tm_channel *channel) {
  mti_lock(&channel->ilock);
  channel->recv.round++;
  send_pieces(channel, true);
  mti_unlock(&channel->ilock);
}

static void be_taken(struct tm_channel *channel) {
  mti_lock(&channel->ilock);
  channel->to->under_way--;
  send_pieces(channel, true);
  mti_unlock(&channel->ilock);
}

/* ---- the receiver */

bool tm_far_channel_next(struct tm_channel *channel) {
  if (channel->recv.request == NULL || channel->send.round == channel->recv.round) return false;
  channel->send.round = channel->recv.round;
  channel->copied = 0;
  channel->coming = pieces_of(&channel->send);
  return true;
}

void tm_far_channel_allow(struct tm_channel *channel) { answer(channel, ALLOWED, false); }

static void welcome(const struct head *head, int source) {
  struct tm_channel *channel = calloc(1, sizeof *channel);
  if (channel == NULL) tm_panic("no memory for a partitioned message");
  channel->context = head->to;
  channel->source = head->source;
  channel->tag = head->tag;
  channel->receiver = &tm_job.ranks[head->receiver];
  channel->refs = 1;
  channel->send = (struct tm_part_side){NULL, (int)head->offset, head->bytes, 0};
  channel->other = head->from;
  channel->other_rank = source;
  channel = tm_channel_enter(channel);
  answer(channel, WELCOME, true);
  mti_lock(&channel->ilock);
  bool begins = tm_far_channel_next(channel);
  mti_unlock(&channel->ilock);
  if (begins) answer(channel, ALLOWED, true);
}

/* Pieces come in any order, since several threads send them. Bytes that there is no room for are
 * dropped, as those of a message are. */
static void take_piece(struct tm_channel *channel, const struct head *head, const char *data) {
  const struct tm_part_side *to = &channel->recv;
  struct tm_request *recv = to->request; /* while it is active nothing changes it */
  size_t room = to->bytes * (size_t)to->partitions, at = head->offset;
  size_t bytes = at >= room ? 0 : room - at < head->bytes ? room - at : head->bytes;
  answer(channel, TAKEN, true);
  if (recv == NULL) return;
  if (bytes > 0) tm_type_unpack(recv->buffer, recv->type, at, data, bytes);
  mti_lock(&channel->ilock);
  tm_channel_count(channel, at, bytes);
  if (--channel->coming > 0) {
    mti_unlock(&channel->ilock);
    return;
  }
  channel->copied = channel->send.partitions;
  tm_channel_end_round(channel);
}

static void part(struct tm_channel *channel) {
  answer(channel, LEFT, true);
  tm_channel_unlist(channel);
  mti_lock(&channel->ilock);
  channel->other = 0;
  tm_channel_release(channel);
}

/* ---- what comes */

void tm_part_take(int source, const void *data, size_t bytes) {
  struct head head;
  (void)bytes;
  memcpy(&head, data, sizeof head);
  if (head.what == HELLO) {
    welcome(&head, source);
    return;
  }
  struct tm_channel *channel = (struct tm_channel *)(uintptr_t)head.to;
  switch ((enum what)head.what) {
    case HELLO: break;
    case WELCOME: be_welcome(channel, head.from); break;
    case ALLOWED: be_allowed(channel); break;
    case PIECE: take_piece(channel, &head, (const char *)data + sizeof head); break;
    case TAKEN: be_taken(channel); break;
    case GOODBYE: part(channel); break;
    case LEFT:
      mti_lock(&channel->ilock);
      tm_channel_release(channel);
      break;
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small messages to one node that follow each other closely, in one message of UCX: a packet.
 *
 * By TCP each message of UCX is a system call of its sender and a segment for the kernel, which
 * take longer than all the rest. The first nonblocking send to a node leaves at once. One that
 * begins less than CLOSE_NS after the one before is held: header and data are copied, and its
 * request stays incomplete. A packet leaves when it is full, before anything else goes to its node,
 * when a thread polls, and before a rank parks in a call that waits for messages. So a rank that
 * waits or tests sends what it has begun.
 *
 * A rank that computes and calls nothing leaves a packet behind. An idle VP sends it, or the
 * module's thread does, after a lease at most (ucx.c).
 *
 * Rejected: to hold the first one, too, which would delay a lone message; to hold blocking sends,
 * whose caller would only wait; to complete what is held, since its rank might call nothing more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/match/far.h"
#include "tmpi/nodes/ucx.h"

enum {
  PACKET_ROOM = 7936, /* bytes; with UCX's header it fits into what UCX sends at a time by TCP */
  SMALL_MAX = 1024,   /* bytes of data; to copy them takes less time than a message of UCX */
  CLOSE_NS = 1000     /* a message of UCX takes longer by TCP */
};

struct tm_packet {
  struct tm_peer *peer;
  struct tm_far_send *first, **end; /* its messages */
  uint32_t count;                   /* of them */
  size_t used;                      /* bytes of: */
  char data[PACKET_ROOM];           /* headers, each with its data */
};

static struct tm_peer *holding; /* [lock of ucx.c] peers that may have a packet to send */
static uint32_t held;           /* [atomic] messages in packets; written with the lock of ucx.c.
                                   Relaxed: to threads without the lock it is a hint */

uint32_t tm_packets_held(void) { return mt_load_relaxed(&held); /* relaxed: see above */ }

/* The next header is aligned. */
static size_t room_of(size_t bytes) { return sizeof(struct tm_far_header) + (bytes + 7) / 8 * 8; }

/* ---- sending */

static void end_messages(struct tm_far_send *send) {
  while (send != NULL) {
    struct tm_far_send *next = send->next;
    if (tm_far_part(send)) tm_far_end(send);
    send = next;
  }
}

static void on_packet_sent(void *request, ucs_status_t status, void *packet_) {
  struct tm_packet *packet = packet_;
  tm_ucx.ucp_request_free(request);
  if (status != UCS_OK) {
    tm_ucx_on_failure(packet->peer, packet->peer->ep, status);
    return;
  }
  tm_ucx_under_way--;
  end_messages(packet->first);
  free(packet);
}

bool tm_packet_send(struct tm_peer *peer) {
  struct tm_packet *packet = peer->packet;
  if (packet == NULL || packet->count == 0) return false;
  const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                     UCP_OP_ATTR_FIELD_USER_DATA |
                                                     UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_AM_SEND_FLAG_EAGER,
                                     .cb.send = on_packet_sent,
                                     .user_data = packet};
  ucs_status_ptr_t request =
      tm_ucx.ucp_am_send_nbx(peer->ep, TM_UCX_PACKET, NULL, 0, packet->data, packet->used, &param);
  mt_store_relaxed(&held, tm_packets_held() - packet->count); /* relaxed: see above */
  if (UCS_PTR_IS_ERR(request)) tm_ucx_on_failure(peer, peer->ep, UCS_PTR_STATUS(request));
  if (UCS_PTR_IS_PTR(request)) {
    tm_ucx_under_way++;
    peer->packet = NULL;
    return true;
  }
  struct tm_far_send *first = packet->first;
  packet->count = 0;
  end_messages(first);
  return false;
}

bool tm_packets_send(void) {
  bool pending = false;
  while (holding != NULL) {
    struct tm_peer *peer = holding;
    holding = peer->next_holding;
    peer->holds = false;
    peer->began_at = 0;
    pending |= tm_packet_send(peer);
  }
  return pending;
}

/* ---- holding */

void tm_packet_note(struct tm_peer *peer, const struct tm_far_send *send) {
  if (send->joins) peer->began_at = os_now();
}

/* @return a packet with room, which may be new; NULL: no memory. */
static struct tm_packet *packet_for(struct tm_peer *peer, size_t bytes) {
  if (peer->packet != NULL && peer->packet->count > 0) {
    if (peer->packet->used + bytes <= PACKET_ROOM) return peer->packet;
    tm_packet_send(peer);
  }
  if (peer->packet == NULL) peer->packet = malloc(sizeof *peer->packet);
  if (peer->packet == NULL) return NULL;
  peer->packet->peer = peer;
  peer->packet->end = &peer->packet->first;
  peer->packet->count = 0;
  peer->packet->used = 0;
  return peer->packet;
}

static void add(struct tm_packet *packet, struct tm_far_send *send) {
  char *at = packet->data + packet->used;
  memcpy(at, &send->header, sizeof send->header);
  memcpy(at + sizeof send->header, send->data, send->header.bytes);
  packet->used += room_of(send->header.bytes);
  packet->count++;
  *packet->end = send;
  packet->end = &send->next;
  send->next = NULL;
}

bool tm_packet_takes(struct tm_peer *peer, struct tm_far_send *send) {
  if (!send->joins || send->header.bytes > SMALL_MAX) return false;
  uint64_t now = os_now();
  if (now - peer->began_at > CLOSE_NS) return false;
  struct tm_packet *packet = packet_for(peer, room_of(send->header.bytes));
  if (packet == NULL) return false;
  add(packet, send);
  peer->began_at = now;
  mt_store_relaxed(&held, tm_packets_held() + 1); /* relaxed: see above */
  if (!peer->holds) {
    peer->holds = true;
    peer->next_holding = holding;
    holding = peer;
  }
  return true;
}

/* ---- receiving */

void tm_packet_open(const char *at, size_t bytes, tm_packet_taker *take) {
  for (const char *end = at + bytes; at < end;) {
    struct tm_far_header header;
    memcpy(&header, at, sizeof header);
    at += sizeof header;
    size_t room = room_of(header.bytes) - sizeof header, left = (size_t)(end - at);
    take(&header, at, left < header.bytes ? left : header.bytes);
    at += left < room ? left : room;
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ucx.h
 * UCX as the module uses it: its functions, the worker, and the other nodes. ucx_open.c opens it
 * and connects the nodes, ucx.c carries messages, packets.c joins small ones, and wakeups.c has
 * the descriptor that UCX makes readable.
 */
#ifndef TM_NODES_UCX_H
#define TM_NODES_UCX_H

#include <stdbool.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

#include "tmpi/nodes/nodes.h"

/* The functions of UCX that the module calls: those of libucp, and one of libucs. */
#define TM_UCX_FUNCTIONS(F)                                                                        \
  F(ucp_config_read)                                                                               \
  F(ucp_config_release)                                                                            \
  F(ucp_init_version)                                                                              \
  F(ucp_worker_create)                                                                             \
  F(ucp_worker_get_address)                                                                        \
  F(ucp_worker_set_am_recv_handler)                                                                \
  F(ucp_worker_get_efd)                                                                            \
  F(ucp_worker_progress)                                                                           \
  F(ucp_worker_arm)                                                                                \
  F(ucp_worker_signal)                                                                             \
  F(ucp_worker_flush_nbx)                                                                          \
  F(ucp_ep_create)                                                                                 \
  F(ucp_am_send_nbx)                                                                               \
  F(ucp_am_recv_data_nbx)                                                                          \
  F(ucp_am_data_release)                                                                           \
  F(ucp_request_free)                                                                              \
  F(ucp_request_check_status)                                                                      \
  F(ucs_status_string)
#define TM_UCX_MEMBER(name) __typeof__(name) *(name);

extern struct tm_ucx {
  TM_UCX_FUNCTIONS(TM_UCX_MEMBER)
} tm_ucx; /* [const] */

/** The kinds of active messages. */
enum tm_ucx_kind { TM_UCX_MESSAGE, TM_UCX_PACKET, TM_UCX_ANSWER, TM_UCX_KINDS };

/** Another node. */
struct tm_peer {
  ucp_ep_h ep;             /* [const] */
  uint64_t sent, received; /* [lock of ucx.c] messages */
  int number;              /* [const] */
  char host[TM_NODE_TEXT]; /* [const] */

  /* of packets.c [lock of ucx.c] */
  struct tm_packet *packet; /* NULL: it has none yet */
  uint64_t began_at;        /* when a send that could be joined began last; 0: others are not
                               joined with it */
  bool holds;               /* it is in the list by: */
  struct tm_peer *next_holding;
};

extern ucp_worker_h tm_ucx_worker;   /* [const] used under the lock of ucx.c */
extern struct tm_peer *tm_ucx_peers; /* [const] by number of the node */

/** What takes what has come. [const] By kind. ucx.c */
extern const ucp_am_recv_callback_t tm_ucx_takers[TM_UCX_KINDS];

/** A node has gone away. */
void tm_ucx_on_failure(void *peer, ucp_ep_h ep, ucs_status_t status);

/** Sends and fetches that end without another node. [lock of ucx.c] */
extern int tm_ucx_under_way;

struct tm_far_header;
struct tm_far_send;

/** The lock of ucx.c is held, but for tm_packets_held().
 * @return whether a send that begins is held; otherwise its caller sends it, and notes it after
 * that. */
bool tm_packet_takes(struct tm_peer *peer, struct tm_far_send *send);
void tm_packet_note(struct tm_peer *peer, const struct tm_far_send *send);
/** Sends what is held for a peer. @return whether UCX has not finished. */
bool tm_packet_send(struct tm_peer *peer);
/** The same for all peers. The next send to each is not held. */
bool tm_packets_send(void);
/** @return the number of messages that are held; a hint. */
uint32_t tm_packets_held(void);

/** bytes: of data that have come. */
typedef void tm_packet_taker(const struct tm_far_header *header, const void *data, size_t bytes);
/** Hands on what is in a packet. */
void tm_packet_open(const char *packet, size_t bytes, tm_packet_taker *take);

/** Finds what UCX's descriptor watches. */
void tm_wakeups_open(int outer);
/** Whether messages make UCX's descriptor readable. When it is set, what has come meanwhile does
 * so, too. */
void tm_wakeups_set(bool on);

#endif

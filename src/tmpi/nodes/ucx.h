/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ucx.h
 * UCX as the module uses it: its functions, the worker, and the other nodes. ucx_open.c opens it
 * and connects the nodes, ucx.c carries messages, wakeups.c has the descriptor that UCX makes
 * readable.
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
enum tm_ucx_kind { TM_UCX_MESSAGE, TM_UCX_ANSWER, TM_UCX_KINDS };

/** Another node. */
struct tm_peer {
  ucp_ep_h ep;             /* [const] */
  uint64_t sent, received; /* [lock: of ucx.c] messages */
  int number;              /* [const] */
  char host[TM_NODE_TEXT]; /* [const] */
};

extern ucp_worker_h tm_ucx_worker;   /* [const] used under the lock of ucx.c */
extern struct tm_peer *tm_ucx_peers; /* [const] by number of the node */

/** What takes what has come. [const] By kind. ucx.c */
extern const ucp_am_recv_callback_t tm_ucx_takers[TM_UCX_KINDS];

/** A node has gone away. */
void tm_ucx_on_failure(void *peer, ucp_ep_h ep, ucs_status_t status);

/** Finds what UCX's descriptor watches. */
void tm_wakeups_open(int outer);
/** Whether messages make UCX's descriptor readable. When it is set, what has come meanwhile does
 * so, too. */
void tm_wakeups_set(bool on);

#endif

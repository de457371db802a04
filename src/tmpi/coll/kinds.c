/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives there are: how each is performed, and which arguments it has. */
#include "tmpi/coll/collective.h"

static int barrier(const struct tm_collective *c) { return tm_call_barrier(c->call, c->comm); }

static int bcast(const struct tm_collective *c) {
  return tm_call_bcast(c->call, c->recv.base, c->recv.count, c->recvtype, c->root, c->comm);
}

/* The single part of one that has parts on the other side. */
static struct tm_part single(const struct tm_parts *given) {
  return (struct tm_part){given->base, (size_t)given->count, NULL};
}

static int gather(const struct tm_collective *c) {
  struct tm_part own = single(&c->send);
  return tm_call_gather(c->call, &own, c->sendtype, &c->recv, c->recvtype, c->root, c->comm);
}

static int scatter(const struct tm_collective *c) {
  struct tm_part own = single(&c->recv);
  return tm_call_scatter(c->call, &c->send, c->sendtype, &own, c->recvtype, c->root, c->comm);
}

static int allgather(const struct tm_collective *c) {
  struct tm_part own = single(&c->send);
  return tm_call_allgather(c->call, &own, c->sendtype, &c->recv, c->recvtype, c->comm);
}

static int alltoall(const struct tm_collective *c) {
  struct tm_parts send = c->send, recv = c->recv;
  return tm_call_alltoall(c->call, &send, c->sendtype, &recv, c->recvtype, c->comm);
}

static int reduce(const struct tm_collective *c) {
  return tm_call_reduce(c->call, c->send.base, c->recv.base, c->recv.count, c->recvtype, c->op,
                        c->root, c->comm);
}

static int allreduce(const struct tm_collective *c) {
  return tm_call_allreduce(c->call, c->send.base, c->recv.base, c->recv.count, c->recvtype, c->op,
                           c->comm);
}

static int scan(const struct tm_collective *c) {
  return tm_call_scan(c->call, c->send.base, c->recv.base, c->recv.count, c->recvtype, c->op,
                      c->comm, c->kind == &tm_exscan_kind);
}

static int reduce_scatter(const struct tm_collective *c) {
  return tm_call_reduce_scatter(c->call, c->send.base, &c->recv, c->recvtype, c->op, c->comm);
}

const struct tm_collective_kind tm_barrier_kind = {.perform = barrier};

const struct tm_collective_kind tm_bcast_kind = {
    .perform = bcast, .receives = TM_ALL, .rooted = true};

const struct tm_collective_kind tm_gather_kind = {.perform = gather,
                                                  .sends = TM_OTHERS,
                                                  .receives = TM_ROOT,
                                                  .recv_parts = TM_RANKS,
                                                  .rooted = true};

const struct tm_collective_kind tm_scatter_kind = {.perform = scatter,
                                                   .sends = TM_ROOT,
                                                   .send_parts = TM_RANKS,
                                                   .receives = TM_OTHERS,
                                                   .rooted = true};

const struct tm_collective_kind tm_allgather_kind = {
    .perform = allgather, .sends = TM_ALL, .receives = TM_ALL, .recv_parts = TM_RANKS};

const struct tm_collective_kind tm_alltoall_kind = {.perform = alltoall,
                                                    .sends = TM_ALL,
                                                    .send_parts = TM_RANKS,
                                                    .receives = TM_ALL,
                                                    .recv_parts = TM_RANKS};

/* Of reductions, what is received tells count and type: what is sent has the same. */

const struct tm_collective_kind tm_reduce_kind = {
    .perform = reduce, .receives = TM_ALL, .rooted = true, .reduces = true};

const struct tm_collective_kind tm_allreduce_kind = {
    .perform = allreduce, .receives = TM_ALL, .reduces = true};

const struct tm_collective_kind tm_scan_kind = {
    .perform = scan, .receives = TM_ALL, .reduces = true, .intra_only = true};

const struct tm_collective_kind tm_exscan_kind = {
    .perform = scan, .receives = TM_ALL, .reduces = true, .intra_only = true};

const struct tm_collective_kind tm_reduce_scatter_kind = {
    .perform = reduce_scatter, .receives = TM_ALL, .recv_parts = TM_MEMBERS, .reduces = true};

const struct tm_collective_kind tm_neighbor_allgather_kind = {.perform = tm_neighbor_allgather,
                                                              .sends = TM_ALL,
                                                              .receives = TM_ALL,
                                                              .recv_parts = TM_NEIGHBORS,
                                                              .on_topology = true};

const struct tm_collective_kind tm_neighbor_alltoall_kind = {.perform = tm_neighbor_alltoall,
                                                             .sends = TM_ALL,
                                                             .send_parts = TM_NEIGHBORS,
                                                             .receives = TM_ALL,
                                                             .recv_parts = TM_NEIGHBORS,
                                                             .on_topology = true};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part from each rank, of several nodes; nodes.h. While parts are small, the first member of each
 * node sends what all its members have for all members of another node in one message. The members
 * of a node meet in their team: when their parts may be read, when what came may be read, and when
 * all have read it. Larger parts are messages between all members.
 *
 * A wrong program's ranks have parts of several sizes. A node that has some sends empty messages,
 * and one whose parts have another size than this one's sends messages of another length. So each
 * node finds out, because each hears from each, and all members begin again with messages between
 * all: then a rank with too little room gets an error and what fits, as on one node.
 */
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/nodes.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/far.h"
#include "tmpi/object/span.h"
#include "tmpi/request/request.h"

enum {
  PART_MAX = 4096,       /* bytes; larger ones gain nothing */
  MESSAGE_MAX = 1 << 20, /* bytes between two nodes */
  NODES_AT_A_TIME = 16
};

/* A node that has members, and what goes to it and comes from it: of the first member here. */
struct peer {
  int members;
  int seen; /* members that next_place() has gone to */
  size_t out_bytes, in_bytes;
  size_t announced; /* bytes that come in several messages */
  char *out, *in;
};

struct exchange {
  struct tm_coll *coll;
  struct tm_coll local; /* of the members of this node */
  const struct tm_span *span;
  size_t part;        /* bytes */
  struct peer *peers; /* by index of the node */
  bool different;     /* some part has another size: of the first member */
};

/* A rank, as seen on its node. */
struct place {
  int rank, node, index;
};

static struct place before_all(struct exchange *x) {
  for (int i = 0; i < x->span->nodes; i++) x->peers[i].seen = 0;
  return (struct place){-1, 0, 0};
}

static bool next_place(struct exchange *x, struct place *place) {
  const struct tm_comm *comm = x->coll->comm;
  if (++place->rank == comm->size) return false;
  place->node = tm_span_index(x->span, comm->group, place->rank);
  place->index = x->peers[place->node].seen++;
  return true;
}

static bool is_few(const struct tm_comm *comm, size_t part) {
  size_t nodes = (size_t)comm->span->nodes, most = ((size_t)comm->size + nodes - 1) / nodes;
  return comm->size > comm->span->nodes && part > 0 && part <= PART_MAX &&
         most * most * part <= MESSAGE_MAX;
}

static void meet(const struct exchange *x) {
  if (x->local.comm->team != NULL) tm_next_phase(&x->local);
}

/* What an exchange needs but for the members of this node. */
static struct exchange of_nodes(struct tm_coll *coll, size_t part) {
  const struct tm_span *span = coll->comm->span;
  struct exchange x = {.coll = coll,
                       .span = span,
                       .part = part,
                       .peers = calloc((size_t)span->nodes, sizeof *x.peers)};
  if (x.peers == NULL) tm_panic("no memory for a collective of %d nodes", span->nodes);
  struct place at = before_all(&x);
  while (next_place(&x, &at)) x.peers[at.node].members++;
  return x;
}

static struct exchange begin(struct tm_coll *coll, size_t part) {
  struct exchange x = of_nodes(coll, part);
  x.local = tm_coll_begin(coll->comm->local_comm, coll->call);
  return x;
}

static bool is_first(const struct exchange *x) { return x->local.comm->rank == 0; }

/* Copies a part that must have the size of all. */
static void pack(struct exchange *x, char *to, const struct tm_part *part) {
  size_t bytes = part->count * part->type->size;
  x->different |= bytes != x->part;
  tm_type_pack(to, part->at, part->type, 0, bytes < x->part ? bytes : x->part);
}

static void unpack(struct exchange *x, const struct tm_part *part, const char *from, int sender) {
  const struct tm_part packed = {(void *)(uintptr_t)from, x->part, tm_type_of(MPI_BYTE)};
  tm_part_copy(x->coll, part, &packed, sender);
}

static char *buffer_new(const struct exchange *x, size_t bytes) {
  char *buffer = malloc(bytes);
  if (buffer == NULL) tm_panic("no memory for a collective of %d ranks", x->coll->comm->size);
  return buffer;
}

/* Messages that are under way at once. */
struct batch {
  struct tm_request *requests, **all;
  int count;
};

static int pieces_of(size_t bytes) {
  return (int)((bytes + TM_FAR_NOTE_MAX - 1) / TM_FAR_NOTE_MAX);
}

static void start(struct exchange *x, struct batch *batch, enum tm_kind kind, void *at,
                  size_t bytes, int member) {
  struct tm_request *request = &batch->requests[batch->count];
  tm_request_borrow_inner(request, kind, at, bytes, tm_type_of(MPI_BYTE), member, x->coll->tag,
                          x->coll->comm);
  tm_request_start(request);
  batch->all[batch->count++] = request;
}

/* Starts the messages to a node, or from one: one at least. Before several goes how many bytes they
 * have. A node that expects one message does not take that for it: parts of PART_MAX at most, where
 * others have one byte, are no reason for several. */
static void start_pieces(struct exchange *x, struct batch *batch, enum tm_kind kind, char *at,
                         size_t bytes, size_t *announced, int member) {
  size_t piece;
  if (bytes > TM_FAR_NOTE_MAX) start(x, batch, kind, announced, sizeof *announced, member);
  do {
    piece = bytes < TM_FAR_NOTE_MAX ? bytes : TM_FAR_NOTE_MAX;
    start(x, batch, kind, at, piece, member);
    bytes -= piece;
    at += piece;
  } while (bytes > 0);
}

static bool is_different(const struct tm_request *recv) {
  return recv->error != MPI_SUCCESS || recv->bytes != recv->count;
}

static void finish(struct exchange *x, struct batch *batch) {
  tm_requests_wait(batch->all, batch->count, batch->count, x->coll->call);
  for (int i = 0; i < batch->count; i++) {
    const struct tm_request *request = batch->all[i];
    x->different |= request->kind == TM_RECV && is_different(request);
    tm_request_empty(batch->all[i]);
  }
  batch->count = 0;
}

/* Several messages from a node need not come if it has not announced as many bytes. */
static void expect(struct exchange *x, const struct batch *batch, const struct peer *from) {
  struct tm_request *first = batch->all[0];
  if (from->in_bytes <= TM_FAR_NOTE_MAX) return;
  tm_requests_wait(&first, 1, 1, x->coll->call);
  if (!is_different(first) && from->announced == from->in_bytes) return;
  for (int i = 1; i < batch->count; i++)
    if (batch->all[i]->kind == TM_RECV) tm_request_withdraw(batch->all[i]);
}

static struct batch batch_new(struct exchange *x, int most) {
  struct batch batch = {malloc((size_t)most * sizeof *batch.requests),
                        malloc((size_t)most * sizeof(struct tm_request *)), 0};
  if (batch.requests == NULL || batch.all == NULL)
    tm_panic("no memory for a collective of %d nodes", x->span->nodes);
  return batch;
}

/* Exchanges messages with the first member of each other node. They go in pieces that the receiver
 * need not fetch: nodes that share CPUs answer late. For the same reason short ones go to several
 * nodes before the first answer; with many pieces that would fill the receivers' memory. */
static void exchange_all(struct exchange *x) {
  const struct tm_span *span = x->span;
  int own = span->own, nodes = span->nodes, most = 1;
  for (int i = 0; i < nodes; i++) {
    int in = pieces_of(x->peers[i].in_bytes), out = pieces_of(x->peers[i].out_bytes);
    if (i != own && in > most) most = in;
    if (i != own && out > most) most = out;
  }
  int at_a_time = most > 1 ? 1 : nodes - 1 < NODES_AT_A_TIME ? nodes - 1 : NODES_AT_A_TIME;
  struct batch batch = batch_new(x, 2 * (most + 1) * at_a_time);
  for (int step = 1; step < nodes; step++) {
    int to = (own + step) % nodes, from = (own - step + nodes) % nodes;
    struct peer *in = &x->peers[from], *out = &x->peers[to];
    start_pieces(x, &batch, TM_RECV, in->in, in->in_bytes, &in->announced, span->speakers[from]);
    start_pieces(x, &batch, TM_SEND, out->out, out->out_bytes, &out->out_bytes, span->speakers[to]);
    if (most > 1) expect(x, &batch, in);
    if (step % at_a_time == 0 || step == nodes - 1) finish(x, &batch);
  }
  free(batch.all);
  free(batch.requests);
}

void tm_nodes_exchange(struct tm_coll *coll, void *parts, size_t part) {
  struct exchange x = of_nodes(coll, part);
  const struct peer *here = &x.peers[x.span->own];
  size_t bytes = (size_t)here->members * part;
  char *in = (char *)parts + bytes;
  for (int i = 0; i < x.span->nodes; i++) {
    struct peer *peer = &x.peers[i];
    if (peer == here) continue;
    peer->out = parts;
    peer->out_bytes = bytes;
    peer->in = in;
    peer->in_bytes = (size_t)peer->members * part;
    in += peer->in_bytes;
  }
  exchange_all(&x);
  free(x.peers);
}

static void publish(struct exchange *x, enum tm_exchange kind, const void *at) {
  if (x->local.comm->team == NULL) return;
  tm_publish(&x->local, tm_exchange_rooted(kind, -1), at, x->part, NULL);
}

/* @return what a member has published. own: what the caller has. */
static const void *published(const struct exchange *x, enum tm_exchange kind, int member,
                             const void *own) {
  if (x->local.comm->team == NULL) return own;
  return tm_published(&x->local, tm_exchange_rooted(kind, -1), member)->at;
}

/* @return what the first member has got. */
static const struct exchange *get_arrived(struct exchange *x, enum tm_exchange kind) {
  publish(x, kind, x);
  meet(x);
  return published(x, kind, 0, x);
}

/* Exchanges what the members of this node have published and the first member has packed, if all of
 * it has one size. */
static void exchange_same(struct exchange *x, enum tm_exchange kind) {
  const struct tm_comm *local_comm = x->local.comm;
  for (int i = 0; local_comm->team != NULL && i < local_comm->size; i++)
    x->different |= tm_published(&x->local, tm_exchange_rooted(kind, -1), i)->bytes != x->part;
  for (int i = 0; x->different && i < x->span->nodes; i++) x->peers[i].out_bytes = 0;
  exchange_all(x);
}

/* @return whether it is done. Otherwise all members begin again, with another tag: messages of this
 * one may still come. */
static bool end(struct exchange *x, bool different, void *buffer) {
  meet(x);
  free(x->peers);
  free(buffer);
  if (different) *x->coll = tm_coll_begin(x->coll->comm, x->coll->call);
  return !different;
}

/* ---- the same to all */

/* One message goes to all other nodes. The buffer has room for all parts, node by node. */
static void gather_nodes(struct exchange *x, char *buffer, const struct tm_part *own) {
  int nodes = x->span->nodes;
  for (int i = 0; i < nodes; i++) {
    x->peers[i].in = buffer;
    x->peers[i].in_bytes = (size_t)x->peers[i].members * x->part;
    buffer += x->peers[i].in_bytes;
  }
  const struct peer *here = &x->peers[x->span->own];
  for (int i = 0; i < nodes; i++) {
    x->peers[i].out = here->in;
    x->peers[i].out_bytes = here->in_bytes;
  }
  for (int i = 0; i < here->members; i++)
    pack(x, here->in + (size_t)i * x->part, published(x, TM_EXCHANGE_ALLGATHER, i, own));
  exchange_same(x, TM_EXCHANGE_ALLGATHER);
}

/* in_place: the caller's part is where it belongs. @return false: not all parts have one size. */
static bool allgather_few(struct tm_coll *coll, const struct tm_part *own,
                          const struct tm_parts *all, size_t part, bool in_place) {
  struct exchange x = begin(coll, part);
  char *buffer = NULL;
  publish(&x, TM_EXCHANGE_ALLGATHER, own);
  meet(&x);
  if (is_first(&x)) {
    buffer = buffer_new(&x, (size_t)coll->comm->size * part);
    gather_nodes(&x, buffer, own);
  }
  const struct exchange *first = get_arrived(&x, TM_EXCHANGE_ALLGATHER);
  bool different = first->different;
  struct place at = before_all(&x);
  while (!different && next_place(&x, &at)) {
    struct tm_part to = tm_part_of(all, at.rank);
    if (at.rank != coll->comm->rank || !in_place)
      unpack(&x, &to, first->peers[at.node].in + (size_t)at.index * part, at.rank);
  }
  return end(&x, different, buffer);
}

/* In round i each rank sends to the one i after it, and receives from the one i before. */
void tm_nodes_allgather(struct tm_coll *coll, const struct tm_part *own,
                        const struct tm_parts *all) {
  struct tm_comm *comm = coll->comm;
  struct tm_part place = tm_part_of(all, comm->rank);
  const struct tm_part *source = own->at == MPI_IN_PLACE ? &place : own;
  size_t part = (size_t)all->count * (all->type != NULL ? all->type->size : 0);
  bool few = !tm_counts_given(all->counts) && is_few(comm, part);
  if (few && allgather_few(coll, source, all, part, source != own)) return;
  if (source == own) tm_part_copy(coll, &place, own, comm->rank);
  for (int i = 1; i < comm->size; i++) {
    int to = (comm->rank + i) % comm->size, from = (comm->rank - i + comm->size) % comm->size;
    struct tm_part in = tm_part_of(all, from);
    tm_coll_exchange(coll, source->at, source->count, source->type, to, in.at, in.count, in.type,
                     from);
  }
}

/* ---- a part for each */

/* What a rank sends: its parts, or copies of them. */
struct source {
  const struct tm_parts *parts;
  const struct tm_part *packed; /* NULL: none */
};

static struct tm_part part_for(const struct exchange *x, int member, const struct source *own,
                               int rank) {
  const struct source *source = published(x, TM_EXCHANGE_ALLTOALL, member, own);
  return source->packed != NULL ? source->packed[rank] : tm_part_of(source->parts, rank);
}

/* A message to a node has the parts of the first member of this one for all of that one, then those
 * of the second. The buffer has room for all messages. */
static void transpose_nodes(struct exchange *x, char *buffer, const struct source *own) {
  int here = x->local.comm->size;
  for (int i = 0; i < x->span->nodes; i++) {
    struct peer *peer = &x->peers[i];
    if (i == x->span->own) continue;
    peer->out_bytes = peer->in_bytes = (size_t)here * (size_t)peer->members * x->part;
    peer->out = buffer;
    peer->in = buffer + peer->out_bytes;
    buffer += peer->out_bytes + peer->in_bytes;
  }
  struct place at = before_all(x);
  while (next_place(x, &at)) {
    const struct peer *peer = &x->peers[at.node];
    for (int i = 0; at.node != x->span->own && i < here; i++) {
      struct tm_part part = part_for(x, i, own, at.rank);
      size_t index = (size_t)i * (size_t)peer->members + (size_t)at.index;
      pack(x, peer->out + index * x->part, &part);
    }
  }
  exchange_same(x, TM_EXCHANGE_ALLTOALL);
}

/* The parts of the members of this node. */
static void copy_here(struct exchange *x, const struct source *own, const struct tm_parts *recv) {
  struct place at = before_all(x);
  while (next_place(x, &at)) {
    if (at.node != x->span->own) continue;
    struct tm_part from = part_for(x, at.index, own, x->coll->comm->rank);
    struct tm_part to = tm_part_of(recv, at.rank);
    tm_part_copy(x->coll, &to, &from, at.rank);
  }
}

/* @return false: not all parts have one size. */
static bool alltoall_few(struct tm_coll *coll, const struct source *own,
                         const struct tm_parts *recv, size_t part) {
  struct exchange x = begin(coll, part);
  int here = x.local.comm->size;
  char *buffer = NULL;
  publish(&x, TM_EXCHANGE_ALLTOALL, own);
  meet(&x);
  copy_here(&x, own, recv);
  if (is_first(&x)) {
    buffer = buffer_new(&x, 2 * (size_t)here * (size_t)(coll->comm->size - here) * part);
    transpose_nodes(&x, buffer, own);
  }
  const struct exchange *first = get_arrived(&x, TM_EXCHANGE_ALLTOALL);
  bool different = first->different;
  struct place at = before_all(&x);
  while (!different && next_place(&x, &at)) {
    if (at.node == x.span->own) continue;
    struct tm_part to = tm_part_of(recv, at.rank);
    size_t index = (size_t)at.index * (size_t)here + (size_t)x.local.comm->rank;
    unpack(&x, &to, first->peers[at.node].in + index * part, at.rank);
  }
  return end(&x, different, buffer);
}

void tm_nodes_alltoall(struct tm_coll *coll, const struct tm_parts *send,
                       const struct tm_part *packed, const struct tm_parts *recv) {
  struct tm_comm *comm = coll->comm;
  size_t part = (size_t)recv->count * (recv->type != NULL ? recv->type->size : 0);
  bool few = !tm_counts_given(recv->counts) && is_few(comm, part);
  if (few && alltoall_few(coll, &(struct source){send, packed}, recv, part)) return;
  for (int i = 0; i < comm->size; i++) {
    int to = (comm->rank + i) % comm->size, from = (comm->rank - i + comm->size) % comm->size;
    struct tm_part out = packed != NULL ? packed[to] : tm_part_of(send, to);
    struct tm_part in = tm_part_of(recv, from);
    if (i == 0)
      tm_part_copy(coll, &in, &out, from);
    else
      tm_coll_exchange(coll, out.at, out.count, out.type, to, in.at, in.count, in.type, from);
  }
}

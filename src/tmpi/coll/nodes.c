/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several nodes that move data; nodes.h. */
#include "tmpi/coll/nodes.h"

#include <stdlib.h>

#include "tmpi/object/span.h"

/* The first error of either counts. */
static void take_error(struct tm_coll *coll, const struct tm_coll *local) {
  if (coll->error == MPI_SUCCESS) coll->error = local->error;
}

/* In round i each speaker hears from the one 2^i before it, and so of all that this one has heard
 * of. */
static void meet_speakers(struct tm_coll *coll) {
  const struct tm_span *span = coll->comm->span;
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  for (int step = 1; step < span->nodes; step *= 2) {
    int to = span->speakers[(span->own + step) % span->nodes];
    int from = span->speakers[(span->own - step + span->nodes) % span->nodes];
    tm_coll_exchange(coll, NULL, 0, byte, to, NULL, 0, byte, from);
  }
}

void tm_nodes_barrier(struct tm_coll *coll) {
  struct tm_comm *comm = coll->comm;
  tm_barrier(comm->local_comm, coll->call);
  if (comm->rank == comm->span->speakers[comm->span->own]) meet_speakers(coll);
  tm_barrier(comm->local_comm, coll->call);
}

/* ---- from one */

/* The root acts for its node, and the speakers for theirs. */
struct actors {
  const struct tm_span *span;
  int root, root_node;
};

static int actor_of(const struct actors *actors, int node) {
  return node == actors->root_node ? actors->root : actors->span->speakers[node];
}

/* A node of a binomial tree, counted from the root's. */
struct place {
  int number, before, step; /* before: the number of the node that it hears from */
};

static struct place place_of(const struct actors *actors) {
  int nodes = actors->span->nodes, bit = 1;
  int number = (actors->span->own - actors->root_node + nodes) % nodes;
  while (bit < nodes && (number & bit) == 0) bit *= 2;
  return (struct place){number, number - bit, bit / 2};
}

static int actor_at(const struct actors *actors, int number) {
  return actor_of(actors, (number + actors->root_node) % actors->span->nodes);
}

/* @return what the caller has to pass on. It may have less room than others for what the root sent,
 * or more. Where nobody hears it from the caller, its own part is enough. */
static struct tm_passed hear(struct tm_coll *coll, const struct tm_part *own,
                             const struct actors *actors, const struct place *at) {
  struct tm_passed passed = {*own, NULL};
  bool passes_on =
      coll->comm->local_comm->size > 1 || (at->step > 0 && at->number + 1 < actors->span->nodes);
  if (at->number == 0) return passed;
  int source = actor_at(actors, at->before);
  if (passes_on) return tm_coll_recv_whole(coll, own, source);
  tm_coll_recv(coll, own->at, own->count, own->type, source);
  return passed;
}

static struct tm_passed bcast_actors(struct tm_coll *coll, const struct tm_part *own,
                                     const struct actors *actors) {
  const struct place at = place_of(actors);
  struct tm_passed passed = hear(coll, own, actors, &at);
  for (int step = at.step; step > 0; step /= 2)
    if (at.number + step < actors->span->nodes)
      tm_coll_send(coll, passed.part.at, passed.part.count, passed.part.type,
                   actor_at(actors, at.number + step));
  return passed;
}

void tm_nodes_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                    int root) {
  struct tm_comm *comm = coll->comm, *local_comm = comm->local_comm;
  if (!tm_comm_spans(comm)) return; /* one rank alone */
  const struct actors actors = {comm->span, root, tm_span_index(comm->span, comm->group, root)};
  int actor = actor_of(&actors, comm->span->own);
  const struct tm_part own = {buffer, count, type};
  struct tm_passed passed = {own, NULL};
  if (comm->rank == actor) passed = bcast_actors(coll, &own, &actors);
  struct tm_coll local = tm_coll_begin(local_comm, coll->call);
  tm_bcast(&local, passed.part.at, passed.part.count, passed.part.type,
           tm_group_find(local_comm->group, comm->group->ranks[actor]));
  free(passed.memory);
  take_error(coll, &local);
}

/* ---- a part for each rank */

/* The caller's own part, if it does not lie where it belongs. */
static void copy_own(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all) {
  struct tm_part place = tm_part_of(all, coll->comm->rank);
  if (own->at != MPI_IN_PLACE) tm_part_copy(coll, &place, own, coll->comm->rank);
}

void tm_nodes_gather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all,
                     int root) {
  struct tm_comm *comm = coll->comm;
  if (comm->rank != root) {
    tm_coll_send(coll, own->at, own->count, own->type, root);
    return;
  }
  copy_own(coll, own, all);
  for (int i = 0; i < comm->size; i++) {
    struct tm_part part = tm_part_of(all, i);
    if (i != root) tm_coll_recv(coll, part.at, part.count, part.type, i);
  }
}

void tm_nodes_scatter(struct tm_coll *coll, const struct tm_parts *all, const struct tm_part *own,
                      int root) {
  struct tm_comm *comm = coll->comm;
  if (comm->rank != root) {
    tm_coll_recv(coll, own->at, own->count, own->type, root);
    return;
  }
  for (int i = 0; i < comm->size; i++) {
    struct tm_part part = tm_part_of(all, i);
    if (i != root)
      tm_coll_send(coll, part.at, part.count, part.type, i);
    else if (own->at != MPI_IN_PLACE)
      tm_part_copy(coll, own, &part, root);
  }
}

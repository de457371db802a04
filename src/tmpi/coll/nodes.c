/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several nodes that move data; nodes.h. */
#include "tmpi/coll/nodes.h"

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

/* A binomial tree of nodes, counted from the root's. */
static void bcast_actors(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                         const struct actors *actors) {
  int nodes = actors->span->nodes;
  int place = (actors->span->own - actors->root_node + nodes) % nodes, bit = 1;
  while (bit < nodes && (place & bit) == 0) bit *= 2;
  if (place != 0)
    tm_coll_recv(coll, buffer, count, type,
                 actor_of(actors, (place - bit + actors->root_node) % nodes));
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < nodes)
      tm_coll_send(coll, buffer, count, type,
                   actor_of(actors, (place + bit + actors->root_node) % nodes));
}

void tm_nodes_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                    int root) {
  struct tm_comm *comm = coll->comm, *local_comm = comm->local_comm;
  if (!tm_comm_spans(comm)) return; /* one rank alone */
  const struct actors actors = {comm->span, root, tm_span_index(comm->span, comm->group, root)};
  int actor = actor_of(&actors, comm->span->own);
  if (comm->rank == actor) bcast_actors(coll, buffer, count, type, &actors);
  struct tm_coll local = tm_coll_begin(local_comm, coll->call);
  tm_bcast(&local, buffer, count, type,
           tm_group_find(local_comm->group, comm->group->ranks[actor]));
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

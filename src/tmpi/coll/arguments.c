/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a struct tm_collective, checked. What a rank does not use may be anything. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/collective.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

/* root: 0 if the collective has none. */
static bool has_buffer(const struct tm_comm *comm, enum tm_who who, int root) {
  bool is_root = root == MPI_ROOT || (!comm->inter && root == comm->rank);
  switch (who) {
    case TM_ALL: return true;
    case TM_ROOT: return is_root;
    case TM_OTHERS: return root >= 0;
    default: return false;
  }
}

int tm_parts_number(const struct tm_comm *comm, enum tm_parts_for parts, bool sends) {
  int sources, dests;
  switch (parts) {
    case TM_RANKS: return comm->remote->size;
    case TM_MEMBERS: return comm->size;
    case TM_NEIGHBORS: tm_neighbors_count(comm, &sources, &dests); return sends ? dests : sources;
    default: return 1;
  }
}

static int check_buffer(const struct tm_collective *c, struct tm_comm *comm,
                        const struct tm_parts *parts, MPI_Datatype type, int many) {
  struct tm_type *found;
  if (parts->base == MPI_IN_PLACE) return MPI_SUCCESS;
  int error = tm_check_counts(comm, c->call, parts, many);
  if (error == MPI_SUCCESS && parts->types == NULL) {
    error = tm_get_type(comm, c->call, type, &found);
    return error == MPI_SUCCESS ? tm_check_bytes_of_all(comm, c->call, parts, many, found) : error;
  }
  for (int i = 0; error == MPI_SUCCESS && i < many; i++) {
    error = tm_get_type(comm, c->call, parts->types[i], &found);
    if (error == MPI_SUCCESS)
      error = tm_check_bytes(comm, c->call, tm_parts_count(parts, i), found);
  }
  return error;
}

/* The part of a buffer that is for the caller itself, or the only one. */
static struct tm_part own_part(const struct tm_comm *comm, const struct tm_parts *given,
                               enum tm_parts_for kind, MPI_Datatype type) {
  struct tm_parts parts = *given;
  if (parts.types == NULL) parts.type = tm_type_of(type);
  return tm_part_of(&parts, kind == TM_ONE ? 0 : comm->rank);
}

/* As the blocking calls: the caller's own part must not be sent from where it is received. */
static int check_alias(const struct tm_collective *c, struct tm_comm *comm) {
  const struct tm_collective_kind *kind = c->kind;
  bool both = kind->reduces || (kind->sends != TM_NOBODY && kind->receives != TM_NOBODY);
  if (!both || comm->inter || kind->on_topology || c->send.base == MPI_IN_PLACE ||
      c->recv.base == MPI_IN_PLACE || (kind->rooted && c->root != comm->rank))
    return MPI_SUCCESS;
  struct tm_part filled = own_part(comm, &c->recv, kind->recv_parts, c->recvtype), sent = filled;
  if (kind->reduces)
    sent.at = c->send.base;
  else
    sent = own_part(comm, &c->send, kind->send_parts, c->sendtype);
  if (kind == &tm_reduce_scatter_kind) filled.at = c->recv.base; /* only the own part is there */
  return tm_check_alias(comm, c->call, &sent, &filled);
}

int tm_collective_check(const struct tm_collective *c) {
  const struct tm_collective_kind *kind = c->kind;
  const struct tm_op *op;
  struct tm_type *type;
  struct tm_comm *comm;
  int error = tm_get_comm(c->call, c->comm, &comm);
  if (error != MPI_SUCCESS) return error;
  if (kind->intra_only && comm->inter)
    return tm_fail(comm, c->call, MPI_ERR_COMM, "it is an intercommunicator");
  if (kind->on_topology && comm->topology == NULL)
    return tm_fail(comm, c->call, MPI_ERR_TOPOLOGY,
                   "the communicator has no topology (make one by MPI_Cart_create() or the like)");
  if (kind->rooted) error = tm_check_root(comm, c->call, c->root);
  if (tm_is_bystander(comm, c->root)) return error;
  if (error == MPI_SUCCESS && has_buffer(comm, kind->sends, c->root))
    error =
        check_buffer(c, comm, &c->send, c->sendtype, tm_parts_number(comm, kind->send_parts, true));
  if (error == MPI_SUCCESS && has_buffer(comm, kind->receives, c->root))
    error = check_buffer(c, comm, &c->recv, c->recvtype,
                         tm_parts_number(comm, kind->recv_parts, false));
  if (error == MPI_SUCCESS && kind->reduces) error = tm_get_type(comm, c->call, c->recvtype, &type);
  if (error == MPI_SUCCESS && kind->reduces) error = tm_check_op(comm, c->call, c->op, type, &op);
  return error == MPI_SUCCESS ? check_alias(c, comm) : error;
}

/* ---- arrays */

/* @return how much room a copy of an array takes, so that any array may follow it. */
static size_t room_of(const void *array, int many, size_t each) {
  size_t alignment = sizeof(MPI_Count);
  return array == NULL ? 0 : ((size_t)many * each + alignment - 1) / alignment * alignment;
}

/* Copies an array to *room, if there is room, and moves *room behind it. @return what to read. */
static const void *keep(char **room, const void *array, int many, size_t each) {
  if (array == NULL || *room == NULL) return array;
  void *copy = memcpy(*room, array, (size_t)many * each);
  *room += room_of(array, many, each);
  return copy;
}

/* The arrays of a buffer are replaced by copies in *room, unless that is NULL. @return their size.
 */
static size_t keep_arrays(struct tm_parts *parts, int many, char **room) {
  size_t size = 0, of_int = sizeof(int), of_count = sizeof(MPI_Count);
  struct tm_counts *both[] = {&parts->counts, &parts->displs};
  for (int i = 0; i < 2; i++) {
    size += room_of(both[i]->ints, many, of_int) + room_of(both[i]->large, many, of_count);
    both[i]->ints = keep(room, both[i]->ints, many, of_int);
    both[i]->large = keep(room, both[i]->large, many, of_count);
  }
  size += room_of(parts->types, many, sizeof *parts->types);
  parts->types = keep(room, parts->types, many, sizeof *parts->types);
  return size;
}

static size_t keep_both(struct tm_collective *c, const struct tm_comm *comm, char **room) {
  const struct tm_collective_kind *kind = c->kind;
  return keep_arrays(&c->send, tm_parts_number(comm, kind->send_parts, true), room) +
         keep_arrays(&c->recv, tm_parts_number(comm, kind->recv_parts, false), room);
}

static void clear(struct tm_parts *parts, MPI_Datatype *type) {
  *parts = (struct tm_parts){.base = parts->base};
  *type = MPI_DATATYPE_NULL;
}

/* A datatype or an operation that does not count may be anything, also an address without memory.
 * Count and type of a reduction are those of what is received, in place or not. */
static void clear_unused(struct tm_collective *c, const struct tm_comm *comm) {
  const struct tm_collective_kind *kind = c->kind;
  bool takes_part = !tm_is_bystander(comm, c->root);
  bool sends = has_buffer(comm, kind->sends, c->root) && c->send.base != MPI_IN_PLACE;
  bool receives =
      has_buffer(comm, kind->receives, c->root) && (kind->reduces || c->recv.base != MPI_IN_PLACE);
  if (!takes_part || !sends) clear(&c->send, &c->sendtype);
  if (!takes_part || !receives) clear(&c->recv, &c->recvtype);
  if (!takes_part) c->op = MPI_OP_NULL;
}

bool tm_collective_keep(struct tm_collective *c, const struct tm_comm *comm, void **kept) {
  char *room = NULL;
  clear_unused(c, comm);
  size_t size = keep_both(c, comm, &room);
  *kept = room = size > 0 ? malloc(size) : NULL;
  keep_both(c, comm, &room);
  return size == 0 || *kept != NULL;
}

int tm_collective_perform(const struct tm_collective *c) {
  int error = tm_collective_check(c);
  return error == MPI_SUCCESS ? c->kind->perform(c) : error;
}

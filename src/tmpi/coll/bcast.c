/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Barrier() and MPI_Bcast(). */
#include <stdlib.h>

#include "tmpi/coll/collective.h"
#include "tmpi/coll/nodes.h"
#include "tmpi/coll/offer.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

__attribute__((always_inline)) static inline void barrier(struct tm_comm *comm, const char *call) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  if (comm->team != NULL)
    tm_next_phase(&coll);
  else if (tm_comm_spans(comm))
    tm_nodes_barrier(&coll);
}

void tm_barrier(struct tm_comm *comm, const char *call) { barrier(comm, call); }

/* A few bytes travel in the team's slots, and the root need not wait. Otherwise the root stays
 * until all members have copied. */
static void publish(const struct tm_coll *coll, int exchange, const void *buffer, size_t bytes,
                    const struct tm_type *type, char *data) {
  bool few = bytes <= TM_SMALL_MAX;
  if (few) tm_type_pack(data, buffer, type, 0, bytes);
  tm_publish(coll, exchange, few ? data : buffer, bytes, few ? tm_type_of(MPI_BYTE) : type);
}

/* A check whether they are a pair in each step would be a fortieth of what a rank does. */
__attribute__((always_inline)) static inline void bcast(struct tm_coll *coll, void *buffer,
                                                        size_t room, struct tm_type *type, int root,
                                                        bool pair) {
  int exchange = tm_exchange_rooted(TM_EXCHANGE_BCAST, root);
  if (root == coll->comm->rank)
    publish(coll, exchange, buffer, room, type,
            pair ? tm_pair_data_next(coll) : tm_team_data_next(coll));
  if (pair)
    tm_pair_meet(coll);
  else
    tm_next_phase_of_many(coll);
  const struct tm_publication *source = tm_published(coll, exchange, root);
  if (root != coll->comm->rank) {
    if (source->bytes > room) tm_coll_too_long(coll, root, source->bytes, room);
    tm_type_copy(buffer, type, source->at, source->more,
                 source->bytes < room ? source->bytes : room);
  }
  if (source->bytes > TM_SMALL_MAX) tm_next_phase(coll);
}

__attribute__((noinline)) static void bcast_in_pair(struct tm_coll *coll, void *buffer, size_t room,
                                                    struct tm_type *type, int root) {
  bcast(coll, buffer, room, type, root, true);
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  size_t bytes = count * type->size;
  if (coll->comm->team == NULL) /* jumps, for which no register has to be saved */
    tm_nodes_bcast(coll, buffer, count, type, root);
  else if (mt_unlikely(tm_pair_of(coll) != NULL))
    bcast_in_pair(coll, buffer, bytes, type, root);
  else if (mt_unlikely(bytes >= TM_OFFER_MIN))
    tm_bcast_offered(coll, buffer, bytes, type, root);
  else
    bcast(coll, buffer, bytes, type, root, false);
}

/* All of a group have come when its barrier returns; then its first rank tells the other group's.
 */
__attribute__((noinline)) static void barrier_inter(struct tm_comm *comm, const char *call) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct tm_coll coll = tm_coll_begin(comm, call);
  tm_barrier(comm->local_comm, call);
  if (comm->rank == 0) tm_coll_exchange(&coll, NULL, 0, byte, 0, NULL, 0, byte, 0);
  tm_barrier(comm->local_comm, call);
}

int tm_call_barrier(const char *call, MPI_Comm handle) {
  struct tm_comm *comm;
  int error = tm_get_comm_quickly(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (comm->inter)
    barrier_inter(comm, call);
  else
    barrier(comm, call);
  return MPI_SUCCESS;
}

#pragma weak MPI_Barrier = PMPI_Barrier
int PMPI_Barrier(MPI_Comm comm) { return tm_call_barrier("MPI_Barrier", comm); }

/* To the first rank of the other group, and among them. */
static void bcast_inter(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                        int root) {
  if (root == MPI_PROC_NULL) return;
  if (root == MPI_ROOT) {
    tm_coll_send(coll, buffer, count, type, 0);
    return;
  }
  const struct tm_part own = {buffer, count, type};
  struct tm_passed passed = {own, NULL};
  if (coll->comm->rank == 0) passed = tm_coll_recv_whole(coll, &own, root);
  struct tm_coll local = tm_coll_begin(coll->comm->local_comm, coll->call);
  tm_bcast(&local, passed.part.at, passed.part.count, passed.part.type, 0);
  free(passed.memory);
  if (coll->error == MPI_SUCCESS) coll->error = local.error;
}

int tm_call_bcast(const char *call, void *buffer, MPI_Count count, MPI_Datatype handle, int root,
                  MPI_Comm comm_handle) {
  struct tm_comm *comm;
  struct tm_type *type = NULL;
  int error = tm_get_comm_quickly(call, comm_handle, &comm);
  bool takes_part = error == MPI_SUCCESS && !tm_is_bystander(comm, root);
  if (takes_part) error = tm_check_count(comm, call, count);
  if (takes_part && error == MPI_SUCCESS) error = tm_get_type_quickly(comm, call, handle, &type);
  if (takes_part && error == MPI_SUCCESS) error = tm_check_bytes(comm, call, count, type);
  if (error == MPI_SUCCESS) error = tm_check_root(comm, call, root);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin_rooted(comm, call, root);
  if (comm->inter)
    bcast_inter(&coll, buffer, (size_t)count, type, root);
  else
    tm_bcast(&coll, buffer, (size_t)count, type, root);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Bcast = PMPI_Bcast
int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return tm_call_bcast("MPI_Bcast", buffer, count, type, root, comm);
}

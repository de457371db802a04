/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators split by color and key, or by what ranks share. The first member of each node gets
 * what the members of its node have chosen, and exchanges that with the other nodes. Then it makes
 * the groups that have members on its node, and deals them out.
 *
 * Rejected: one member that gets a message from each other one and answers it. Over nodes that is
 * two messages or three for each rank, and one node after the other waits for that member.
 */
#include "tmpi/comm/split.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/nodes.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

struct choice {
  uint64_t context; /* for the communicator that this rank will be the first of; 0: of one node */
  int color, key, rank;
  bool is_full; /* it can have no more communicators */
};

static int by_color_and_key(const void *a_, const void *b_) {
  const struct choice *a = a_, *b = b_;
  if (a->color != b->color) return a->color < b->color ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->rank - b->rank;
}

/* The members of a color. members: room for as many. */
static void deal_out_color(const struct tm_comm *comm, const struct choice *choices, int count,
                           bool is_full, int *members, struct tm_group *here,
                           struct tm_common *local) {
  uint64_t context = choices[0].context != 0 ? choices[0].context : tm_context_new();
  struct tm_common common = {is_full ? 0 : context, NULL};
  for (int i = 0; i < count; i++) members[i] = choices[i].rank;
  if (choices[0].color != MPI_UNDEFINED)
    common = tm_common_new(comm, common.context, members, count);
  for (int i = 0; i < count; i++) {
    int number = comm->group->ranks[members[i]];
    if (tm_rank_is_here(number)) local[tm_group_find(here, number)] = common;
  }
  if (common.group != NULL) tm_group_release(common.group);
}

/* choices: of all ranks. here: the members of this node; local: what they get, by rank there. */
static void deal_out(const struct tm_comm *comm, struct choice *choices, struct tm_group *here,
                     struct tm_common *local) {
  int size = comm->size, *members = malloc((size_t)size * sizeof *members);
  bool is_full = false;
  if (members == NULL) tm_panic("no memory to split a communicator of %d ranks", size);
  qsort(choices, (size_t)size, sizeof *choices, by_color_and_key);
  for (int i = 0; i < size; i++) is_full |= choices[i].is_full;
  for (int from = 0, to; from < size; from = to) {
    for (to = from; to < size && choices[to].color == choices[from].color;) to++;
    deal_out_color(comm, choices + from, to - from, is_full, members, here, local);
  }
  free(members);
}

/* @return a part of each member, and the place for all of them, which rank 0 alone has. */
static struct tm_parts parts_at(void *base, size_t bytes) {
  return (struct tm_parts){base,         (MPI_Count)bytes,     TM_NO_COUNTS,
                           TM_NO_COUNTS, tm_type_of(MPI_BYTE), NULL};
}

static void *new_parts(const struct tm_comm *comm, int count, size_t bytes) {
  void *parts = malloc((size_t)count * bytes);
  if (parts == NULL) tm_panic("no memory to split a communicator of %d ranks", comm->size);
  return parts;
}

void tm_split(struct tm_coll *coll, int color, int key, struct tm_common *common) {
  struct tm_comm *comm = coll->comm;
  bool spans = tm_comm_spans(comm), is_member = color != MPI_UNDEFINED;
  struct tm_coll local = spans ? tm_coll_begin(comm->local_comm, coll->call) : *coll;
  struct choice choice = {spans ? tm_context_new() : 0, color, key, comm->rank,
                          is_member && tm_comms_are_full()};
  struct choice *choices = NULL;
  struct tm_common *commons = NULL;
  bool deals = local.comm->rank == 0;
  if (deals) {
    choices = new_parts(comm, comm->size, sizeof *choices);
    commons = new_parts(comm, local.comm->size, sizeof *commons);
  }
  const struct tm_part sent = {&choice, sizeof choice, tm_type_of(MPI_BYTE)},
                       dealt = {common, sizeof *common, tm_type_of(MPI_BYTE)};
  const struct tm_parts all = parts_at(choices, sizeof *choices),
                        each = parts_at(commons, sizeof *commons);
  tm_gather(&local, &sent, &all, 0);
  if (deals && spans) tm_nodes_exchange(coll, choices, sizeof *choices);
  if (deals) deal_out(comm, choices, local.comm->group, commons);
  tm_scatter(&local, &each, &dealt, 0);
  free(commons);
  free(choices);
}

int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_common common;
  tm_split(&coll, color, key, &common);
  return tm_common_finish(comm, call, &common, result);
}

static int split_checked(const char *call, MPI_Comm handle, int color, int key, MPI_Comm *result) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (result == NULL) return tm_fail(comm, call, MPI_ERR_ARG, "no place for the communicator");
  if (color < 0 && color != MPI_UNDEFINED)
    return tm_fail(comm, call, MPI_ERR_ARG, "color %d is negative", color);
  if (comm->inter) return tm_intercomm_split(comm, call, color, key, result);
  return tm_comm_split(comm, call, color, key, result);
}

#pragma weak MPI_Comm_split = PMPI_Comm_split
int PMPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm *result) {
  return split_checked("MPI_Comm_split", handle, color, key, result);
}

/* Guided splits know one resource: the memory that ranks of a node share. */
static bool shares_memory(int kind, MPI_Info info) {
  if (kind == MPI_COMM_TYPE_SHARED) return true;
  if (kind != MPI_COMM_TYPE_HW_GUIDED && kind != MPI_COMM_TYPE_RESOURCE_GUIDED) return false;
  const struct tm_info *hints = tm_info_of(info);
  const struct tm_info_entry *resource =
      hints != NULL ? tm_info_find(hints, "mpi_hw_resource_type") : NULL;
  return resource != NULL && strcmp(resource->value, "mpi_shared_memory") == 0;
}

#pragma weak MPI_Comm_split_type = PMPI_Comm_split_type
int PMPI_Comm_split_type(MPI_Comm handle, int kind, int key, MPI_Info info, MPI_Comm *result) {
  static const char call[] = "MPI_Comm_split_type";
  bool known = kind == MPI_UNDEFINED ||
               (kind >= MPI_COMM_TYPE_SHARED && kind <= MPI_COMM_TYPE_RESOURCE_GUIDED);
  tm_enter(call);
  if (!known) return tm_fail(NULL, call, MPI_ERR_ARG, "%d is no kind of split", kind);
  struct tm_comm *comm;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS) error = tm_check_info(comm, call, info);
  if (error != MPI_SUCCESS) return error;
  int node = tm_rank_node(tm_rank_number());
  int color = shares_memory(kind, info) ? node : MPI_UNDEFINED;
  return split_checked(call, handle, color, key, result);
}

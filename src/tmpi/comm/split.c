/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators split by color and key, or by what ranks share. */
#include "tmpi/comm/split.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/common.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

struct choice {
  int color, key, rank;
};

static int by_color_and_key(const void *a_, const void *b_) {
  const struct choice *a = a_, *b = b_;
  if (a->color != b->color) return a->color < b->color ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->rank - b->rank;
}

/* Rank 0 has all choices, sorted: makes the groups and tells each rank which is its own. members:
 * room for as many. */
static void deal_out(struct tm_coll *coll, const struct choice *choices, int *members,
                     struct tm_common *own) {
  int size = coll->comm->size;
  for (int from = 0, to; from < size; from = to) {
    for (to = from; to < size && choices[to].color == choices[from].color;) to++;
    struct tm_common common = {0, NULL};
    if (choices[from].color != MPI_UNDEFINED) {
      for (int i = from; i < to; i++) members[i - from] = choices[i].rank;
      common = tm_common_new(coll->comm, members, to - from);
    }
    for (int i = from; i < to; i++) {
      if (choices[i].rank == 0)
        *own = common;
      else
        tm_common_send(coll, &common, choices[i].rank);
    }
    if (common.group != NULL) tm_group_release(common.group);
  }
}

int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct choice choice = {color, key, comm->rank};
  struct tm_common common = {0, NULL};
  if (comm->rank != 0) {
    tm_coll_send(&coll, &choice, sizeof choice, byte, 0);
    tm_common_recv(&coll, &common, 0);
    return tm_common_finish(comm, call, &common, result);
  }
  struct choice *choices = malloc((size_t)comm->size * sizeof *choices);
  int *members = malloc((size_t)comm->size * sizeof *members);
  if (choices == NULL || members == NULL)
    tm_panic("no memory to split a communicator of %d ranks", comm->size);
  choices[0] = choice;
  for (int i = 1; i < comm->size; i++) tm_coll_recv(&coll, &choices[i], sizeof choice, byte, i);
  qsort(choices, (size_t)comm->size, sizeof *choices, by_color_and_key);
  deal_out(&coll, choices, members, &common);
  free(members);
  free(choices);
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
  int node = tm_rank_node(tm_rank_number());
  int color = shares_memory(kind, info) ? node : MPI_UNDEFINED;
  return split_checked(call, handle, color, key, result);
}

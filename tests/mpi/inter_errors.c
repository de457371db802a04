/* SPDX-License-Identifier: Apache-2.0 */
/* What an intercommunicator refuses: calls that are for one group, and ranks that its remote group
 * does not have. Of three ranks, one is a group, and two are the other. */
#include "check.h"

static int rank, buffer[64];
static MPI_Comm side, inter, made;
static MPI_Request request;
static MPI_Status status;
static const int one[] = {1}, zero[] = {0};
static char none[] = "none";

#define REFUSED(call) EXPECT(MPI_ERR_COMM, call)

static void one_group_only(void) {
  const MPI_Info info = MPI_INFO_NULL;
  char *commands[] = {none};
  void *base;
  MPI_Win win;
  MPI_File file;
  REFUSED(MPI_Scan(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter));
  REFUSED(MPI_Exscan(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter));
  REFUSED(MPI_Iscan(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter, &request));
  REFUSED(MPI_Iexscan(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter, &request));
  REFUSED(MPI_Scan_init(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter, info, &request));
  REFUSED(MPI_Exscan_init(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, inter, info, &request));
  REFUSED(MPI_Cart_create(inter, 1, one, zero, 0, &made));
  REFUSED(MPI_Cart_map(inter, 1, one, zero, buffer));
  REFUSED(MPI_Graph_create(inter, 1, zero, zero, 0, &made));
  REFUSED(MPI_Graph_map(inter, 1, zero, zero, buffer));
  REFUSED(MPI_Dist_graph_create(inter, 0, zero, zero, zero, MPI_UNWEIGHTED, info, 0, &made));
  REFUSED(MPI_Dist_graph_create_adjacent(inter, 0, zero, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED,
                                         info, 0, &made));
  REFUSED(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made));
  REFUSED(MPI_Comm_spawn(none, MPI_ARGV_NULL, 1, info, 0, inter, &made, MPI_ERRCODES_IGNORE));
  REFUSED(MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, one, &info, 0, inter, &made,
                                  MPI_ERRCODES_IGNORE));
  REFUSED(MPI_Comm_accept(none, info, 0, inter, &made));
  REFUSED(MPI_Comm_connect(none, info, 0, inter, &made));
  REFUSED(MPI_Win_create(buffer, 4, 1, info, inter, &win));
  REFUSED(MPI_Win_allocate(4, 1, info, inter, &base, &win));
  REFUSED(MPI_Win_allocate_shared(4, 1, info, inter, &base, &win));
  REFUSED(MPI_Win_create_dynamic(info, inter, &win));
  REFUSED(MPI_File_open(inter, none, MPI_MODE_RDONLY, info, &file));
}

/* The call is for this communicator of one group. */
static void two_groups_only(void) {
  MPI_Group group;
  REFUSED(MPI_Comm_remote_size(side, buffer));
  REFUSED(MPI_Comm_remote_group(side, &group));
  REFUSED(MPI_Intercomm_merge(side, 0, &made));
  EXPECT(MPI_ERR_ROOT, MPI_Bcast(buffer, 1, MPI_INT, MPI_ROOT, side));
  EXPECT(MPI_ERR_ROOT, MPI_Reduce(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, MPI_PROC_NULL, side));
}

/* The remote group's size is another than the own group's. */
static void ranks_of_the_other_group(void) {
  int there;
  MPI_Comm_remote_size(inter, &there);
  for (int far = -7; far <= there; far += there + 7) {
    EXPECT(MPI_ERR_RANK, MPI_Send(buffer, 1, MPI_INT, far, 0, inter));
    EXPECT(MPI_ERR_RANK, MPI_Irecv(buffer, 1, MPI_INT, far, 0, inter, &request));
    EXPECT(MPI_ERR_RANK, MPI_Probe(far, 0, inter, &status));
    EXPECT(MPI_ERR_RANK,
           MPI_Sendrecv(buffer, 1, MPI_INT, far, 0, buffer + 8, 1, MPI_INT, 0, 0, inter, &status));
    EXPECT(MPI_ERR_ROOT, MPI_Bcast(buffer, 1, MPI_INT, far, inter));
    EXPECT(MPI_ERR_ROOT, MPI_Ibcast(buffer, 1, MPI_INT, far, inter, &request));
    EXPECT(MPI_ERR_ROOT, MPI_Gather(buffer, 1, MPI_INT, buffer + 8, 1, MPI_INT, far, inter));
    EXPECT(MPI_ERR_ROOT, MPI_Reduce(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, far, inter));
  }
  for (int to = 0; to < there; to++) MPI_Send(&rank, 1, MPI_INT, to, 0, inter);
  for (int from = 0; from < there; from++) {
    MPI_Recv(buffer, 1, MPI_INT, from, 0, inter, &status);
    CHECK(buffer[0] == (rank == 0 ? from + 1 : 0));
  }
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  CHECK(size == 3);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 0, &inter);
  one_group_only();
  two_groups_only();
  ranks_of_the_other_group();
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
  MPI_Finalize();
  return 0;
}

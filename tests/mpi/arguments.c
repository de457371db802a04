/* SPDX-License-Identifier: Apache-2.0 */
/* Bad arguments: each call returns the standard's class of error, and changes nothing. One rank is
 * enough: a call that finds a bad argument waits for nobody. */
#include "check.h"

/* What no call has made. */
static const MPI_Comm bad_comm = (MPI_Comm)7;
static const MPI_Datatype bad_type = (MPI_Datatype)7;
static const MPI_Op bad_op = (MPI_Op)7;
static const MPI_Group bad_group = (MPI_Group)7;
static const MPI_Info bad_info = (MPI_Info)7;
static const MPI_Errhandler bad_handler = (MPI_Errhandler)7;
static const MPI_Session bad_session = (MPI_Session)7;
static MPI_Request bad_request = (MPI_Request)7;
/* What was never set: an odd address, one that no user has, one that is no object's. */
static double no_object[2];
static void *const garbage[] = {(void *)0x123456789, (void *)0x7ff0000000000010, no_object};

#define WORLD MPI_COMM_WORLD

static int one, two;
static int buffer[64];
static MPI_Count wide[4], negative_wide[4] = {-1, -1, -1, -1};
static const int negative[4] = {-1, -1, -1, -1};
static MPI_Request request;
static MPI_Status status;

static void garbage_handles(void) {
  MPI_Message message;
  for (int i = 0; i < 3; i++) {
    EXPECT(MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)garbage[i], &one));
    EXPECT(MPI_ERR_TYPE, MPI_Type_size((MPI_Datatype)garbage[i], &one));
    EXPECT(MPI_ERR_GROUP, MPI_Group_size((MPI_Group)garbage[i], &one));
    EXPECT(MPI_ERR_OP, MPI_Op_commutative((MPI_Op)garbage[i], &one));
    EXPECT(MPI_ERR_INFO, MPI_Info_get_nkeys((MPI_Info)garbage[i], &one));
    EXPECT(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(WORLD, (MPI_Errhandler)garbage[i]));
    EXPECT(MPI_ERR_SESSION,
           MPI_Session_get_num_psets((MPI_Session)garbage[i], MPI_INFO_NULL, &one));
    request = (MPI_Request)garbage[i];
    EXPECT(MPI_ERR_REQUEST, MPI_Wait(&request, &status));
    EXPECT(MPI_ERR_REQUEST, MPI_Cancel(&request));
    message = (MPI_Message)garbage[i];
    EXPECT(MPI_ERR_REQUEST, MPI_Mrecv(buffer, 1, MPI_INT, &message, &status));
  }
}

/* Optional types of the ABI that there are not: their names compile, their use is an error. */
static void optional_types(void) {
  const MPI_Datatype absent[] = {MPI_REAL2, MPI_COMPLEX4, MPI_LOGICAL16};
  char process_set[MPI_MAX_PSET_NAME_LEN] = "";
  CHECK(sizeof process_set == 1024 && MPI_ARGVS_NULL == NULL && MPI_MODE_RDWR == 32);
  CHECK(MPI_LOCK_SHARED == 302 && MPI_WIN_MODEL == 605 && MPI_SEEK_SET == 403);
  CHECK(MPI_T_PVAR_CLASS_GENERIC == 10 && MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE == 0x3f);
  for (int i = 0; i < 3; i++) EXPECT(MPI_ERR_TYPE, MPI_Send(buffer, 1, absent[i], 0, 0, WORLD));
}

/* The number of bytes would wrap to 8, or to 0. */
static void wrapping(void) {
  const MPI_Count all = (MPI_Count)1 << 61, many = all + 1;
  const MPI_Count counts[] = {many};
  const MPI_Aint zero[] = {0};
  const MPI_Datatype type = MPI_INT64_T;
  MPI_Datatype made;
  EXPECT(MPI_ERR_COUNT, MPI_Send_c(buffer, many, type, 0, 0, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Isend_c(buffer, all, type, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Recv_c(buffer, many, type, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_COUNT,
         MPI_Psend_init(buffer, 1, many, type, 0, 0, WORLD, MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_COUNT,
         MPI_Imrecv_c(buffer, many, type, &(MPI_Message){MPI_MESSAGE_NO_PROC}, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Sendrecv_replace_c(buffer, many, type, 0, 0, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_COUNT, MPI_Bcast_c(buffer, all, type, 0, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Allreduce_c(buffer, buffer + 8, many, type, MPI_SUM, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Iallreduce_c(buffer, buffer + 8, many, type, MPI_SUM, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter_c(buffer, buffer + 8, counts, type, MPI_SUM, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce_local_c(buffer, buffer + 8, many, type, MPI_SUM));
  EXPECT(MPI_ERR_COUNT, MPI_Gather_c(buffer, many, type, buffer + 8, 1, type, 0, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Allgather_c(buffer, 1, type, buffer + 8, many, type, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Iallgather_c(buffer, many, type, buffer + 8, 1, type, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Alltoall_c(buffer, all, type, buffer + 8, 1, type, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Alltoallw_c(buffer, counts, zero, &type, buffer + 8, counts, zero, &type, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Ialltoallw_c(buffer, counts, zero, &type, buffer + 8, counts, zero,
                                         &type, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Pack_size_c(many, type, WORLD, wide));
  EXPECT(MPI_ERR_COUNT, MPI_Pack_external_size_c("external32", many, type, wide));
  EXPECT(MPI_ERR_COUNT, MPI_Type_contiguous_c(many, type, &made));
  EXPECT(MPI_ERR_COUNT, MPI_Type_vector_c(many, 1, 1, type, &made));
}

static void combine(void *in, void *inout, int *count, MPI_Datatype *type) {
  CHECK(in == NULL && inout == NULL && count == NULL && type == NULL); /* nothing is combined */
}

/* The same with counts of 32 bits, of a type that is large. */
static void wrapping_with_large_types(void) {
  const int many = 1 << 30, zero = 0;
  MPI_Datatype row, type;
  MPI_Op op;
  MPI_Op_create(combine, 1, &op);
  MPI_Type_contiguous(1 << 20, MPI_INT64_T, &row);
  MPI_Type_contiguous(1 << 20, row, &type);
  MPI_Type_commit(&type);
  EXPECT(MPI_ERR_COUNT, MPI_Bcast(buffer, many, type, 0, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce(buffer, buffer + 8, many, type, op, 0, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Scan(buffer, buffer + 8, many, type, op, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter(buffer, buffer + 8, &many, type, op, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Alltoall(buffer, 1, MPI_INT, buffer + 8, many, type, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Alltoallw(buffer, &many, &zero, &type, buffer + 8, &many, &zero, &type, WORLD));
  MPI_Type_free(&row);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

static void point_to_point(void) {
  EXPECT(MPI_ERR_COMM, MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  EXPECT(MPI_ERR_COMM, MPI_Send(buffer, 1, MPI_INT, 0, 0, bad_comm));
  EXPECT(MPI_ERR_COUNT, MPI_Bsend(buffer, -1, MPI_INT, 0, 0, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Ssend(buffer, 1, MPI_DATATYPE_NULL, 0, 0, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Rsend(buffer, 1, bad_type, 0, 0, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Rsend(buffer, 0, bad_type, 0, 0, WORLD));
  EXPECT(MPI_ERR_RANK, MPI_Isend(buffer, 1, MPI_INT, 9999, 0, WORLD, &request));
  EXPECT(MPI_ERR_RANK, MPI_Ibsend(buffer, 1, MPI_INT, -7, 0, WORLD, &request));
  EXPECT(MPI_ERR_TAG, MPI_Issend(buffer, 1, MPI_INT, 0, -1, WORLD, &request));
  EXPECT(MPI_ERR_TAG, MPI_Irsend(buffer, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &request));
  EXPECT(MPI_ERR_RANK, MPI_Send(buffer, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD));
  EXPECT(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, WORLD));
  EXPECT(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_BYTE, 0, 0, WORLD));
  EXPECT(MPI_ERR_BUFFER, MPI_Bsend(buffer, 1, MPI_INT, 0, 0, WORLD)); /* none is attached */
  EXPECT(MPI_ERR_BUFFER, MPI_Ibsend(buffer, 1, MPI_INT, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Recv(buffer, -1, MPI_INT, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_RANK, MPI_Irecv(buffer, 1, MPI_INT, 9999, 0, WORLD, &request));
  EXPECT(MPI_ERR_TAG, MPI_Probe(0, -7, WORLD, &status));
  EXPECT(MPI_ERR_COMM, MPI_Iprobe(0, 0, bad_comm, &one, &status));
  EXPECT(MPI_ERR_RANK, MPI_Improbe(9999, 0, WORLD, &one, &(MPI_Message){0}, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Mrecv(buffer, 1, MPI_INT, &(MPI_Message){MPI_MESSAGE_NULL}, &status));
  EXPECT(MPI_ERR_COUNT,
         MPI_Imrecv(buffer, -1, MPI_INT, &(MPI_Message){MPI_MESSAGE_NO_PROC}, &request));
  EXPECT(MPI_ERR_TYPE,
         MPI_Imrecv(buffer, 1, bad_type, &(MPI_Message){MPI_MESSAGE_NO_PROC}, &request));
  EXPECT(MPI_ERR_RANK,
         MPI_Sendrecv(buffer, 1, MPI_INT, 9999, 0, buffer, 1, MPI_INT, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_TYPE,
         MPI_Sendrecv(buffer, 1, MPI_INT, 0, 0, buffer, 1, bad_type, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_COUNT, MPI_Sendrecv_replace(buffer, -1, MPI_INT, 0, 0, 0, 0, WORLD, &status));
  EXPECT(MPI_ERR_RANK,
         MPI_Isendrecv(buffer, 1, MPI_INT, 9999, 0, buffer, 1, MPI_INT, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_TAG, MPI_Isendrecv_replace(buffer, 1, MPI_INT, 0, -5, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_TYPE, MPI_Isendrecv_replace(buffer, 1, bad_type, 0, 0, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Send_init(buffer, -1, MPI_INT, 0, 0, WORLD, &request));
  EXPECT(MPI_ERR_RANK, MPI_Recv_init(buffer, 1, MPI_INT, 9999, 0, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Send_c(buffer, -1, MPI_INT, 0, 0, WORLD));
  EXPECT(MPI_ERR_ARG, MPI_Buffer_attach(buffer, -1));
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_detach(buffer, &one));
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_flush());
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_iflush(&request));
  MPI_Buffer_attach(buffer, sizeof buffer);
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_attach(buffer, sizeof buffer)); /* there is one */
  MPI_Buffer_detach(&(void *){0}, &one);
  EXPECT(MPI_ERR_COMM, MPI_Comm_attach_buffer(bad_comm, buffer, 8));
  EXPECT(MPI_ERR_SESSION, MPI_Session_attach_buffer(bad_session, buffer, 8));
}

/* One that is complete does not hide a bad one. */
static void before_a_complete_one(void) {
  MPI_Request pair[2] = {bad_request, MPI_REQUEST_NULL};
  MPI_Isend(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &pair[1]);
  EXPECT(MPI_ERR_REQUEST, MPI_Waitany(2, pair, &one, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Testany(2, pair, &one, &two, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Request_get_status_any(2, pair, &one, &two, &status));
  MPI_Wait(&pair[1], &status);
}

static void requests(void) {
  MPI_Request null = MPI_REQUEST_NULL, many[2] = {MPI_REQUEST_NULL, bad_request};
  before_a_complete_one();
  EXPECT(MPI_ERR_REQUEST, MPI_Wait(&bad_request, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Test(&bad_request, &one, &status));
  EXPECT(MPI_ERR_COUNT, MPI_Waitall(-1, many, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Waitany(2, many, &one, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Waitsome(2, many, &one, buffer, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Testall(2, many, &one, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Testany(2, many, &one, &two, &status));
  EXPECT(MPI_ERR_COUNT, MPI_Testsome(-2, many, &one, buffer, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Request_get_status(bad_request, &one, &status));
  EXPECT(MPI_ERR_REQUEST, MPI_Request_get_status_all(2, many, &one, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Request_get_status_any(2, many, &one, &two, &status));
  EXPECT(MPI_ERR_COUNT, MPI_Request_get_status_some(-1, many, &one, buffer, MPI_STATUSES_IGNORE));
  EXPECT(MPI_ERR_REQUEST, MPI_Start(&null));
  EXPECT(MPI_ERR_REQUEST, MPI_Startall(2, many));
  EXPECT(MPI_ERR_COUNT, MPI_Startall(-1, many));
  EXPECT(MPI_ERR_REQUEST, MPI_Cancel(&null));
  EXPECT(MPI_ERR_REQUEST, MPI_Request_free(&null));
  EXPECT(MPI_ERR_REQUEST, MPI_Grequest_complete(bad_request));
  MPI_Irecv(buffer, 1, MPI_INT, 0, 0, WORLD, &request);
  EXPECT(MPI_ERR_REQUEST, MPI_Start(&request)); /* not a persistent one */
  EXPECT(MPI_ERR_REQUEST, MPI_Grequest_complete(request));
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Recv_init(buffer, 1, MPI_INT, 0, 0, WORLD, &request);
  EXPECT(MPI_ERR_REQUEST, MPI_Cancel(&request)); /* not started */
  many[0] = request;
  EXPECT(MPI_ERR_REQUEST, MPI_Startall(2, many));
  CHECK(MPI_Start(&request) == MPI_SUCCESS);    /* that has not started it */
  EXPECT(MPI_ERR_REQUEST, MPI_Start(&request)); /* active already */
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Request_free(&request);
  EXPECT(MPI_ERR_TYPE, MPI_Get_count(&status, MPI_DATATYPE_NULL, &one));
  EXPECT(MPI_ERR_TYPE, MPI_Get_elements(&status, bad_type, &one));
  EXPECT(MPI_ERR_COUNT, MPI_Status_set_elements(&status, MPI_INT, -1));
}

/* In all forms: arguments are checked before any other rank takes part. */
static void collectives(void) {
  EXPECT(MPI_ERR_COMM, MPI_Barrier(bad_comm));
  EXPECT(MPI_ERR_COMM, MPI_Ibarrier(MPI_COMM_NULL, &request));
  EXPECT(MPI_ERR_INFO, MPI_Barrier_init(WORLD, bad_info, &request));
  EXPECT(MPI_ERR_ROOT, MPI_Bcast(buffer, 1, MPI_INT, -1, WORLD));
  EXPECT(MPI_ERR_ROOT, MPI_Ibcast(buffer, 1, MPI_INT, 9999, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Bcast_init(buffer, -1, MPI_INT, 0, WORLD, MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_TYPE, MPI_Bcast_c(buffer, 1, bad_type, 0, WORLD));
  EXPECT(MPI_ERR_ROOT, MPI_Gather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 9999, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Igather(buffer, -1, MPI_INT, buffer, 1, MPI_INT, 0, WORLD, &request));
  EXPECT(MPI_ERR_TYPE, MPI_Gather_c(buffer, 1, MPI_INT, buffer + 8, 1, bad_type, 0, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Gatherv(buffer, 1, MPI_INT, buffer, negative, buffer, MPI_INT, 0, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Gatherv_c(buffer, 1, MPI_INT, buffer, negative_wide, wide, MPI_INT, 0, WORLD));
  EXPECT(MPI_ERR_ROOT, MPI_Scatter(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_ROOT, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Iscatter(buffer, 1, bad_type, buffer, 1, MPI_INT, 0, WORLD, &request));
  EXPECT(MPI_ERR_COUNT,
         MPI_Scatterv(buffer, negative, buffer, MPI_INT, buffer, 1, MPI_INT, 0, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Allgather(buffer, 1, bad_type, buffer, 1, MPI_INT, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Iallgatherv(buffer, 1, MPI_INT, buffer, negative, buffer, MPI_INT, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Alltoall(buffer, -1, MPI_INT, buffer, 1, MPI_INT, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Alltoall(buffer, 1, MPI_INT, buffer + 8, 1, bad_type, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Alltoallv(buffer, negative, buffer, MPI_INT, buffer, buffer, buffer, MPI_INT, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Ialltoallw(buffer, (int[]){1}, (int[]){0}, &bad_type, buffer + 8,
                                      (int[]){1}, (int[]){0}, &bad_type, WORLD, &request));
  EXPECT(MPI_ERR_TYPE, MPI_Alltoallw(buffer, (int[]){1}, (int[]){0}, &bad_type, buffer + 8,
                                     (int[]){1}, (int[]){0}, &bad_type, WORLD));
  EXPECT(MPI_ERR_OP, MPI_Reduce(buffer, buffer + 8, 1, MPI_INT, MPI_OP_NULL, 0, WORLD));
  EXPECT(MPI_ERR_ROOT, MPI_Ireduce(buffer, buffer + 8, 1, MPI_INT, MPI_SUM, 9999, WORLD, &request));
  EXPECT(MPI_ERR_TYPE, MPI_Ireduce(buffer, MPI_IN_PLACE, 1, bad_type, MPI_SUM, 0, WORLD, &request));
  EXPECT(MPI_ERR_OP, MPI_Allreduce(buffer, buffer + 8, 1, MPI_INT, bad_op, WORLD));
  EXPECT(MPI_ERR_OP, MPI_Iallreduce(buffer, buffer + 8, 1, MPI_DOUBLE, MPI_BAND, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Allreduce_init(buffer, buffer + 8, -1, MPI_INT, MPI_SUM, WORLD,
                                           MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_OP, MPI_Scan(buffer, buffer + 8, 1, MPI_BYTE, MPI_SUM, WORLD));
  EXPECT(MPI_ERR_TYPE, MPI_Iexscan(buffer, buffer + 8, 1, bad_type, MPI_SUM, WORLD, &request));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter(buffer, buffer + 8, negative, MPI_INT, MPI_SUM, WORLD));
  EXPECT(MPI_ERR_COUNT,
         MPI_Ireduce_scatter_block(buffer, buffer + 8, -1, MPI_INT, MPI_SUM, WORLD, &request));
  EXPECT(MPI_ERR_OP, MPI_Reduce_local(buffer, buffer + 8, 1, MPI_INT, bad_op));
  EXPECT(MPI_ERR_COUNT, MPI_Reduce_local(buffer, buffer + 8, -1, MPI_INT, MPI_SUM));
  EXPECT(MPI_ERR_OP, MPI_Reduce_local(buffer, buffer + 8, 1, MPI_FLOAT, MPI_BOR));
  EXPECT(MPI_ERR_ARG, MPI_Op_create(NULL, 1, &(MPI_Op){0}));
  EXPECT(MPI_ERR_OP, MPI_Op_free(&(MPI_Op){MPI_SUM}));
  EXPECT(MPI_ERR_OP, MPI_Op_commutative(bad_op, &one));
  EXPECT(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, WORLD));
  EXPECT(MPI_ERR_TOPOLOGY,
         MPI_Ineighbor_alltoall(buffer, 1, MPI_INT, buffer, 1, MPI_INT, WORLD, &request));
  EXPECT(MPI_ERR_COMM, MPI_Comm_idup(bad_comm, &(MPI_Comm){0}, &request));
  EXPECT(MPI_ERR_INFO, MPI_Comm_idup_with_info(WORLD, bad_info, &(MPI_Comm){0}, &request));
}

/* What is sent may not be where the result goes, in all forms. The caller sees it alone. */
static void aliases(void) {
  const MPI_Comm self = MPI_COMM_SELF;
  const int *ones = (int[]){1}, *zeros = (int[]){0};
  const MPI_Datatype *ints = (MPI_Datatype[]){MPI_INT};
  EXPECT(MPI_ERR_BUFFER, MPI_Gather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Gather(buffer, 1, MPI_BYTE, buffer, 1, MPI_BYTE, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Igather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, self, &request));
  EXPECT(MPI_ERR_BUFFER,
         MPI_Gatherv(buffer + 3, 1, MPI_INT, buffer, ones, (int[]){3}, MPI_INT, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Scatter_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Iscatterv(buffer, ones, (int[]){3}, MPI_INT, buffer + 3, 1, MPI_INT, 0,
                                       self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Allgather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, self));
  EXPECT(MPI_ERR_BUFFER,
         MPI_Allgather_init(buffer, 1, MPI_INT, buffer, 1, MPI_INT, self, MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Alltoall(buffer, 1, MPI_INT, buffer, 1, MPI_INT, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Ialltoallv(buffer, ones, zeros, MPI_INT, buffer, ones, zeros, MPI_INT,
                                        self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Alltoallw(buffer, ones, zeros, ints, buffer, ones, zeros, ints, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Reduce(buffer, buffer, 1, MPI_INT, MPI_SUM, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Ireduce(buffer, buffer, 1, MPI_INT, MPI_SUM, 0, self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Allreduce(buffer, buffer, 1, MPI_INT, MPI_SUM, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Iallreduce(buffer, buffer, 1, MPI_INT, MPI_SUM, self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Scan(buffer, buffer, 1, MPI_INT, MPI_SUM, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Iexscan(buffer, buffer, 1, MPI_INT, MPI_SUM, self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Reduce_scatter(buffer, buffer, ones, MPI_INT, MPI_SUM, self));
  EXPECT(MPI_ERR_BUFFER,
         MPI_Ireduce_scatter_block(buffer, buffer, 1, MPI_INT, MPI_SUM, self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Reduce_local(buffer, buffer, 1, MPI_INT, MPI_SUM));
  EXPECT(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM));
  EXPECT(MPI_ERR_BUFFER, MPI_Reduce_local(buffer, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
}

/* The same address is right for no data, for other elements of one array, and for MPI_BOTTOM. */
static void no_aliases(void) {
  const MPI_Comm self = MPI_COMM_SELF;
  int pair[2] = {17, 4};
  MPI_Datatype second, both;
  MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){sizeof(int)}, MPI_INT, &second);
  MPI_Type_commit(&second);
  CHECK(MPI_Alltoall(pair, 1, MPI_INT, pair, 1, second, self) == MPI_SUCCESS && pair[1] == 17);
  CHECK(MPI_Allreduce(pair, pair, 0, MPI_INT, MPI_SUM, self) == MPI_SUCCESS);
  CHECK(MPI_Igather(pair, 0, MPI_INT, pair, 0, MPI_INT, 0, self, &request) == MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Reduce_local(pair, pair, 0, MPI_INT, MPI_SUM) == MPI_SUCCESS);
  CHECK(MPI_Gatherv(pair, 1, MPI_INT, pair, (int[]){1}, (int[]){1}, MPI_INT, 0, self) ==
        MPI_SUCCESS);
  MPI_Aint address;
  MPI_Get_address(pair, &address);
  MPI_Type_create_hindexed(1, (int[]){2}, &address, MPI_INT, &both);
  MPI_Type_commit(&both);
  CHECK(MPI_Allgather(MPI_BOTTOM, 1, both, MPI_BOTTOM, 1, both, self) == MPI_SUCCESS);
  MPI_Type_free(&second);
  MPI_Type_free(&both);
}

static void communicators(void) {
  MPI_Comm comm;
  MPI_Group group, world, none = MPI_GROUP_EMPTY;
  EXPECT(MPI_ERR_COMM, MPI_Comm_size(bad_comm, &one));
  EXPECT(MPI_ERR_ARG, MPI_Comm_size(WORLD, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_rank(WORLD, NULL));
  EXPECT(MPI_ERR_COMM, MPI_Comm_compare(WORLD, bad_comm, &one));
  EXPECT(MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &comm));
  EXPECT(MPI_ERR_GROUP, MPI_Comm_create(WORLD, MPI_GROUP_NULL, &comm));
  EXPECT(MPI_ERR_TAG, MPI_Comm_create_group(WORLD, none, -1, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Comm_split(WORLD, -5, 0, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Comm_split_type(WORLD, 5, 0, MPI_INFO_NULL, &comm));
  EXPECT(MPI_ERR_COMM, MPI_Comm_free(&(MPI_Comm){WORLD}));
  EXPECT(MPI_ERR_COMM, MPI_Comm_disconnect(&(MPI_Comm){MPI_COMM_SELF}));
  EXPECT(MPI_ERR_ARG, MPI_Comm_group(WORLD, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_get_parent(NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_split(WORLD, 0, 0, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_get_info(WORLD, NULL));
  EXPECT(MPI_ERR_COMM, MPI_Comm_remote_size(WORLD, &one));
  EXPECT(MPI_ERR_COMM, MPI_Comm_remote_group(WORLD, &group));
  EXPECT(MPI_ERR_COMM, MPI_Intercomm_merge(WORLD, 0, &comm));
  int next; /* of the last rank */
  MPI_Comm_size(WORLD, &next);
  EXPECT(MPI_ERR_RANK, MPI_Intercomm_create(WORLD, next, WORLD, 0, 0, &comm));
  EXPECT(MPI_ERR_TAG, MPI_Intercomm_create(MPI_COMM_SELF, 0, WORLD, 0, -1, &comm));
  EXPECT(MPI_ERR_INFO, MPI_Comm_set_info(WORLD, bad_info));
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(WORLD, bad_handler));
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&(MPI_Errhandler){MPI_ERRHANDLER_NULL}));
  EXPECT(MPI_ERR_ARG, MPI_Comm_create_errhandler(NULL, &(MPI_Errhandler){0}));
  EXPECT(MPI_ERR_ARG, MPI_Comm_call_errhandler(WORLD, -1));
  EXPECT(MPI_ERR_COMM, MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN));
  EXPECT(MPI_ERR_COMM, MPI_Comm_get_errhandler(MPI_COMM_NULL, &(MPI_Errhandler){0}));
  EXPECT(MPI_ERR_COMM, MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER));
  EXPECT(MPI_ERR_GROUP,
         MPI_Comm_create_from_group(bad_group, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_ARG,
         MPI_Comm_create_from_group(none, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_RANK, MPI_Intercomm_create_from_groups(none, 0, none, 0, "x", MPI_INFO_NULL,
                                                        MPI_ERRORS_RETURN, &comm));
  MPI_Comm_group(WORLD, &world);
  EXPECT(MPI_ERR_INFO, MPI_Comm_create_from_group(world, "x", bad_info, MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_ERRHANDLER,
         MPI_Comm_create_from_group(world, "x", MPI_INFO_NULL, bad_handler, &comm));
  EXPECT(MPI_ERR_GROUP, MPI_Intercomm_create_from_groups(world, 0, bad_group, 0, "x", MPI_INFO_NULL,
                                                         MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_SELF, 0, WORLD, next, 0, &comm));
  EXPECT(MPI_ERR_RANK, MPI_Intercomm_create_from_groups(world, next, world, 0, "x", MPI_INFO_NULL,
                                                        MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_RANK, MPI_Intercomm_create_from_groups(world, 0, world, next, "x", MPI_INFO_NULL,
                                                        MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &one));
  EXPECT(MPI_ERR_ARG, MPI_Group_size(world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_rank(world, NULL));
  EXPECT(MPI_ERR_GROUP, MPI_Group_compare(world, bad_group, &one));
  EXPECT(MPI_ERR_GROUP, MPI_Group_union(bad_group, world, &group));
  EXPECT(MPI_ERR_GROUP, MPI_Group_intersection(world, MPI_GROUP_NULL, &group));
  EXPECT(MPI_ERR_GROUP, MPI_Group_difference(bad_group, world, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_incl(world, 1, (int[]){9999}, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_excl(world, 2, (int[]){0, 0}, &group)); /* twice */
  EXPECT(MPI_ERR_ARG, MPI_Group_incl(world, -1, buffer, &group));
  EXPECT(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, (int[][3]){{0, 0, 0}}, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_range_excl(world, 1, (int[][3]){{0, 9999, 1}}, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_incl(world, 1, &next, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_range_incl(world, 1, (int[][3]){{0, next, 1}}, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_range_incl(world, 1, (int[][3]){{next, 0, -1}}, &group));
  EXPECT(MPI_ERR_RANK, MPI_Group_translate_ranks(world, 1, &next, world, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Group_translate_ranks(world, -1, buffer, world, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Group_free(NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_union(world, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_intersection(world, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_difference(world, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_incl(world, 0, NULL, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_range_excl(world, 0, NULL, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_translate_ranks(world, 1, (int[]){0}, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_compare(world, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_create(WORLD, world, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Comm_create_group(WORLD, world, 0, NULL));
  MPI_Group_free(&world);
}

static void datatypes(void) {
  MPI_Datatype type;
  MPI_Aint place;
  MPI_Type_contiguous(2, MPI_INT, &type);
  EXPECT(MPI_ERR_TYPE, MPI_Send(buffer, 1, type, 0, 0, WORLD)); /* not committed */
  MPI_Type_free(&type);
  EXPECT(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &one));
  EXPECT(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Type_size_c(MPI_INT, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Type_get_extent(MPI_INT, &(MPI_Aint){0}, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Isend(&type, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Wait(NULL, MPI_STATUS_IGNORE));
  EXPECT(MPI_ERR_ARG, MPI_Test(NULL, &(int){0}, MPI_STATUS_IGNORE));
  EXPECT(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
  EXPECT(MPI_ERR_TYPE, MPI_Type_contiguous_c(1, bad_type, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_vector(1, -1, 1, MPI_INT, &type));
  EXPECT(MPI_ERR_COUNT, MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_indexed(1, negative, buffer, MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_hindexed_c(1, negative_wide, wide, MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_indexed_block(1, -1, buffer, MPI_INT, &type));
  EXPECT(MPI_ERR_COUNT, MPI_Type_create_hindexed_block(-1, 1, wide, MPI_INT, &type));
  EXPECT(MPI_ERR_TYPE, MPI_Type_create_struct(1, (int[]){1}, wide, &bad_type, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_struct(1, negative, wide, &type, &type));
  EXPECT(MPI_ERR_ARG,
         MPI_Type_create_subarray(0, buffer, buffer, buffer, MPI_ORDER_C, MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){2}, MPI_ORDER_C,
                                               MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_darray(1, 1, 1, buffer, buffer, buffer, buffer, MPI_ORDER_C,
                                             MPI_INT, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 1, (int[]){8}, (int[]){MPI_DISTRIBUTE_BLOCK},
                                             (int[]){1}, (int[]){2}, MPI_ORDER_C, MPI_INT, &type));
  EXPECT(MPI_ERR_TYPE, MPI_Type_create_resized(bad_type, 0, 4, &type));
  EXPECT(MPI_ERR_TYPE, MPI_Type_dup(bad_type, &type));
  EXPECT(MPI_ERR_TYPE, MPI_Type_commit(&(MPI_Datatype){MPI_DATATYPE_NULL}));
  EXPECT(MPI_ERR_TYPE, MPI_Type_free(&(MPI_Datatype){MPI_INT}));
  EXPECT(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 0, 0, 0, buffer, &place, &type));
  MPI_Type_contiguous(2, MPI_INT, &type);
  EXPECT(MPI_ERR_ARG, MPI_Type_get_contents(type, 0, 0, 0, buffer, &place, &type));
  MPI_Type_free(&type);
  EXPECT(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_integer(99, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type));
  one = 0;
  EXPECT(MPI_ERR_TRUNCATE, MPI_Pack(buffer, 2, MPI_INT, buffer + 8, 4, &one, WORLD));
  one = -1;
  EXPECT(MPI_ERR_ARG, MPI_Unpack(buffer, 8, &one, buffer + 8, 1, MPI_INT, WORLD));
  EXPECT(MPI_ERR_COUNT, MPI_Pack_size(-1, MPI_INT, WORLD, &one));
  EXPECT(MPI_ERR_ARG, MPI_Pack_external_size("native", 1, MPI_INT, &place));
  place = 0;
  EXPECT(MPI_ERR_TRUNCATE,
         MPI_Pack_external("external32", buffer, 2, MPI_INT, buffer + 8, 4, &place));
  EXPECT(MPI_ERR_COUNT,
         MPI_Unpack_external("external32", buffer, 8, &place, buffer + 8, -1, MPI_INT));
}

static void topologies(void) {
  MPI_Comm comm;
  EXPECT(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(WORLD, &one));
  EXPECT(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(WORLD, &one, &two));
  EXPECT(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(WORLD, &one, &two, buffer));
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(WORLD, -1, buffer, buffer, 0, &comm));
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(WORLD, 1, (int[]){0}, buffer, 0, &comm));
  comm = WORLD;
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){2}, buffer, 0, &comm));
  CHECK(comm == MPI_COMM_NULL);
  EXPECT(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, buffer, 0, NULL));
  comm = WORLD;
  MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){7}, 0, &comm);
  CHECK(comm == MPI_COMM_NULL);
  EXPECT(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){0}, buffer, 0, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_SELF, 1, 0, NULL));
  EXPECT(MPI_ERR_DIMS, MPI_Cart_map(WORLD, 1, (int[]){9999}, buffer, &one));
  EXPECT(MPI_ERR_ARG, MPI_Graph_map(WORLD, 1, (int[]){1}, (int[]){7}, &one));
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(6, 1, (int[]){4}));
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(-6, 1, (int[]){0}));
  EXPECT(MPI_ERR_DIMS, MPI_Dims_create(6, 1, (int[]){-1}));
  EXPECT(MPI_ERR_ARG, MPI_Graph_create(WORLD, 9999, buffer, buffer, 0, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){-1}, buffer, 0, &comm));
  MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){0}, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_Cart_rank(comm, (int[]){5}, &one));
  EXPECT(MPI_ERR_RANK, MPI_Cart_coords(comm, 1, 1, buffer));
  EXPECT(MPI_ERR_RANK, MPI_Cart_coords(comm, -1, 1, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Cart_coords(comm, 0, 0, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Cart_get(comm, 0, buffer, buffer, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Cart_shift(comm, 1, 1, &one, &two));
  MPI_Comm_free(&comm);
  EXPECT(MPI_ERR_ARG, MPI_Graph_create(WORLD, 1, (int[]){1}, (int[]){7}, 0, &comm));
  MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){0}, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RANK, MPI_Graph_neighbors_count(comm, 1, &one));
  EXPECT(MPI_ERR_RANK, MPI_Graph_neighbors(comm, -1, 1, buffer));
  EXPECT(MPI_ERR_ARG, MPI_Graph_get(comm, 0, 0, buffer, buffer));
  MPI_Comm_free(&comm);
  int next; /* of the last rank */
  MPI_Comm_size(WORLD, &next);
  EXPECT(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(WORLD, 1, &next, MPI_UNWEIGHTED, 0, NULL,
                                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Dist_graph_create(WORLD, -1, NULL, NULL, NULL, MPI_UNWEIGHTED,
                                            MPI_INFO_NULL, 0, &comm));
}

static void attributes_and_infos(void) {
  char text[MPI_MAX_INFO_KEY + 2];
  MPI_Info info;
  int keyval;
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_set_attr(WORLD, MPI_KEYVAL_INVALID, NULL));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(WORLD, 9999, &keyval, &one));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(WORLD, 9999));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&(int){9999}));
  EXPECT(MPI_ERR_TYPE, MPI_Type_set_attr(bad_type, 9999, NULL));
  EXPECT(MPI_ERR_KEYVAL, MPI_Type_get_attr(MPI_INT, 9999, &keyval, &one));
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  EXPECT(MPI_ERR_KEYVAL, MPI_Type_set_attr(MPI_INT, keyval, NULL)); /* one of communicators */
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(WORLD, keyval + 1, &two, &one)); /* not made yet */
  MPI_Comm_free_keyval(&keyval);
  EXPECT(MPI_ERR_ARG, MPI_Error_class(-1, &one));
  EXPECT(MPI_ERR_ARG, MPI_Error_string(MPI_ERR_LASTCODE, text, &one));
  EXPECT(MPI_ERR_ARG, MPI_Add_error_code(-1, &one));
  EXPECT(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "not added"));
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_class(MPI_ERR_ARG));
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_ARG));
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_string(MPI_ERR_ARG));
  EXPECT(MPI_ERR_ARG, MPI_Info_create(NULL));
  EXPECT(MPI_ERR_INFO, MPI_Info_dup(MPI_INFO_NULL, &info));
  EXPECT(MPI_ERR_INFO, MPI_Info_free(&(MPI_Info){bad_info}));
  EXPECT(MPI_ERR_INFO, MPI_Info_set(bad_info, "key", "value"));
  MPI_Info_create(&info);
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "value"));
  EXPECT(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "key", ""));
  EXPECT(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "key"));
  EXPECT(MPI_ERR_INFO_VALUE, MPI_Info_get(info, "key", -1, text, &one));
  EXPECT(MPI_ERR_ARG, MPI_Info_get_nthkey(info, 0, text));
  MPI_Info_free(&info);
  EXPECT(MPI_ERR_SIZE, MPI_Alloc_mem(-1, MPI_INFO_NULL, &info));
}

static void sessions(void) {
  MPI_Session session;
  MPI_Errhandler handler;
  MPI_Group group;
  MPI_Info info;
  EXPECT(MPI_ERR_SESSION, MPI_Session_finalize(&(MPI_Session){MPI_SESSION_NULL}));
  EXPECT(MPI_ERR_SESSION, MPI_Session_get_num_psets(bad_session, MPI_INFO_NULL, &one));
  EXPECT(MPI_ERR_SESSION, MPI_Session_get_nth_pset(bad_session, MPI_INFO_NULL, 0, &(int){0}, NULL));
  EXPECT(MPI_ERR_SESSION, MPI_Session_get_info(bad_session, &info));
  EXPECT(MPI_ERR_SESSION, MPI_Session_get_pset_info(bad_session, "mpi://SELF", &info));
  EXPECT(MPI_ERR_SESSION, MPI_Group_from_session_pset(bad_session, "mpi://SELF", &group));
  EXPECT(MPI_ERR_SESSION, MPI_Session_set_errhandler(bad_session, MPI_ERRORS_RETURN));
  EXPECT(MPI_ERR_SESSION, MPI_Session_get_errhandler(bad_session, &handler));
  EXPECT(MPI_ERR_SESSION, MPI_Session_call_errhandler(bad_session, MPI_ERR_TAG));
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Session_init(MPI_INFO_NULL, bad_handler, &session));
  EXPECT(MPI_ERR_INFO, MPI_Session_init(bad_info, MPI_ERRORS_RETURN, &session));
  EXPECT(MPI_ERR_ARG, MPI_Session_create_errhandler(NULL, &(MPI_Errhandler){0}));
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  EXPECT(MPI_ERR_INFO, MPI_Session_get_num_psets(session, bad_info, &one));
  EXPECT(MPI_ERR_INFO, MPI_Session_get_nth_pset(session, bad_info, 0, &(int){0}, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://elsewhere", &group));
  EXPECT(MPI_ERR_ARG, MPI_Session_get_pset_info(session, NULL, &info));
  EXPECT(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &one, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, NULL));
  EXPECT(MPI_ERR_ERRHANDLER, MPI_Session_set_errhandler(session, bad_handler));
  MPI_Session_finalize(&session);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_OTHER, MPI_Init(&argc, &argv)); /* twice */
  garbage_handles();
  optional_types();
  wrapping();
  wrapping_with_large_types();
  point_to_point();
  requests();
  collectives();
  aliases();
  no_aliases();
  communicators();
  datatypes();
  topologies();
  attributes_and_infos();
  sessions();
  MPI_Finalize();
  return 0;
}

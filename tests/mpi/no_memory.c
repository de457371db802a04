/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of a call fails in turn: the call returns MPI_ERR_NO_MEM, gives no object, and
 * gives back what it had taken. For one rank, since members of a larger communicator would wait for
 * the one that fails. */
#include <string.h>

#include "check.h"
#include "failing_blocks.h"

#pragma weak blocks_watch
#pragma weak blocks_end

static int end_comm(int error, MPI_Comm *comm) {
  CHECK((error == MPI_SUCCESS) == (*comm != MPI_COMM_NULL));
  return error == MPI_SUCCESS ? MPI_Comm_free(comm) : error;
}

static int dup_comm(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Comm_dup(MPI_COMM_SELF, &comm);
  return end_comm(error, &comm);
}

static MPI_Comm grid;

static int dup_grid(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Comm_dup(grid, &comm), kind = MPI_CART;
  if (error == MPI_SUCCESS) CHECK(MPI_Topo_test(comm, &kind) == MPI_SUCCESS && kind == MPI_CART);
  return end_comm(error, &comm);
}

static int idup_grid(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Comm_idup(grid, &comm, &request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return end_comm(error, &comm);
}

static int split_comm(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
  return end_comm(error, &comm);
}

static int create_comm(void) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(MPI_Comm_group(MPI_COMM_SELF, &group) == MPI_SUCCESS);
  int error = MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  CHECK((error == MPI_SUCCESS) == (comm != MPI_COMM_NULL));
  MPI_Group_free(&group);
  return error == MPI_SUCCESS ? MPI_Comm_free(&comm) : error;
}

static int create_grid(void) {
  const int one = 1, no = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Cart_create(MPI_COMM_SELF, 1, &one, &no, 0, &comm);
  return end_comm(error, &comm);
}

static int sub_grid(void) {
  const int yes = 1;
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Cart_sub(grid, &yes, &comm);
  return end_comm(error, &comm);
}

static int create_graph(void) {
  const int one = 1, zero = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Graph_create(MPI_COMM_SELF, 1, &one, &zero, 0, &comm);
  return end_comm(error, &comm);
}

static int create_adjacent(void) {
  const int zero = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &zero, &zero, 1, &zero, &zero,
                                             MPI_INFO_NULL, 0, &comm);
  return end_comm(error, &comm);
}

static int make_group(void) {
  const int zero = 0;
  MPI_Group all, none = MPI_GROUP_NULL, first = MPI_GROUP_NULL;
  CHECK(MPI_Comm_group(MPI_COMM_SELF, &all) == MPI_SUCCESS);
  int error = MPI_Group_incl(all, 1, &zero, &first);
  if (error == MPI_SUCCESS) error = MPI_Group_difference(all, first, &none);
  if (none != MPI_GROUP_NULL) MPI_Group_free(&none);
  if (first != MPI_GROUP_NULL) MPI_Group_free(&first);
  MPI_Group_free(&all);
  return error;
}

static int range_of_group(void) {
  int range[1][3] = {{0, 0, 1}};
  MPI_Group all, part = MPI_GROUP_NULL;
  CHECK(MPI_Comm_group(MPI_COMM_SELF, &all) == MPI_SUCCESS);
  int error = MPI_Group_range_incl(all, 1, range, &part);
  if (error == MPI_SUCCESS) MPI_Group_free(&part);
  MPI_Group_free(&all);
  return error;
}

/* ---- datatypes */

static int end_type(int error, MPI_Datatype *type) {
  CHECK((error == MPI_SUCCESS) == (*type != MPI_DATATYPE_NULL));
  if (error == MPI_SUCCESS) error = MPI_Type_commit(type);
  if (*type != MPI_DATATYPE_NULL) MPI_Type_free(type);
  return error;
}

static int make_vector(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(MPI_Type_vector(3, 1, 2, MPI_INT, &type), &type);
}

static int make_struct(void) {
  const int blocks[] = {1, 2};
  const MPI_Aint displs[] = {0, 16};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(MPI_Type_create_struct(2, blocks, displs, types, &type), &type);
}

static int make_indexed(void) {
  const int blocks[] = {1, 2, 3}, displs[] = {9, 0, 5};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(MPI_Type_indexed(3, blocks, displs, MPI_INT, &type), &type);
}

static int make_subarray(void) {
  const int sizes[] = {4, 5, 6}, sub[] = {2, 2, 3}, starts[] = {1, 2, 0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(MPI_Type_create_subarray(3, sizes, sub, starts, MPI_ORDER_C, MPI_INT, &type),
                  &type);
}

static int make_darray(void) {
  const int sizes[] = {4, 5}, shares[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, procs[] = {2, 2};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(
      MPI_Type_create_darray(4, 1, 2, sizes, shares, args, procs, MPI_ORDER_C, MPI_INT, &type),
      &type);
}

static int dup_type(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  return end_type(MPI_Type_dup(MPI_INT, &type), &type);
}

static int name_type(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int error = MPI_Type_contiguous(2, MPI_INT, &type);
  if (error == MPI_SUCCESS) error = MPI_Type_set_name(type, "pair");
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return error;
}

static int pack_external(void) {
  const int in[] = {1, 2, 3, 4};
  char out[100];
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint at = 0;
  int error = MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
  if (error == MPI_SUCCESS) error = MPI_Pack_external("external32", in, 1, type, out, 100, &at);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return error;
}

/* ---- handlers, operations, attributes */

static void on_comm(MPI_Comm *comm, int *code, ...) { CHECK(comm != NULL && code != NULL); }

static int make_errhandler(void) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int error = MPI_Comm_create_errhandler(on_comm, &handler);
  return error == MPI_SUCCESS ? MPI_Errhandler_free(&handler) : error;
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static int make_op(void) {
  MPI_Op op = MPI_OP_NULL;
  int error = MPI_Op_create(add, 1, &op);
  return error == MPI_SUCCESS ? MPI_Op_free(&op) : error;
}

static int set_attribute(void) {
  static int value;
  MPI_Comm comm = MPI_COMM_NULL;
  int keyval = MPI_KEYVAL_INVALID;
  int error = MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value);
  bool is_set = error == MPI_SUCCESS;
  if (error == MPI_SUCCESS) error = MPI_Comm_dup(MPI_COMM_SELF, &comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  if (is_set) MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
  if (keyval != MPI_KEYVAL_INVALID) MPI_Comm_free_keyval(&keyval);
  return error;
}

static int set_type_attribute(void) {
  static int value;
  MPI_Datatype copy = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  int keyval = MPI_KEYVAL_INVALID;
  int error = MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
  if (error == MPI_SUCCESS) error = MPI_Type_contiguous(2, MPI_INT, &type);
  if (error == MPI_SUCCESS) error = MPI_Type_set_attr(type, keyval, &value);
  if (error == MPI_SUCCESS) error = MPI_Type_dup(type, &copy);
  if (copy != MPI_DATATYPE_NULL) MPI_Type_free(&copy);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  if (keyval != MPI_KEYVAL_INVALID) MPI_Type_free_keyval(&keyval);
  return error;
}

static int set_info(void) {
  MPI_Info info = MPI_INFO_NULL, copy = MPI_INFO_NULL;
  int error = MPI_Info_create(&info);
  if (error == MPI_SUCCESS) error = MPI_Info_set(info, "one", "1");
  if (error == MPI_SUCCESS) error = MPI_Info_set(info, "two", "2");
  if (error == MPI_SUCCESS) error = MPI_Info_set(info, "two", "zwei");
  if (error == MPI_SUCCESS) error = MPI_Info_dup(info, &copy);
  if (error == MPI_SUCCESS) {
    char two[8];
    int size = sizeof two, found;
    CHECK(MPI_Info_get_string(copy, "two", &size, two, &found) == MPI_SUCCESS && found);
    CHECK(strcmp(two, "zwei") == 0);
  }
  if (copy != MPI_INFO_NULL) MPI_Info_free(&copy);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return error;
}

static int attach_buffer(void) {
  static char buffer[4096];
  char *detached;
  int size;
  int error = MPI_Comm_attach_buffer(grid, buffer, sizeof buffer);
  return error == MPI_SUCCESS ? MPI_Comm_detach_buffer(grid, &detached, &size) : error;
}

static int add_error_string(void) {
  int class;
  int error = MPI_Add_error_class(&class);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Add_error_string(class, "a class of its own");
  if (error == MPI_SUCCESS) error = MPI_Add_error_string(class, "and again");
  if (error == MPI_SUCCESS) error = MPI_Remove_error_string(class);
  CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS || error != MPI_SUCCESS);
  return error;
}

/* ---- requests */

static int send_to_self(void) {
  int out = 7, in = 0;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int error = MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  if (error == MPI_SUCCESS) error = MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
  if (error != MPI_SUCCESS && requests[0] != MPI_REQUEST_NULL) MPI_Cancel(&requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(error != MPI_SUCCESS || in == 7);
  return error;
}

static int wait_for_many(void) {
  enum { MANY = 100 };
  static MPI_Request requests[MANY];
  for (int i = 0; i < MANY; i++) requests[i] = MPI_REQUEST_NULL;
  return MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

static int persistent(void) {
  int out = 7;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request);
  return error == MPI_SUCCESS ? MPI_Request_free(&request) : error;
}

static int partitioned(void) {
  int data[2] = {1, 2};
  MPI_Request request = MPI_REQUEST_NULL;
  int error =
      MPI_Psend_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, MPI_INFO_NULL, &request);
  return error == MPI_SUCCESS ? MPI_Request_free(&request) : error;
}

static int exchange_in_place(void) {
  int value[64] = {7};
  return MPI_Sendrecv_replace(value, 64, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static int nonblocking_sum(void) {
  int out = 7, in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(error != MPI_SUCCESS || in == 7);
  return error;
}

static int persistent_sum(void) {
  int out = 7, in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int error =
      MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &request);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Start(&request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  CHECK(error != MPI_SUCCESS || in == 7);
  return error;
}

static int nonblocking_vectors(void) {
  int out[2] = {7, 8}, in[2] = {0}, count = 2, displ = 0;
  MPI_Datatype type = MPI_INT;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Ialltoallw(out, &count, &displ, &type, in, &count, &displ, &type, MPI_COMM_SELF,
                             &request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(error != MPI_SUCCESS || in[1] == 8);
  return error;
}

static int neighbor_gather(void) {
  int out = 7, in[2] = {0};
  return MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, grid);
}

static int scatter_sum(void) {
  int out[2] = {7, 8}, in[2] = {0}, count = 2;
  return MPI_Reduce_scatter(out, in, &count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static int no_query(void *state, MPI_Status *status) {
  CHECK(state == NULL && status != NULL);
  return MPI_SUCCESS;
}
static int no_free(void *state) { return state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int no_cancel(void *state, int complete) {
  CHECK(state == NULL || complete);
  return MPI_SUCCESS;
}

static int generalized(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Grequest_start(no_query, no_free, no_cancel, NULL, &request);
  if (error != MPI_SUCCESS) return error;
  MPI_Grequest_complete(request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int matched_probe(void) {
  int out = 7, in = 0, error;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request sent = MPI_REQUEST_NULL;
  error = MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &sent);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Mprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) error = MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  if (in == 0) MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  CHECK(in == 7);
  return error;
}

/* ---- sessions */

static int make_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int error = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  if (error == MPI_SUCCESS) error = MPI_Session_get_info(session, &info);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (error == MPI_SUCCESS) error = MPI_Session_get_pset_info(session, "mpi://SELF", &info);
  if (error == MPI_SUCCESS) MPI_Info_free(&info);
  if (group != MPI_GROUP_NULL) MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return error;
}

/* first, last: of the allocations at which the job ends, since other members wait for this one or a
 * message would be lost; they are left out. */
static const struct row {
  const char *name;
  int (*call)(void);
  int first, last;
} rows[] = {{"MPI_Comm_dup", dup_comm, 0, 0},
            {"MPI_Comm_dup of a grid", dup_grid, 0, 0},
            {"MPI_Comm_idup", idup_grid, 4, 4},
            {"MPI_Comm_split", split_comm, 1, 4},
            {"MPI_Comm_create_from_group", create_comm, 0, 0},
            {"MPI_Cart_create", create_grid, 1, 4},
            {"MPI_Cart_sub", sub_grid, 2, 5},
            {"MPI_Graph_create", create_graph, 1, 4},
            {"MPI_Dist_graph_create_adjacent", create_adjacent, 1, 4},
            {"groups", make_group, 0, 0},
            {"MPI_Group_range_incl", range_of_group, 0, 0},
            {"MPI_Type_vector", make_vector, 0, 0},
            {"MPI_Type_create_struct", make_struct, 0, 0},
            {"MPI_Type_indexed", make_indexed, 0, 0},
            {"MPI_Type_create_subarray", make_subarray, 0, 0},
            {"MPI_Type_create_darray", make_darray, 0, 0},
            {"MPI_Type_dup", dup_type, 0, 0},
            {"MPI_Type_set_name", name_type, 0, 0},
            {"MPI_Pack_external", pack_external, 0, 0},
            {"MPI_Comm_create_errhandler", make_errhandler, 0, 0},
            {"MPI_Op_create", make_op, 0, 0},
            {"MPI_Comm_set_attr", set_attribute, 0, 0},
            {"MPI_Type_set_attr", set_type_attribute, 0, 0},
            {"MPI_Info_set", set_info, 0, 0},
            {"MPI_Comm_attach_buffer", attach_buffer, 0, 0},
            {"MPI_Add_error_string", add_error_string, 0, 0},
            {"MPI_Isend", send_to_self, 0, 0},
            {"MPI_Waitall", wait_for_many, 0, 0},
            {"MPI_Send_init", persistent, 0, 0},
            {"MPI_Psend_init", partitioned, 0, 0},
            {"MPI_Sendrecv_replace", exchange_in_place, 0, 0},
            {"MPI_Iallreduce", nonblocking_sum, 0, 0},
            {"MPI_Allreduce_init", persistent_sum, 0, 0},
            {"MPI_Ialltoallw", nonblocking_vectors, 0, 0},
            {"MPI_Neighbor_allgather", neighbor_gather, 0, 0},
            {"MPI_Reduce_scatter", scatter_sum, 0, 0},
            {"MPI_Grequest_start", generalized, 0, 0},
            {"MPI_Mprobe", matched_probe, 1, 1},
            {"MPI_Session_init", make_session, 0, 0}};

/* The function has been called before, so what the library keeps for later calls is there. An
 * allocation that could only make later calls faster may fail without a word. @return how many
 * allocations went wrong. */
static int check_row(const struct row *row) {
  int wrong = 0;
  bool failed = true;
  for (int warm = 0; warm < 2; warm++) CHECK(row->call() == MPI_SUCCESS);
  for (int at = 1; failed; at++) {
    int left, class = MPI_SUCCESS;
    if (at >= row->first && at <= row->last) continue;
    blocks_watch((void *)(uintptr_t)PMPI_Comm_dup, at);
    int error = row->call();
    failed = blocks_end(&left);
    MPI_Error_class(error, &class);
    if (left == 0 && (class == MPI_SUCCESS || (failed && class == MPI_ERR_NO_MEM))) continue;
    fprintf(stderr, "%s: allocation %d %s: class %d, and %d blocks are kept\n", row->name, at,
            failed ? "fails" : "does not fail", class, left);
    wrong++;
  }
  return wrong;
}

int main(int argc, char **argv) {
  const int one = 1, no = 0;
  int size, wrong = 0;
  check_start(&argc, &argv, &size);
  CHECK(size == 1 && blocks_watch != NULL && blocks_end != NULL);
  CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  CHECK(MPI_Cart_create(MPI_COMM_SELF, 1, &one, &no, 0, &grid) == MPI_SUCCESS);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) wrong += check_row(&rows[i]);
  CHECK(wrong == 0);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}

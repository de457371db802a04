/* SPDX-License-Identifier: Apache-2.0 */
/* No memory for communicators, types, handlers, messages and sessions (no_memory.h). */
#include <string.h>

#include "no_memory.h"

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
  int back[4] = {0};
  char out[100];
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint at = 0, from = 0;
  int error = MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
  if (error == MPI_SUCCESS) error = MPI_Pack_external("external32", in, 1, type, out, 100, &at);
  if (error == MPI_SUCCESS)
    error = MPI_Unpack_external("external32", out, at, &from, back, 1, type);
  CHECK(error != MPI_SUCCESS || (from == at && back[0] == 1 && back[1] == 0 && back[2] == 3));
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

static void keep_first(void *in, void *inout, int *count, MPI_Datatype *type) {
  CHECK(in != NULL && inout != NULL && *count == 1 && *type != MPI_DATATYPE_NULL);
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
  if (error == MPI_SUCCESS) {
    error = MPI_Add_error_string(class, "and again");
    CHECK(MPI_Remove_error_string(class) == MPI_SUCCESS);
  }
  CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
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

/* Sums of every other integer. */
static int spread_sum(void) {
  int out[4] = {7, 8, 9, 10}, in[4] = {0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int error = MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Op op = MPI_OP_NULL;
  if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
  if (error == MPI_SUCCESS) error = MPI_Op_create(keep_first, 1, &op);
  if (error == MPI_SUCCESS) error = MPI_Scan(out, in, 1, type, op, MPI_COMM_SELF);
  CHECK(error != MPI_SUCCESS || (in[0] == 7 && in[1] == 0 && in[2] == 9));
  if (op != MPI_OP_NULL) MPI_Op_free(&op);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return error;
}

static int flush_buffer(void) {
  char *detached;
  int size;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Comm_attach_buffer(grid, MPI_BUFFER_AUTOMATIC, 0);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Comm_iflush_buffer(grid, &request);
  CHECK((error == MPI_SUCCESS) == (request != MPI_REQUEST_NULL));
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_detach_buffer(grid, &detached, &size);
  return error;
}

static int create_edges(void) {
  const int zero = 0, one = 1;
  MPI_Comm comm = MPI_COMM_NULL;
  int error =
      MPI_Dist_graph_create(MPI_COMM_SELF, 1, &zero, &one, &zero, &one, MPI_INFO_NULL, 0, &comm);
  return end_comm(error, &comm);
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

/* ---- MPI_T, whose codes are of another kind */

static int of_tool(int error) {
  bool is_full = error == MPI_T_ERR_OUT_OF_HANDLES || error == MPI_T_ERR_OUT_OF_SESSIONS;
  return is_full ? MPI_ERR_NO_MEM : error;
}

static int control_handle(void) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0, error = MPI_T_cvar_handle_alloc(0, NULL, &handle, &count);
  if (error == MPI_SUCCESS) CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
  return of_tool(error);
}

static int performance_handle(void) {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int count = 0, error = MPI_T_pvar_session_create(&session);
  if (error != MPI_SUCCESS) return of_tool(error);
  error = MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count);
  CHECK((error == MPI_SUCCESS) == (handle != MPI_T_PVAR_HANDLE_NULL));
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
  return of_tool(error);
}

static const struct row rows[] = {
    {"MPI_Comm_dup", dup_comm, 0},
    {"MPI_Comm_dup of a grid", dup_grid, 0},
    {"MPI_Comm_idup", idup_grid, FROM_TO(4, 4)},
    {"MPI_Comm_split", split_comm, FROM_TO(1, 4)},
    {"MPI_Comm_create_from_group", create_comm, 0},
    {"MPI_Cart_create", create_grid, FROM_TO(1, 4)},
    {"MPI_Cart_sub", sub_grid, FROM_TO(2, 5)},
    {"MPI_Graph_create", create_graph, FROM_TO(1, 4)},
    {"MPI_Dist_graph_create_adjacent", create_adjacent, FROM_TO(1, 4)},
    {"groups", make_group, 0},
    {"MPI_Group_range_incl", range_of_group, 0},
    {"MPI_Type_vector", make_vector, 0},
    {"MPI_Type_create_struct", make_struct, 0},
    {"MPI_Type_indexed", make_indexed, 0},
    {"MPI_Type_create_subarray", make_subarray, 0},
    {"MPI_Type_create_darray", make_darray, 0},
    {"MPI_Type_dup", dup_type, 0},
    {"MPI_Type_set_name", name_type, 0},
    {"MPI_Pack_external", pack_external, 0},
    {"MPI_Comm_create_errhandler", make_errhandler, 0},
    {"MPI_Op_create", make_op, 0},
    {"MPI_Comm_set_attr", set_attribute, 0},
    {"MPI_Type_set_attr", set_type_attribute, 0},
    {"MPI_Info_set", set_info, 0},
    {"MPI_Comm_attach_buffer", attach_buffer, 0},
    {"MPI_Add_error_string", add_error_string, 0},
    {"MPI_Isend", send_to_self, 0},
    {"MPI_Waitall", wait_for_many, 0},
    {"MPI_Send_init", persistent, 0},
    {"MPI_Psend_init", partitioned, 0},
    {"MPI_Sendrecv_replace", exchange_in_place, 0},
    {"MPI_Comm_iflush_buffer", flush_buffer, 0},
    {"MPI_Dist_graph_create", create_edges, FROM_TO(2, 63)},
    {"MPI_Scan", spread_sum, FROM_TO(9, 10)},
    {"MPI_Iallreduce", nonblocking_sum, 0},
    {"MPI_Allreduce_init", persistent_sum, 0},
    {"MPI_Ialltoallw", nonblocking_vectors, 0},
    {"MPI_Neighbor_allgather", neighbor_gather, 0},
    {"MPI_Reduce_scatter", scatter_sum, 0},
    {"MPI_Grequest_start", generalized, 0},
    {"MPI_Mprobe", matched_probe, FROM_TO(1, 1)},
    {"MPI_Session_init", make_session, 0},
    {"MPI_T_cvar_handle_alloc", control_handle, 0},
    {"MPI_T_pvar_handle_alloc", performance_handle, 0}};

/* A rank has the names that it gives to predefined types in one table, which the first name makes:
 * that fails, and so does the copy of a name. */
static int check_first_name(void) {
  int left, class, wrong = 0;
  char name[MPI_MAX_OBJECT_NAME];
  for (int at = 2; at > 0; at--) {
    blocks_watch((void *)(uintptr_t)PMPI_Comm_dup, at);
    int error = MPI_Type_set_name(MPI_INT, "an integer");
    wrong += !blocks_end(&left) || left != (at == 1);
    MPI_Error_class(error, &class);
    wrong += class != MPI_ERR_NO_MEM;
    wrong += MPI_Type_get_name(MPI_INT, name, &left) != MPI_SUCCESS || strcmp(name, "MPI_INT") != 0;
  }
  return wrong;
}

int main(int argc, char **argv) {
  const int one = 1, no = 0;
  int provided;
  start(&argc, &argv, MPI_THREAD_SINGLE);
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_Cart_create(MPI_COMM_SELF, 1, &one, &no, 0, &grid) == MPI_SUCCESS);
  CHECK(check_first_name() == 0);
  check_rows(rows, sizeof rows / sizeof rows[0]);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}

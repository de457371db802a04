/* SPDX-License-Identifier: Apache-2.0 */
/* Each collective with the neighbours on a ring in each of its forms: what goes forward comes from
 * behind. Two ranks are each other's neighbour on both sides. */
#include "forms.h"

static MPI_Comm ring;

/* @return the rank behind (0) or ahead (1). */
static int neighbor(int side) { return (rank + (side == 0 ? size - 1 : 1)) % size; }

/* Two parts, the second one first. */
static void prepare_ring(void) {
  prepare();
  for (int i = 0; i < 2; i++) {
    displs[i] = EACH * (1 - i);
    bytes[i] = displs[i] * (int)sizeof(int);
    large_displs[i] = displs[i];
    large_bytes[i] = bytes[i];
  }
}

static void neighbor_allgather(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare_ring();
  switch (form) {
    case BLOCKING: MPI_Neighbor_allgather(out, EACH, MPI_INT, in, EACH, MPI_INT, ring); break;
    case NONBLOCKING:
      MPI_Ineighbor_allgather(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, &request);
      break;
    case PERSISTENT:
      MPI_Neighbor_allgather_init(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, MPI_INFO_NULL,
                                  &request);
      break;
    case BLOCKING_C: MPI_Neighbor_allgather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring); break;
    case NONBLOCKING_C:
      MPI_Ineighbor_allgather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, &request);
      break;
    case PERSISTENT_C:
      MPI_Neighbor_allgather_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, MPI_INFO_NULL,
                                    &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < 2 * EACH; i++) CHECK(in[i] == sent(neighbor(i / EACH), i % EACH));
  CHECK(in[2 * EACH] == -1);
}

static void neighbor_allgatherv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare_ring();
  switch (form) {
    case BLOCKING:
      MPI_Neighbor_allgatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, ring);
      break;
    case NONBLOCKING:
      MPI_Ineighbor_allgatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, ring, &request);
      break;
    case PERSISTENT:
      MPI_Neighbor_allgatherv_init(out, EACH, MPI_INT, in, counts, displs, MPI_INT, ring,
                                   MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Neighbor_allgatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, ring);
      break;
    case NONBLOCKING_C:
      MPI_Ineighbor_allgatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, ring,
                                 &request);
      break;
    case PERSISTENT_C:
      MPI_Neighbor_allgatherv_init_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT,
                                     ring, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < 2 * EACH; i++) CHECK(in[i] == sent(neighbor(1 - i / EACH), i % EACH));
}

static void neighbor_alltoall(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare_ring();
  switch (form) {
    case BLOCKING: MPI_Neighbor_alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, ring); break;
    case NONBLOCKING:
      MPI_Ineighbor_alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, &request);
      break;
    case PERSISTENT:
      MPI_Neighbor_alltoall_init(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, MPI_INFO_NULL,
                                 &request);
      break;
    case BLOCKING_C: MPI_Neighbor_alltoall_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring); break;
    case NONBLOCKING_C:
      MPI_Ineighbor_alltoall_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, &request);
      break;
    case PERSISTENT_C:
      MPI_Neighbor_alltoall_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, ring, MPI_INFO_NULL,
                                   &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < 2 * EACH; i++)
    CHECK(in[i] == sent(neighbor(i / EACH), EACH * (1 - i / EACH) + i % EACH));
  CHECK(in[2 * EACH] == -1);
}

static void neighbor_alltoallv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare_ring();
  switch (form) {
    case BLOCKING:
      MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, ring);
      break;
    case NONBLOCKING:
      MPI_Ineighbor_alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, ring,
                              &request);
      break;
    case PERSISTENT:
      MPI_Neighbor_alltoallv_init(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, ring,
                                  MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Neighbor_alltoallv_c(out, large_counts, large_displs, MPI_INT, in, large_counts,
                               large_displs, MPI_INT, ring);
      break;
    case NONBLOCKING_C:
      MPI_Ineighbor_alltoallv_c(out, large_counts, large_displs, MPI_INT, in, large_counts,
                                large_displs, MPI_INT, ring, &request);
      break;
    case PERSISTENT_C:
      MPI_Neighbor_alltoallv_init_c(out, large_counts, large_displs, MPI_INT, in, large_counts,
                                    large_displs, MPI_INT, ring, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < 2 * EACH; i++)
    CHECK(in[i] == sent(neighbor(1 - i / EACH), EACH * (1 - i / EACH) + i % EACH));
}

static void neighbor_alltoallw(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare_ring();
  switch (form) {
    case BLOCKING:
      MPI_Neighbor_alltoallw(out, counts, large_bytes, types, in, counts, large_bytes, types, ring);
      break;
    case NONBLOCKING:
      MPI_Ineighbor_alltoallw(out, counts, large_bytes, types, in, counts, large_bytes, types, ring,
                              &request);
      break;
    case PERSISTENT:
      MPI_Neighbor_alltoallw_init(out, counts, large_bytes, types, in, counts, large_bytes, types,
                                  ring, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Neighbor_alltoallw_c(out, large_counts, large_bytes, types, in, large_counts, large_bytes,
                               types, ring);
      break;
    case NONBLOCKING_C:
      MPI_Ineighbor_alltoallw_c(out, large_counts, large_bytes, types, in, large_counts,
                                large_bytes, types, ring, &request);
      break;
    case PERSISTENT_C:
      MPI_Neighbor_alltoallw_init_c(out, large_counts, large_bytes, types, in, large_counts,
                                    large_bytes, types, ring, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < 2 * EACH; i++)
    CHECK(in[i] == sent(neighbor(1 - i / EACH), EACH * (1 - i / EACH) + i % EACH));
}

/* No receive of the program's gets a message of a collective, whatever else is posted. */
static void beside_other_communicators(void) {
  enum { OTHERS = 4 };
  MPI_Comm others[OTHERS];
  MPI_Request requests[OTHERS];
  int got[OTHERS], around[2] = {-1, -1}, flag;
  for (int i = 0; i < OTHERS; i++) { /* their contexts follow that of the ring */
    MPI_Comm_dup(MPI_COMM_WORLD, &others[i]);
    MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, others[i], &requests[i]);
  }
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, around, 1, MPI_INT, ring);
  CHECK(around[0] == (rank + size - 1) % size && around[1] == (rank + 1) % size);
  for (int i = 0; i < OTHERS; i++) {
    MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Send(&rank, 1, MPI_INT, rank, i, others[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK(got[i] == rank);
    MPI_Comm_free(&others[i]);
  }
}

int main(int argc, char **argv) {
  static void (*const collectives[])(enum form) = {neighbor_allgather, neighbor_allgatherv,
                                                   neighbor_alltoall, neighbor_alltoallv,
                                                   neighbor_alltoallw};
  rank = check_start(&argc, &argv, &size);
  CHECK(size >= 2 && size <= RANKS_MAX);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
  beside_other_communicators();
  run_all(collectives, sizeof collectives / sizeof collectives[0]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}

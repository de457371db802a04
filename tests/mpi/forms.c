/* SPDX-License-Identifier: Apache-2.0 */
/* Each collective of a whole communicator in each of its forms. */
#include "forms.h"

static void barrier(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  if (form >= BLOCKING_C) return; /* it has no counts */
  switch (form) {
    case BLOCKING: MPI_Barrier(MPI_COMM_WORLD); break;
    case NONBLOCKING: MPI_Ibarrier(MPI_COMM_WORLD, &request); break;
    case PERSISTENT: MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request); break;
    default: break;
  }
  finish(form, &request);
}

static void bcast(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  if (rank == 1) memcpy(in, out, sizeof in);
  switch (form) {
    case BLOCKING: MPI_Bcast(in, ALL, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING: MPI_Ibcast(in, ALL, MPI_INT, 1, MPI_COMM_WORLD, &request); break;
    case PERSISTENT:
      MPI_Bcast_init(in, ALL, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C: MPI_Bcast_c(in, ALL, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING_C: MPI_Ibcast_c(in, ALL, MPI_INT, 1, MPI_COMM_WORLD, &request); break;
    case PERSISTENT_C:
      MPI_Bcast_init_c(in, ALL, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) CHECK(in[i] == sent(1, i));
}

static void gather(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Gather(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Igather(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Gather_init(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
      break;
    case BLOCKING_C: MPI_Gather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Igather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Gather_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = rank == 1 && i < EACH * size;
    CHECK(in[i] == (filled ? sent(i / EACH, i % EACH) : -1));
  }
}

static void gatherv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING:
      MPI_Gatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, 1, MPI_COMM_WORLD);
      break;
    case NONBLOCKING:
      MPI_Igatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Gatherv_init(out, EACH, MPI_INT, in, counts, displs, MPI_INT, 1, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Gatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, 1, MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Igatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, 1, MPI_COMM_WORLD,
                     &request);
      break;
    case PERSISTENT_C:
      MPI_Gatherv_init_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, 1,
                         MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = rank == 1 && i < EACH * size;
    CHECK(in[i] == (filled ? sent(size - 1 - i / EACH, i % EACH) : -1));
  }
}

static void scatter(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Scatter(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Iscatter(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Scatter_init(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
      break;
    case BLOCKING_C: MPI_Scatter_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Iscatter_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Scatter_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++) CHECK(in[i] == sent(1, EACH * rank + i));
  CHECK(in[EACH] == -1);
}

static void scatterv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING:
      MPI_Scatterv(out, counts, displs, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD);
      break;
    case NONBLOCKING:
      MPI_Iscatterv(out, counts, displs, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Scatterv_init(out, counts, displs, MPI_INT, in, EACH, MPI_INT, 1, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Scatterv_c(out, large_counts, large_displs, MPI_INT, in, EACH, MPI_INT, 1,
                     MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Iscatterv_c(out, large_counts, large_displs, MPI_INT, in, EACH, MPI_INT, 1,
                      MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Scatterv_init_c(out, large_counts, large_displs, MPI_INT, in, EACH, MPI_INT, 1,
                          MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++) CHECK(in[i] == sent(1, EACH * (size - 1 - rank) + i));
  CHECK(in[EACH] == -1);
}

static void allgather(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Allgather(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Iallgather(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Allgather_init(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request);
      break;
    case BLOCKING_C: MPI_Allgather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Iallgather_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Allgather_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = i < EACH * size;
    CHECK(in[i] == (filled ? sent(i / EACH, i % EACH) : -1));
  }
}

static void allgatherv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING:
      MPI_Allgatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
      break;
    case NONBLOCKING:
      MPI_Iallgatherv(out, EACH, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Allgatherv_init(out, EACH, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Allgatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Iallgatherv_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT, MPI_COMM_WORLD,
                        &request);
      break;
    case PERSISTENT_C:
      MPI_Allgatherv_init_c(out, EACH, MPI_INT, in, large_counts, large_displs, MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = i < EACH * size;
    CHECK(in[i] == (filled ? sent(size - 1 - i / EACH, i % EACH) : -1));
  }
}

static void alltoall(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Ialltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Alltoall_init(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
      break;
    case BLOCKING_C: MPI_Alltoall_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Ialltoall_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Alltoall_init_c(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = i < EACH * size;
    CHECK(in[i] == (filled ? sent(i / EACH, EACH * rank + i % EACH) : -1));
  }
}

static void alltoallv(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING:
      MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
      break;
    case NONBLOCKING:
      MPI_Ialltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD,
                     &request);
      break;
    case PERSISTENT:
      MPI_Alltoallv_init(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Alltoallv_c(out, large_counts, large_displs, MPI_INT, in, large_counts, large_displs,
                      MPI_INT, MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Ialltoallv_c(out, large_counts, large_displs, MPI_INT, in, large_counts, large_displs,
                       MPI_INT, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Alltoallv_init_c(out, large_counts, large_displs, MPI_INT, in, large_counts, large_displs,
                           MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = i < EACH * size;
    CHECK(in[i] == (filled ? sent(size - 1 - i / EACH, EACH * (size - 1 - rank) + i % EACH) : -1));
  }
}

static void alltoallw(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING:
      MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
      break;
    case NONBLOCKING:
      MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C:
      MPI_Alltoallw_c(out, large_counts, large_bytes, types, in, large_counts, large_bytes, types,
                      MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Ialltoallw_c(out, large_counts, large_bytes, types, in, large_counts, large_bytes, types,
                       MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Alltoallw_init_c(out, large_counts, large_bytes, types, in, large_counts, large_bytes,
                           types, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < ALL; i++) {
    bool filled = i < EACH * size;
    CHECK(in[i] == (filled ? sent(size - 1 - i / EACH, EACH * (size - 1 - rank) + i % EACH) : -1));
  }
}

static void reduce(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Reduce(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Ireduce(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Reduce_init(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C: MPI_Reduce_c(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Ireduce_c(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Reduce_init_c(out, in, EACH, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; rank == 1 && i < EACH; i++)
    CHECK(in[i] == size * i + 1000 * (size * (size - 1) / 2));
}

static void allreduce(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Allreduce(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Iallreduce(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Allreduce_init(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C: MPI_Allreduce_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Iallreduce_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Allreduce_init_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++) CHECK(in[i] == size * i + 1000 * (size * (size - 1) / 2));
}

static void scan(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Scan(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING: MPI_Iscan(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); break;
    case PERSISTENT:
      MPI_Scan_init(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C: MPI_Scan_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Iscan_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Scan_init_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++) CHECK(in[i] == (rank + 1) * i + 1000 * (rank * (rank + 1) / 2));
}

static void exscan(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Exscan(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING: MPI_Iexscan(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); break;
    case PERSISTENT:
      MPI_Exscan_init(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    case BLOCKING_C: MPI_Exscan_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING_C:
      MPI_Iexscan_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Exscan_init_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; rank > 0 && i < EACH; i++)
    CHECK(in[i] == rank * i + 1000 * (rank * (rank - 1) / 2));
}

static void reduce_scatter(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Ireduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Reduce_scatter_init(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request);
      break;
    case BLOCKING_C:
      MPI_Reduce_scatter_c(out, in, large_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Ireduce_scatter_c(out, in, large_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Reduce_scatter_init_c(out, in, large_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++)
    CHECK(in[i] == size * (EACH * rank + i) + 1000 * (size * (size - 1) / 2));
}

static void reduce_scatter_block(enum form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  switch (form) {
    case BLOCKING: MPI_Reduce_scatter_block(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case NONBLOCKING:
      MPI_Ireduce_scatter_block(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT:
      MPI_Reduce_scatter_block_init(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &request);
      break;
    case BLOCKING_C:
      MPI_Reduce_scatter_block_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case NONBLOCKING_C:
      MPI_Ireduce_scatter_block_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case PERSISTENT_C:
      MPI_Reduce_scatter_block_init_c(out, in, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, &request);
      break;
    default: break;
  }
  finish(form, &request);
  for (int i = 0; i < EACH; i++)
    CHECK(in[i] == size * (EACH * rank + i) + 1000 * (size * (size - 1) / 2));
}

int main(int argc, char **argv) {
  static void (*const collectives[])(enum form) = {barrier,
                                                   bcast,
                                                   gather,
                                                   gatherv,
                                                   scatter,
                                                   scatterv,
                                                   allgather,
                                                   allgatherv,
                                                   alltoall,
                                                   alltoallv,
                                                   alltoallw,
                                                   reduce,
                                                   allreduce,
                                                   scan,
                                                   exscan,
                                                   reduce_scatter,
                                                   reduce_scatter_block};
  rank = check_start(&argc, &argv, &size);
  CHECK(size >= 2 && size <= RANKS_MAX);
  run_all(collectives, sizeof collectives / sizeof collectives[0]);
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of arguments between Fortran and C. */
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "tmpi/bindings/bindings.h"

/* COMMON blocks in Fortran, which gfortran aligns so at most; a linker warns of less. */
enum { BLOCK = 64 };
alignas(BLOCK) MPI_Fint tmpi_bottom_;
alignas(BLOCK) MPI_Fint tmpi_in_place_;
alignas(BLOCK) MPI_Fint tmpi_buffer_automatic_;
alignas(BLOCK) MPI_Fint tmpi_unweighted_[1];
alignas(BLOCK) MPI_Fint tmpi_weights_empty_[1];
alignas(BLOCK) MPI_Fint tmpi_errcodes_ignore_[1];
alignas(BLOCK) char tmpi_argv_null_[1], tmpi_argvs_null_[1];
alignas(BLOCK) MPI_Fint tmpi_status_ignore_[MPI_F_STATUS_SIZE];
alignas(BLOCK) MPI_Fint tmpi_statuses_ignore_[MPI_F_STATUS_SIZE];

void *tmf_address(void *buffer) {
  if (buffer == &tmpi_bottom_) return MPI_BOTTOM;
  if (buffer == &tmpi_in_place_) return MPI_IN_PLACE;
  if (buffer == &tmpi_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
  return buffer;
}

/* That it is called is all that matters to a compiler. */
#pragma weak mpi_f_sync_reg_
void mpi_f_sync_reg_(void *buffer) { (void)buffer; }
void pmpi_f_sync_reg_(void *buffer) { (void)buffer; }

MPI_Fint *tmf_weights(MPI_Fint *weights) {
  if (weights == tmpi_unweighted_) return MPI_UNWEIGHTED;
  if (weights == tmpi_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return weights;
}

MPI_Status *tmf_status(MPI_Fint *status) {
  return status == tmpi_status_ignore_ ? MPI_STATUS_IGNORE : (MPI_Status *)status;
}

MPI_Status *tmf_statuses(MPI_Fint *statuses) {
  return statuses == tmpi_statuses_ignore_ ? MPI_STATUSES_IGNORE : (MPI_Status *)statuses;
}

void *tmf_array(int count, size_t size) {
  void *array = calloc(count > 0 ? (size_t)count : 1, size);
  if (array == NULL) {
    fprintf(stderr, "tmpi: no memory for an array of %d handles (Fortran bindings)\n", count);
    abort();
  }
  return array;
}

char *tmf_string(const char *text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') length--;
  while (length > 0 && *text == ' ') text++, length--;
  char *copy = tmf_array((int)length + 1, 1);
  memcpy(copy, text, length);
  return copy;
}

void tmf_pad(char *to, size_t length, const char *text) {
  size_t used = strnlen(text, length);
  memcpy(to, text, used);
  memset(to + used, ' ', length - used);
}

int tmf_size(MPI_Comm comm) {
  int size = 0, inter = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  int error = inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
  return error == MPI_SUCCESS ? size : 0;
}

int tmf_neighbors(MPI_Comm comm) {
  int kind, in = 0, out = 0, weighted, rank;
  if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return 0;
  if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, &in);
    return 2 * in;
  }
  if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS)
    PMPI_Graph_neighbors_count(comm, rank, &in);
  if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  return in > out ? in : out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI 3.0 removed from Fortran, for programs of before: addresses and displacements are
 * integers of the default kind. One that does not fit is an error: a program would compute
 * displacements from it.
 */
#include <stdio.h>

#include "tmpi/bindings/bindings.h"

/* Stores what a call found. @return error, or MPI_ERR_ARG, which MPI_COMM_WORLD's handler has
 * had. */
static int narrow(int error, MPI_Aint value, MPI_Fint *to, const char *call, const char *instead) {
  if (error != MPI_SUCCESS) return error;
  *to = (MPI_Fint)value;
  if (*to == value) return MPI_SUCCESS;
  fprintf(stderr, "tmpi: %s: %td does not fit into an INTEGER (call %s)\n", call, value, instead);
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
  return MPI_ERR_ARG;
}

/* @return the displacements in a new array. */
static MPI_Aint *widen(const MPI_Fint *values, int count) {
  MPI_Aint *wide = tmf_array(count, sizeof *wide);
  for (int i = 0; i < count; i++) wide[i] = values[i];
  return wide;
}

/* What MPI_Type_lb(), MPI_Type_ub() and MPI_Type_extent() have in common. */
typedef int extent_function(MPI_Datatype, MPI_Aint *, MPI_Aint *);

static void bounds(extent_function *function, const MPI_Fint *type, MPI_Fint *result, int lb_factor,
                   int extent_factor, MPI_Fint *ierror) {
  MPI_Aint lb = 0, extent = 0;
  int error = function(tmf_Type(*type), &lb, &extent);
  MPI_Aint found = lb_factor * lb + extent_factor * extent;
  tmf_end(ierror,
          narrow(error, found, result, "MPI_TYPE_EXTENT, _LB or _UB", "MPI_TYPE_GET_EXTENT"));
}

/* Each under both names. p: what precedes the name, P: that of the C function. */
#define NAMES(p, P)                                                                                \
  void p##_address_(void *location, MPI_Fint *address, MPI_Fint *ierror) {                         \
    MPI_Aint wide = 0;                                                                             \
    int error = P##_Get_address(tmf_address(location), &wide);                                     \
    tmf_end(ierror, narrow(error, wide, address, "MPI_ADDRESS", "MPI_GET_ADDRESS"));               \
  }                                                                                                \
  void p##_type_extent_(MPI_Fint *type, MPI_Fint *extent, MPI_Fint *ierror) {                      \
    bounds(P##_Type_get_extent, type, extent, 0, 1, ierror);                                       \
  }                                                                                                \
  void p##_type_lb_(MPI_Fint *type, MPI_Fint *lb, MPI_Fint *ierror) {                              \
    bounds(P##_Type_get_extent, type, lb, 1, 0, ierror);                                           \
  }                                                                                                \
  void p##_type_ub_(MPI_Fint *type, MPI_Fint *ub, MPI_Fint *ierror) {                              \
    bounds(P##_Type_get_extent, type, ub, 1, 1, ierror);                                           \
  }                                                                                                \
  void p##_type_hvector_(MPI_Fint *count, MPI_Fint *length, MPI_Fint *stride, MPI_Fint *type,      \
                         MPI_Fint *newtype, MPI_Fint *ierror) {                                    \
    MPI_Datatype made = MPI_DATATYPE_NULL;                                                         \
    tmf_end(ierror, P##_Type_create_hvector(*count, *length, *stride, tmf_Type(*type), &made));    \
    *newtype = PMPI_Type_toint(made);                                                              \
  }                                                                                                \
  void p##_type_hindexed_(MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *displacements,             \
                          MPI_Fint *type, MPI_Fint *newtype, MPI_Fint *ierror) {                   \
    MPI_Datatype made = MPI_DATATYPE_NULL;                                                         \
    MPI_Aint *wide = widen(displacements, *count);                                                 \
    tmf_end(ierror, P##_Type_create_hindexed(*count, lengths, wide, tmf_Type(*type), &made));      \
    *newtype = PMPI_Type_toint(made);                                                              \
    free(wide);                                                                                    \
  }                                                                                                \
  void p##_type_struct_(MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *displacements,               \
                        MPI_Fint *types, MPI_Fint *newtype, MPI_Fint *ierror) {                    \
    MPI_Datatype made = MPI_DATATYPE_NULL, *types_ = tmf_array(*count, sizeof *types_);            \
    MPI_Aint *wide = widen(displacements, *count);                                                 \
    for (int i = 0; i < *count; i++) types_[i] = tmf_Type(types[i]);                               \
    tmf_end(ierror, P##_Type_create_struct(*count, lengths, wide, types_, &made));                 \
    *newtype = PMPI_Type_toint(made);                                                              \
    free(wide), free(types_);                                                                      \
  }                                                                                                \
  void p##_errhandler_set_(MPI_Fint *comm, MPI_Fint *handler, MPI_Fint *ierror) {                  \
    tmf_end(ierror, P##_Comm_set_errhandler(tmf_Comm(*comm), tmf_Errhandler(*handler)));           \
  }                                                                                                \
  void p##_errhandler_get_(MPI_Fint *comm, MPI_Fint *handler, MPI_Fint *ierror) {                  \
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;                                                    \
    tmf_end(ierror, P##_Comm_get_errhandler(tmf_Comm(*comm), &found));                             \
    *handler = PMPI_Errhandler_toint(found);                                                       \
  }                                                                                                \
  void p##_errhandler_create_(void (*subroutine)(void), MPI_Fint *handler, MPI_Fint *ierror) {     \
    p##_comm_create_errhandler_(subroutine, handler, ierror);                                      \
  }

void mpi_comm_create_errhandler_(void (*subroutine)(void), MPI_Fint *handler, MPI_Fint *ierror);
void pmpi_comm_create_errhandler_(void (*subroutine)(void), MPI_Fint *handler, MPI_Fint *ierror);

#pragma weak mpi_address_
#pragma weak mpi_type_extent_
#pragma weak mpi_type_lb_
#pragma weak mpi_type_ub_
#pragma weak mpi_type_hvector_
#pragma weak mpi_type_hindexed_
#pragma weak mpi_type_struct_
#pragma weak mpi_errhandler_set_
#pragma weak mpi_errhandler_get_
#pragma weak mpi_errhandler_create_
NAMES(mpi, MPI)
NAMES(pmpi, PMPI)

/* ---- MPI_SIZEOF: the modules choose by the argument's type */

#define SIZEOF(kind, bytes)                                                                        \
  void tmpi_sizeof_##kind##_(void *x, MPI_Fint *size, MPI_Fint *ierror) {                          \
    (void)x;                                                                                       \
    *size = (bytes);                                                                               \
    tmf_end(ierror, MPI_SUCCESS);                                                                  \
  }
SIZEOF(integer1, 1)
SIZEOF(integer2, 2)
SIZEOF(integer4, 4)
SIZEOF(integer8, 8)
SIZEOF(real4, 4)
SIZEOF(real8, 8)
SIZEOF(complex4, 8)
SIZEOF(complex8, 16)
SIZEOF(logical1, 1)
SIZEOF(logical2, 2)
SIZEOF(logical4, 4)
SIZEOF(logical8, 8)
SIZEOF(character1, 1)

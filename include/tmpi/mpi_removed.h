/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi_removed.h
 * The functions of MPI 1 that MPI 3.0 removed from C. The standard ABI has none of these names.
 * Here they are inline functions of the program, which call their successors. So a program that
 * uses them runs with any library of the ABI, and this library exports no further name.
 * mpi.h includes this file unless TMPI_WITHOUT_REMOVED is defined. A program that has given such a
 * name to a macro, as -DMPI_Address=MPI_Get_address does, keeps its macro.
 *
 * The types MPI_LB and MPI_UB have values that the ABI leaves free. Only this library knows them.
 * New programs set the bounds of a type by MPI_Type_create_resized().
 */
#include "mpi.h"

#ifndef TMPI_REMOVED_H
#define TMPI_REMOVED_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MPI_LB
#define MPI_LB ((MPI_Datatype)0x2fe)
#endif
#ifndef MPI_UB
#define MPI_UB ((MPI_Datatype)0x2ff)
#endif

/** The functions that old programs give to MPI_Errhandler_create(). */
typedef MPI_Comm_errhandler_function MPI_Handler_function;

#ifndef MPI_Address
static inline int MPI_Address(const void *location, MPI_Aint *address) {
  return MPI_Get_address(location, address);
}
#endif

#ifndef MPI_Type_extent
static inline int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(type, &lb, extent);
}
#endif

#ifndef MPI_Type_lb
static inline int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lb) {
  MPI_Aint extent;
  return MPI_Type_get_extent(type, lb, &extent);
}
#endif

#ifndef MPI_Type_ub
static inline int MPI_Type_ub(MPI_Datatype type, MPI_Aint *ub) {
  MPI_Aint lb = 0, extent = 0;
  int error = MPI_Type_get_extent(type, &lb, ub != 0 ? &extent : 0);
  if (error == MPI_SUCCESS) *ub = lb + extent;
  return error;
}
#endif

#ifndef MPI_Type_hvector
static inline int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type,
                                   MPI_Datatype *newtype) {
  return MPI_Type_create_hvector(count, length, stride, type, newtype);
}
#endif

#ifndef MPI_Type_hindexed
static inline int MPI_Type_hindexed(int count, const int lengths[], const MPI_Aint displacements[],
                                    MPI_Datatype type, MPI_Datatype *newtype) {
  return MPI_Type_create_hindexed(count, lengths, displacements, type, newtype);
}
#endif

#ifndef MPI_Type_struct
static inline int MPI_Type_struct(int count, const int lengths[], const MPI_Aint displacements[],
                                  const MPI_Datatype types[], MPI_Datatype *newtype) {
  return MPI_Type_create_struct(count, lengths, displacements, types, newtype);
}
#endif

#ifndef MPI_Errhandler_create
static inline int MPI_Errhandler_create(MPI_Handler_function *function,
                                        MPI_Errhandler *errhandler) {
  return MPI_Comm_create_errhandler(function, errhandler);
}
#endif

#ifndef MPI_Errhandler_set
static inline int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return MPI_Comm_set_errhandler(comm, errhandler);
}
#endif

#ifndef MPI_Errhandler_get
static inline int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler) {
  return MPI_Comm_get_errhandler(comm, errhandler);
}
#endif

#ifdef __cplusplus
}
#endif

#endif

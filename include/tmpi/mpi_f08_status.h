/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi_f08_status.h
 * Statuses of the Fortran module mpi_f08 in C. The standard ABI has no such functions: a status has
 * the same bytes in C, in mpi_f08, and as the array of integers that Fortran has otherwise. So
 * these are inline functions of the program, which runs with any library of the ABI.
 */
#include "mpi.h"

#ifndef TMPI_F08_STATUS_H
#define TMPI_F08_STATUS_H

typedef MPI_Status MPI_F08_status;

static inline int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status) {
  *f08_status = *c_status;
  return MPI_SUCCESS;
}

static inline int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status) {
  *c_status = *f08_status;
  return MPI_SUCCESS;
}

static inline int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status) {
  return MPI_Status_f2c(f_status, f08_status);
}

static inline int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status) {
  return MPI_Status_c2f(f08_status, f_status);
}

#endif

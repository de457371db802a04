/* SPDX-License-Identifier: Apache-2.0 */
/* MPI for fortran.f90. */
#include <stdint.h>

#include "check.h"

enum { OF_COMM, OF_TYPE, OF_WIN };

void start(int *rank, int *size);
void step(void);
void finish(void);
void failed(int line);
int has_in_c(int kind, int object, int keyval, intptr_t number);
int set_in_c(int kind, int object, int keyval, intptr_t value);

void start(int *rank, int *size) { *rank = check_start(NULL, NULL, size); }
void step(void) { MPI_Barrier(MPI_COMM_WORLD); }
void finish(void) { MPI_Finalize(); }
void failed(int line) { check_failed("fortran.f90", line, "see there"); }

/* C gets the address of an integer that Fortran has set (MPI 4.1, 19.3.7). */
int has_in_c(int kind, int object, int keyval, intptr_t number) {
  const intptr_t *value = NULL;
  int flag = 0;
  if (kind == OF_COMM) MPI_Comm_get_attr(MPI_Comm_f2c(object), keyval, (void *)&value, &flag);
  if (kind == OF_TYPE) MPI_Type_get_attr(MPI_Type_f2c(object), keyval, (void *)&value, &flag);
  if (kind == OF_WIN) MPI_Win_get_attr(MPI_Win_f2c(object), keyval, (void *)&value, &flag);
  return flag && *value == number;
}

int set_in_c(int kind, int object, int keyval, intptr_t value) {
  if (kind == OF_COMM) return MPI_Comm_set_attr(MPI_Comm_f2c(object), keyval, (void *)value);
  if (kind == OF_TYPE) return MPI_Type_set_attr(MPI_Type_f2c(object), keyval, (void *)value);
  return MPI_Win_set_attr(MPI_Win_f2c(object), keyval, (void *)value);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data representations from Fortran. The C library gets functions of this file and a record with
 * the program's subroutines, which lives as long as the program: a registration has no end.
 */
#include "tmpi/bindings/bindings.h"

typedef void conversion_subroutine(void *memory, MPI_Fint *type, MPI_Fint *count, void *file,
                                   MPI_Offset *position, MPI_Aint *extra, MPI_Fint *ierror);
typedef void extent_subroutine(MPI_Fint *type, MPI_Aint *extent, MPI_Aint *extra, MPI_Fint *ierror);

struct datarep {
  conversion_subroutine *read, *write;
  extent_subroutine *extent;
  MPI_Aint *extra; /* the program's variable: its subroutines may change it */
};

/* Its address says that there is no conversion. */
void mpi_conversion_fn_null_(void *memory, MPI_Fint *type, MPI_Fint *count, void *file,
                             MPI_Offset *position, MPI_Aint *extra, MPI_Fint *ierror) {
  (void)memory;
  (void)type;
  (void)count;
  (void)file;
  (void)position;
  (void)extra;
  *ierror = MPI_ERR_CONVERSION;
}

static int run(conversion_subroutine *conversion, const struct datarep *datarep, void *memory,
               MPI_Datatype type, int count, void *file, MPI_Offset position) {
  MPI_Fint number = PMPI_Type_toint(type), ierror = MPI_SUCCESS;
  conversion(memory, &number, &count, file, &position, datarep->extra, &ierror);
  return ierror;
}

static int run_read(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset position,
                    void *state) {
  const struct datarep *datarep = state;
  return run(datarep->read, datarep, memory, type, count, file, position);
}

static int run_write(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset position,
                     void *state) {
  const struct datarep *datarep = state;
  return run(datarep->write, datarep, memory, type, count, file, position);
}

static int run_extent(MPI_Datatype type, MPI_Aint *extent, void *state) {
  const struct datarep *datarep = state;
  MPI_Fint number = PMPI_Type_toint(type), ierror = MPI_SUCCESS;
  datarep->extent(&number, extent, datarep->extra, &ierror);
  return ierror;
}

typedef int register_function(const char *, MPI_Datarep_conversion_function *,
                              MPI_Datarep_conversion_function *, MPI_Datarep_extent_function *,
                              void *);

static void register_by(register_function *function, const char *name, size_t length,
                        struct datarep given, MPI_Fint *ierror) {
  char *text = tmf_string(name, length);
  struct datarep *datarep = tmf_array(1, sizeof *datarep);
  *datarep = given;
  int error =
      function(text, given.read == mpi_conversion_fn_null_ ? NULL : run_read,
               given.write == mpi_conversion_fn_null_ ? NULL : run_write, run_extent, datarep);
  if (tmf_end(ierror, error) != MPI_SUCCESS) free(datarep);
  free(text);
}

#pragma weak mpi_register_datarep_
void mpi_register_datarep_(const char *name, conversion_subroutine *read,
                           conversion_subroutine *write, extent_subroutine *extent, MPI_Aint *extra,
                           MPI_Fint *ierror, size_t length) {
  register_by(MPI_Register_datarep, name, length, (struct datarep){read, write, extent, extra},
              ierror);
}

void pmpi_register_datarep_(const char *name, conversion_subroutine *read,
                            conversion_subroutine *write, extent_subroutine *extent,
                            MPI_Aint *extra, MPI_Fint *ierror, size_t length) {
  register_by(PMPI_Register_datarep, name, length, (struct datarep){read, write, extent, extra},
              ierror);
}

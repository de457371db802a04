/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generalized requests from Fortran. The C library gets functions of this file and a record with
 * the program's subroutines. The record lives until the library frees the request.
 */
#include "tmpi/bindings/bindings.h"

typedef void query_subroutine(MPI_Aint *extra, MPI_Fint *status, MPI_Fint *ierror);
typedef void free_subroutine(MPI_Aint *extra, MPI_Fint *ierror);
typedef void cancel_subroutine(MPI_Aint *extra, MPI_Fint *complete, MPI_Fint *ierror);

struct generalized {
  query_subroutine *query;
  free_subroutine *free;
  cancel_subroutine *cancel;
  MPI_Aint
      *extra; /* the program's variable: its subroutines may change it, as in other libraries */
};

static int run_query(void *state, MPI_Status *status) {
  struct generalized *request = state;
  MPI_Fint ierror = MPI_SUCCESS;
  request->query(request->extra, (MPI_Fint *)status, &ierror);
  return ierror;
}

static int run_free(void *state) {
  struct generalized *request = state;
  MPI_Fint ierror = MPI_SUCCESS;
  request->free(request->extra, &ierror);
  free(request);
  return ierror;
}

static int run_cancel(void *state, int complete) {
  struct generalized *request = state;
  MPI_Fint ierror = MPI_SUCCESS;
  request->cancel(request->extra, &complete, &ierror);
  return ierror;
}

static struct generalized *request_new(query_subroutine *query, free_subroutine *release,
                                       cancel_subroutine *cancel, MPI_Aint *extra) {
  struct generalized *request = tmf_array(1, sizeof *request);
  *request = (struct generalized){query, release, cancel, extra};
  return request;
}

typedef int start_function(MPI_Grequest_query_function *, MPI_Grequest_free_function *,
                           MPI_Grequest_cancel_function *, void *, MPI_Request *);

/* Calls the function, then stores the request's number, or frees the record of a request that was
 * not made. */
static void start(start_function *function, struct generalized *record, MPI_Fint *request,
                  MPI_Fint *ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  int error = function(run_query, run_free, run_cancel, record, &made);
  if (tmf_end(ierror, error) != MPI_SUCCESS) free(record);
  *request = PMPI_Request_toint(made);
}

#pragma weak mpi_grequest_start_
void mpi_grequest_start_(query_subroutine *query, free_subroutine *release,
                         cancel_subroutine *cancel, MPI_Aint *extra, MPI_Fint *request,
                         MPI_Fint *ierror) {
  start(MPI_Grequest_start, request_new(query, release, cancel, extra), request, ierror);
}

void pmpi_grequest_start_(query_subroutine *query, free_subroutine *release,
                          cancel_subroutine *cancel, MPI_Aint *extra, MPI_Fint *request,
                          MPI_Fint *ierror) {
  start(PMPI_Grequest_start, request_new(query, release, cancel, extra), request, ierror);
}

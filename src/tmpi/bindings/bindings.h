/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file bindings.h
 * The Fortran bindings: subroutines that convert their arguments and call the C functions of MPI.
 *
 * tools/mpi/fortran.py makes most of them from the C prototypes. tmpifort links all of them into
 * each program, so that each rank has its own copy. MPI_X calls MPI_X and PMPI_X calls PMPI_X, so a
 * tool may interpose the Fortran names or the C names.
 *
 * As gfortran compiles: a default INTEGER is a C int, .true. is 1, and the length of a character
 * argument is a size_t after the last argument.
 */
#ifndef TM_BINDINGS_H
#define TM_BINDINGS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tmpi/bindings/code_note.h"

TMF_CODE_NOTE();

/** The variables of mpif.h whose addresses have a meaning. */
extern MPI_Fint tmpi_bottom_, tmpi_in_place_, tmpi_buffer_automatic_;
extern MPI_Fint tmpi_unweighted_[1], tmpi_weights_empty_[1];
extern MPI_Fint tmpi_errcodes_ignore_[1];
extern char tmpi_argv_null_[1], tmpi_argvs_null_[1];
extern MPI_Fint tmpi_status_ignore_[MPI_F_STATUS_SIZE], tmpi_statuses_ignore_[MPI_F_STATUS_SIZE];

/** @return a choice buffer's address, or the one that MPI_BOTTOM, MPI_IN_PLACE or
 * MPI_BUFFER_AUTOMATIC have in C. */
void *tmf_address(void *buffer);
/** @return weights, or what MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY are in C. */
MPI_Fint *tmf_weights(MPI_Fint *weights);

/** Stores what a call returned. ierror: NULL: the program, which uses mpi_f08, left it out.
 * @return error. */
static inline int tmf_end(MPI_Fint *ierror, int error) {
  if (ierror != NULL) *ierror = error;
  return error;
}

/** A Fortran status has the layout of a C status. @return it, or MPI_STATUS_IGNORE. */
MPI_Status *tmf_status(MPI_Fint *status);
MPI_Status *tmf_statuses(MPI_Fint *statuses);

/** @return a C string on the heap: without blanks at its ends. */
char *tmf_string(const char *text, size_t length);
/** Copies a C string to a character variable, and fills the rest with blanks. */
void tmf_pad(char *to, size_t length, const char *text);

/** @return an array on the heap; never NULL. Ends the process if there is no memory. */
void *tmf_array(int count, size_t size);
/** @return how many types an alltoallw on this communicator has; 0 for a wrong communicator. */
int tmf_size(MPI_Comm comm);
/** The same for its neighbours, the larger of both numbers. */
int tmf_neighbors(MPI_Comm comm);

enum { TMF_PREDEFINED = 0x1000 }; /* in the ABI of the standard, handles below it are predefined */

/** @return the predefined handle with that number: its address is its number; NULL: another one.
 * Most handles of a call are predefined. Those cost no call of the library. */
static inline void *tmf_predefined(MPI_Fint number) {
  return number >= 0 && number < TMF_PREDEFINED ? (void *)(intptr_t)number : NULL;
}

static inline MPI_Comm tmf_Comm(MPI_Fint number) {
  void *predefined = tmf_predefined(number);
  return predefined != NULL ? predefined : MPI_Comm_fromint(number);
}
static inline MPI_Datatype tmf_Type(MPI_Fint number) {
  void *predefined = tmf_predefined(number);
  return predefined != NULL ? predefined : MPI_Type_fromint(number);
}
static inline MPI_Request tmf_Request(MPI_Fint number) {
  void *predefined = tmf_predefined(number);
  return predefined != NULL ? predefined : MPI_Request_fromint(number);
}
static inline MPI_Op tmf_Op(MPI_Fint number) {
  void *predefined = tmf_predefined(number);
  return predefined != NULL ? predefined : MPI_Op_fromint(number);
}
static inline MPI_Group tmf_Group(MPI_Fint number) { return MPI_Group_fromint(number); }
static inline MPI_Message tmf_Message(MPI_Fint number) { return MPI_Message_fromint(number); }
static inline MPI_Errhandler tmf_Errhandler(MPI_Fint number) {
  return MPI_Errhandler_fromint(number);
}
static inline MPI_Info tmf_Info(MPI_Fint number) { return MPI_Info_fromint(number); }
static inline MPI_Session tmf_Session(MPI_Fint number) { return MPI_Session_fromint(number); }
static inline MPI_Win tmf_Win(MPI_Fint number) { return MPI_Win_fromint(number); }
static inline MPI_File tmf_File(MPI_Fint number) { return MPI_File_fromint(number); }

/** @return the number of a request, which is most often MPI_REQUEST_NULL after a wait. */
static inline MPI_Fint tmf_number_of_request(MPI_Request request) {
  uintptr_t address = (uintptr_t)request;
  return address < TMF_PREDEFINED ? (MPI_Fint)address : MPI_Request_toint(request);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file section.h
 * Buffers of the module mpi_f08 that are array sections. gfortran hands an assumed-rank dummy, as
 * `type(*), dimension(..)`, a descriptor of the array: struct tmf_array. The C function gets the
 * section as one element of a type that is made for the call, so no copy is made that a nonblocking
 * call would outlive.
 *
 * Rejected: ISO_Fortran_binding.h. Its descriptors come to subroutines with bind(C) only, and a
 * program that puts its own mpi_send_f08ts in front of ours could not be one of those.
 */
#ifndef TM_BINDINGS_SECTION_H
#define TM_BINDINGS_SECTION_H

#include <stdbool.h>

#include "tmpi/bindings/bindings.h"

enum { TMF_RANK_MAX = 15 };

/** As libgfortran of gfortran 9 and later has it. */
struct tmf_array {
  void *base;
  size_t offset;
  size_t element; /* bytes */
  int version;
  signed char rank, kind;
  short attribute;
  ptrdiff_t span; /* bytes that a stride of 1 moves */
  struct {
    ptrdiff_t stride, first, last;
  } dimensions[TMF_RANK_MAX]; /* of `rank` */
};

/** The arguments of the C function in place of a buffer, a count and a type. */
struct tmf_section {
  void *at;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Datatype made; /* to be freed; MPI_DATATYPE_NULL: nothing */
};

/** count elements of a type in an array. An array whose elements follow each other is taken as it
 * is. Of another one the type has to fill its bytes. @return type MPI_DATATYPE_NULL: that is not
 * so, or the array is too short; the call with it fails. A message has told why. */
struct tmf_section tmf_section(const struct tmf_array *array, MPI_Count count, MPI_Datatype type);
void tmf_section_end(struct tmf_section *section);

/** For a call that uses a buffer later, and whose count does not tell all elements, as that of
 * MPI_Iallreduce(). @return whether the array's elements follow each other; false: a message has
 * told that the call is refused. */
bool tmf_is_whole(const struct tmf_array *array, const char *function);
/** Raises MPI_ERR_BUFFER. @return it. */
int tmf_refuse_comm(MPI_Fint comm);
int tmf_refuse_win(MPI_Fint win);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file integer.h
 * What the Fortran bindings say of attributes beyond the standard's C functions. An attribute is an
 * integer in Fortran and an address in C: C finds one that Fortran set as the address of an
 * MPI_Aint, and Fortran finds one that C set as its address (MPI 4.1, 19.3.7). The bindings are
 * part of the program, and may run with another MPI library, which lacks these functions.
 * attribute.c has them.
 */
#ifndef TM_ATTR_INTEGER_H
#define TM_ATTR_INTEGER_H

#include <stdbool.h>

#include "tmpi/rank/export.h"

/** The class of the object that has attributes. */
enum tm_attributes_of { TM_OF_COMM, TM_OF_TYPE, TM_OF_WIN };

/** make: the attribute was set by Fortran just now. handle: valid, C's. @return whether the
 * attribute was set by Fortran. */
TM_EXPORT bool tm_attribute_of_fortran(enum tm_attributes_of of, void *handle, int keyval,
                                       bool make);

/** The functions of a valid key value are Fortran's: they get integers, and return them. Their
 * extra state is malloc()'s, and freed with the key value. */
TM_EXPORT void tm_keyval_of_fortran(int keyval);

#endif

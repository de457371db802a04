/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file handles.h
 * Handles as numbers; handles.c explains the table. tools/mpi/handles.py makes the functions of
 * MPI.
 */
#ifndef TM_FORTRAN_HANDLES_H
#define TM_FORTRAN_HANDLES_H

#include <mpi.h>

/** @param call for a message when memory runs out
 * @return the number of a handle; 0, which is no handle: no memory. */
int tm_handle_number(const char *call, void *handle);
/** The same for a request, which keeps its number. */
int tm_handle_number_of_request(const char *call, MPI_Request handle);
/** @return the handle of a number; NULL, which is no handle: no conversion returned that number. */
void *tm_handle_of(int number);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file code.h
 * Error classes and codes, and their texts. Those a program adds are its rank's own; all threads of
 * the rank may add some.
 */
#ifndef TM_ERROR_CODE_H
#define TM_ERROR_CODE_H

#include <stdbool.h>

#include "tmpi/mpi.h"

/** @return whether a code is one of the standard, or the calling rank has added it. Likewise all
 * below. */
bool tm_code_is_valid(int code);
/** Writes the text of a code. @return whether it is valid. */
bool tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]);
/** @return the class of a code; -1: it is not valid. */
int tm_code_class(int code);
/** @return the highest code in use, at an address that stays: an attribute. */
const int *tm_code_last(void);

/** Adds a code of a class; -1: a new class. @return the code, -1: no memory. */
int tm_code_add(int error_class);
/** Gives a code that was added a text, or (NULL) takes its text away. @return MPI_SUCCESS,
 * MPI_ERR_ARG (it was not added, or has no text) or MPI_ERR_NO_MEM. */
int tm_code_set_text(int code, const char *text);
/** Removes a code that was added and has no text, or a class that no code is of. @return false: it
 * is no such code. */
bool tm_code_remove(int code, bool is_class);

#endif

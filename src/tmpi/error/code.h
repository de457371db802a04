/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file code.h
 * Error classes and codes, and their texts. Those a program adds are its rank's own.
 */
#ifndef TM_ERROR_CODE_H
#define TM_ERROR_CODE_H

#include <stdbool.h>

#include "tmpi/mpi.h"

/* What a rank has added: code MPI_ERR_LASTCODE + 1 + i. */
struct tm_added_code {
  int error_class;
  char *text;
  bool removed;
};

struct tm_errors {
  int count;
  int last; /* the highest code */
  struct tm_added_code *of;
};

/** @return what the calling rank has added as a code, NULL: it has not. */
struct tm_added_code *tm_code_added(int code);
void tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]);
bool tm_code_is_valid(int code);
/** @return the highest code in use, at an address that stays: an attribute. */
const int *tm_code_last(void);

#endif

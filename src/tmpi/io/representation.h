/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file representation.h
 * Data representations of the program (MPI_Register_datarep). The program's functions convert
 * between memory and a buffer of the whole transfer, in the thread of the rank that calls: a
 * nonblocking access is performed before its call returns, for a thread of the library runs no code
 * of the program (a conversion may be in a language with one thread, or take a rank's whole stack).
 *
 * A transfer is converted by one call, from position 0 on. What is read may end before the
 * transfer does; only elements that are there as a whole are converted.
 */
#ifndef TM_IO_REPRESENTATION_H
#define TM_IO_REPRESENTATION_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/layout/type.h"

struct tm_rank;

typedef void tm_conversion(void); /* of either kind */

/** What a program has registered. Never changes, and lasts as long as its rank. */
struct tm_representation {
  struct tm_representation *next;
  char name[MPI_MAX_DATAREP_STRING];
  bool large;                  /* read and write take an MPI_Count */
  tm_conversion *read, *write; /* NULL: as in memory */
  MPI_Datarep_extent_function *extent;
  void *extra;
};

/** Basic elements: their number, and their bytes in memory and in a file. */
struct tm_items {
  size_t count, inside, outside;
  bool same; /* each has as many bytes here as there */
};

/** @return the calling rank's of that name; NULL: there is none. */
const struct tm_representation *tm_representation_find(const char *name);

/** @return whether there is a function for accesses of this kind: data are as in memory otherwise.
 */
static inline bool tm_representation_converts(const struct tm_representation *representation,
                                              bool out) {
  return (out ? representation->write : representation->read) != NULL;
}

/** Counts the items of an element of a type. @return false: the program's function has failed. */
bool tm_representation_items(const struct tm_representation *representation,
                             const struct tm_type *type, struct tm_items *items);

/** Counts the items of elements that lie in the first `bytes` of a file's buffer as a whole.
 * @return false: the program's function has failed. */
bool tm_representation_whole(const struct tm_representation *representation,
                             const struct tm_type *type, size_t count, size_t bytes,
                             struct tm_items *items);

/** Converts the first items of elements of a type. out: from memory to `file`.
 * @return false: the program's function has failed. */
bool tm_representation_convert(const struct tm_representation *representation, bool out,
                               void *memory, const struct tm_type *type, size_t items, void *file);

/* ---- what calls.table calls */

struct tm_registering {
  const char *call, *name;
  bool large;
  tm_conversion *read, *write;
  MPI_Datarep_extent_function *extent;
  void *extra;
};
int tm_call_register_datarep(const struct tm_registering *r);

#endif

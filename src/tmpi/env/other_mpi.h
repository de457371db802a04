/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file other_mpi.h
 * The names of libraries of other MPIs. For the auditor, too, which has no libc (audit/audit.c).
 */
#ifndef TM_ENV_OTHER_MPI_H
#define TM_ENV_OTHER_MPI_H

#include <stdbool.h>
#include <stddef.h>

/** @return the rest of a text behind its beginning; NULL: it begins otherwise. */
static inline const char *tm_behind(const char *text, const char *beginning) {
  while (*beginning != '\0' && *text == *beginning) text++, beginning++;
  return *beginning == '\0' ? text : NULL;
}

/** @return the name of a file without its folders. */
static inline const char *tm_file_name(const char *path) {
  const char *file = path;
  for (; *path != '\0'; path++)
    if (*path == '/') file = path + 1;
  return file;
}

/** @return whether a library of that name or path is another MPI, without the standard ABI. */
static inline bool tm_is_other_mpi(const char *path) {
  static const char *const beginnings[] = {"libmpi.so",       "libmpich.so",     "libmpi_cxx.so",
                                           "libmpicxx.so",    "libmpichcxx.so",  "libmpifort.so",
                                           "libmpichfort.so", "libmpi_mpifh.so", "libmpi_usempi"};
  const char *file = tm_file_name(path);
  for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
    if (tm_behind(file, beginnings[i]) != NULL) return true;
  return false;
}

#endif

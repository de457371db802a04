/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file info.h
 * Infos: keys and their values, in the order they were set.
 */
#ifndef TM_OBJECT_INFO_H
#define TM_OBJECT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "tmpi/mpi.h"

struct tm_info_entry {
  char key[MPI_MAX_INFO_KEY];
  char *value;
};

struct tm_info {
  uint32_t magic;
  int count;
  struct tm_info_entry *entries;
};

/** @return the info of a handle, NULL: no valid one. */
struct tm_info *tm_info_of(MPI_Info handle);
/** A copy; of NULL an empty one. @return NULL: no memory. */
struct tm_info *tm_info_copy(const struct tm_info *info);
/** The same, of hints that the standard has: others are not kept. */
struct tm_info *tm_info_hints(const struct tm_info *info);
/** @return the entry of a key, NULL: none. */
struct tm_info_entry *tm_info_find(const struct tm_info *info, const char *key);
/** Sets a key. @return false: no memory. */
bool tm_info_put(struct tm_info *info, const char *key, const char *value);
/** NULL: nothing. */
void tm_info_free(struct tm_info *info);

#endif

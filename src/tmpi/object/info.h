/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file info.h
 * Infos: keys and their values, in the order they were set.
 */
#ifndef TM_OBJECT_INFO_H
#define TM_OBJECT_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/mpi.h"
#include "tmpi/object/hash.h"

struct tm_info_entry {
  char key[MPI_MAX_INFO_KEY];
  char *value;
  struct tm_hash_node node;
  int slot; /* of its info */
};

/** Entries keep their slots, so that deleting one moves no other; a deleted one's is NULL. */
struct tm_info {
  uint32_t magic;
  int count;      /* entries */
  int used, room; /* slots used so far; slots there are */
  struct tm_info_entry **slots;
  struct tm_hash by_key;
};

/** @return the info of a handle, NULL: no valid one. */
struct tm_info *tm_info_of(MPI_Info handle);
/** @return whether a handle is neither an info's nor MPI_INFO_NULL. */
static inline bool tm_info_is_wrong(MPI_Info handle) {
  return handle != MPI_INFO_NULL && tm_info_of(handle) == NULL;
}
/** A copy; of NULL an empty one. @return NULL: no memory. */
struct tm_info *tm_info_copy(const struct tm_info *info);
/** The same, of hints that the standard has: others are not kept. */
struct tm_info *tm_info_hints(const struct tm_info *info);
/** @return the entry of a key, NULL: none. */
struct tm_info_entry *tm_info_find(const struct tm_info *info, const char *key);
/** @return the entry set as the nth of those there are, from 0 on. */
struct tm_info_entry *tm_info_nth(struct tm_info *info, int n);
/** Deletes an entry. */
void tm_info_remove(struct tm_info *info, struct tm_info_entry *entry);
/** Sets a key. @return false: no memory. */
bool tm_info_put(struct tm_info *info, const char *key, const char *value);
/** NULL: nothing. */
void tm_info_free(struct tm_info *info);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/override.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void tm_set_errno(int error) { errno = error; }

/* ---- the rows of all tables by name: a program asks for hundreds of names at its start, and to
 * compare each with all rows took a tenth of the instructions of a start of 64 ranks. */

enum { SLOTS = 1024 /* twice as many as there are rows, so that searches end soon */ };

static const struct tm_override *slots[SLOTS];

/* Of its ends and its middle: a byte at a time took a twentieth of the instructions of a start. */
static uint32_t hash_of(const char *name) {
  size_t length = strlen(name), word = sizeof(uint64_t);
  uint64_t first = length, middle = 0, last = 0;
  if (length >= word) {
    memcpy(&first, name, word);
    memcpy(&middle, name + (length - word) / 2, word);
    memcpy(&last, name + length - word, word);
  } else {
    memcpy(&last, name, length);
  }
  uint64_t sum = (first * 31 + middle) * 31 + last + length;
  return (uint32_t)(sum * 0x9e3779b97f4a7c15 >> 32);
}

/* The first slot that has the row of a name, or none. */
static const struct tm_override **slot_of(const char *name) {
  uint32_t at = hash_of(name) % SLOTS;
  while (slots[at] != NULL && strcmp(slots[at]->name, name) != 0) at = (at + 1) % SLOTS;
  return &slots[at];
}

/* The first of two rows of one name counts. */
static void fill(void) {
  static const struct tm_override *const tables[] = {
      tm_override_ending,   tm_override_threads,     tm_override_keys,
      tm_override_locks,    tm_override_blocking,    tm_override_waiting,
      tm_override_signals,  tm_override_shared,      tm_override_objects,
      tm_override_critical, tm_override_files,       tm_override_programs,
      tm_override_children, tm_override_environment, tm_override_streams,
      tm_override_unlocked, tm_override_carried,     tm_override_locales,
      tm_override_zone,     tm_override_timers,      tm_override_descriptors,
      tm_override_mappings, tm_override_wide,        tm_override_number,
      tm_override_forks,    tm_override_actions,     tm_override_cleanups,
      tm_override_arguments};
  int count = 0;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    for (const struct tm_override *row = tables[i]; row->name != NULL; row++) {
      const struct tm_override **slot = slot_of(row->name);
      if (*slot != NULL) continue;
      if (++count == SLOTS) abort(); /* a search would not end */
      *slot = row;
    }
}

const void *tm_override(const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT; /* ranks ask too, when they open objects */
  pthread_once(&once, fill);
  const struct tm_override *row = *slot_of(name);
  return row != NULL ? (const void *)(uintptr_t)row->function : NULL;
}

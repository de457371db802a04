/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/override.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void tm_set_errno(int error) { errno = error; }

const void *tm_override(const char *name) {
  static const struct tm_override *const tables[] = {
      tm_override_ending,      tm_override_threads,     tm_override_keys,    tm_override_locks,
      tm_override_blocking,    tm_override_waiting,     tm_override_signals, tm_override_shared,
      tm_override_objects,     tm_override_critical,    tm_override_files,   tm_override_programs,
      tm_override_children,    tm_override_environment, tm_override_streams, tm_override_unlocked,
      tm_override_carried,     tm_override_locales,     tm_override_zone,    tm_override_timers,
      tm_override_descriptors, tm_override_mappings,    tm_override_wide};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    for (const struct tm_override *row = tables[i]; row->name != NULL; row++)
      if (strcmp(row->name, name) == 0) return (const void *)(uintptr_t)row->function;
  return NULL;
}

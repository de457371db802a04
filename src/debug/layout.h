/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file layout.h
 * What the library tells debuggers of its structures, so that they can list threads
 * of a process or of a core without debug information (docs/design/009).
 *
 * An ELF note leads to it, which survives strip and static linking: section
 * .note.mltp, owner "MLTP", type MT_LAYOUT_VERSION; its descriptor is the distance,
 * 32 bits, from the descriptor itself to mt_layout in memory.
 *
 * Names of rows are the contract: readers look for those they need. A change of what
 * is here or of what a row means changes the version; a new row does not.
 */
#ifndef MT_DEBUG_LAYOUT_H
#define MT_DEBUG_LAYOUT_H

#include <stdint.h>

#include "debug/dump.h"

#define MT_LAYOUT_SECTION ".note.mltp"
#define MT_LAYOUT_OWNER "MLTP"
#define MT_LAYOUT_VERSION 1

/** One fact: "thread.id": offset and size of a field; "thread": size, 0; or what
 * layout.c says beside the row. */
struct mt_layout_row {
  char name[24];
  uint32_t value, more;
};

struct mt_layout {
  uint32_t version; /**< MT_LAYOUT_VERSION */
  uint32_t row_count;
  const void *runtime;                             /**< struct mt_runtime */
  const void *slabs;                               /**< struct mt_slab[2] */
  const struct mt_texts *kinds, *states, *reasons; /**< words by number */
  const struct mt_layout_row *rows;
};

extern const struct mt_layout mt_layout;

#endif

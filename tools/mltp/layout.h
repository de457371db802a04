/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file layout.h
 * What the libmltp of a stopped process says of its structures (src/debug/layout.h).
 */
#ifndef TOOLS_MLTP_LAYOUT_H
#define TOOLS_MLTP_LAYOUT_H

#include <elfutils/libdwfl.h>

#include "debug/layout.h"
#include "process.h"

/** Its structures and words; read what is in them with process_read(). */
struct layout {
  uint64_t runtime, slabs;
  struct words {
    char (*texts)[32];
    size_t count;
  } kinds, states, reasons;
  struct mt_layout_row *rows;
  size_t row_count;
};

/** Reads it out of a process whose modules dwfl knows. @return false after a message. */
bool layout_read(struct layout *layout, const struct process *process, Dwfl *dwfl);
void layout_free(struct layout *layout);

/** @return the row of that name, NULL: there is none. */
const struct mt_layout_row *layout_find(const struct layout *layout, const char *name);

/** @return the value of a row that must be there. */
uint32_t layout_value(const struct layout *layout, const char *name);

/** @return the field a row names of a structure copied to `from`, as a number. */
uint64_t layout_field(const struct layout *layout, const char *name, const void *from);

/** @return the word for a number, "?" when there is none. */
const char *layout_word(const struct words *words, uint64_t number);

#endif

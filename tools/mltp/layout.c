/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the note of libmltp in a process, and reading what it leads to. */
#include "layout.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

enum { ROWS_MAX = 1000, WORDS_MAX = 1000 }; /* more is no description of ours */

/* ---- the note */

struct search {
  const struct process *process;
  uint64_t found;   /* address of a struct mt_layout */
  uint32_t version; /* of a note we cannot read */
};

/* The notes of a segment that begins at `address` in the process. */
static void search_notes(struct search *search, Elf_Data *data, uint64_t address) {
  GElf_Nhdr header;
  size_t name_at, at, next;
  for (size_t offset = 0; (next = gelf_getnote(data, offset, &header, &name_at, &at)) > 0;
       offset = next) {
    int32_t distance;
    const char *owner = (const char *)data->d_buf + name_at;
    if (header.n_namesz != sizeof MT_LAYOUT_OWNER || strcmp(owner, MT_LAYOUT_OWNER) != 0) continue;
    if (header.n_type != MT_LAYOUT_VERSION || header.n_descsz != sizeof distance) {
      search->version = header.n_type;
      continue;
    }
    memcpy(&distance, (const char *)data->d_buf + at, sizeof distance);
    search->found = address + at + (uint64_t)(int64_t)distance;
  }
}

static int search_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr start,
                         void *arg) {
  struct search *search = arg;
  GElf_Addr bias;
  size_t count;
  Elf *elf = dwfl_module_getelf(module, &bias);
  (void)user, (void)name, (void)start;
  if (elf == NULL || elf_getphdrnum(elf, &count) != 0) return DWARF_CB_OK;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, (int)i, &segment) == NULL || segment.p_type != PT_NOTE) continue;
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
                                          segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data != NULL) search_notes(search, data, bias + segment.p_vaddr);
  }
  return search->found != 0 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* ---- what it leads to */

static bool read_words(struct words *words, const struct process *process,
                       const struct mt_texts *address) {
  struct mt_texts texts;
  const char *text;
  if (!process_read(process, (uintptr_t)address, &texts, sizeof texts) || texts.count > WORDS_MAX)
    return false;
  words->texts = calloc(texts.count, sizeof *words->texts);
  if (words->texts == NULL) return false;
  words->count = texts.count;
  for (size_t i = 0; i < texts.count; i++)
    if (process_read(process, (uintptr_t)(texts.texts + i), &text, sizeof text) && text != NULL)
      process_read_text(process, (uintptr_t)text, words->texts[i], sizeof *words->texts);
  return true;
}

static bool read_description(struct layout *layout, const struct process *process,
                             uint64_t address) {
  struct mt_layout theirs;
  if (!process_read(process, address, &theirs, sizeof theirs) || theirs.row_count > ROWS_MAX)
    return false;
  layout->runtime = (uintptr_t)theirs.runtime;
  layout->slabs = (uintptr_t)theirs.slabs;
  layout->row_count = theirs.row_count;
  layout->rows = calloc(theirs.row_count, sizeof *layout->rows);
  return layout->rows != NULL &&
         process_read(process, (uintptr_t)theirs.rows, layout->rows,
                      theirs.row_count * sizeof *layout->rows) &&
         read_words(&layout->kinds, process, theirs.kinds) &&
         read_words(&layout->states, process, theirs.states) &&
         read_words(&layout->reasons, process, theirs.reasons);
}

bool layout_read(struct layout *layout, const struct process *process, Dwfl *dwfl) {
  struct search search = {.process = process};
  memset(layout, 0, sizeof *layout);
  dwfl_getmodules(dwfl, search_module, &search, 0);
  if (search.found != 0 && read_description(layout, process, search.found)) return true;
  if (search.found != 0)
    message(
        "cannot read the libmltp of process %d: its memory makes no sense (is it just starting?)",
        (int)process->pid);
  else if (search.version != 0)
    message(
        "cannot read the libmltp of process %d: it is of another version than this command, %u "
        "and not %u (use the mltp command of that library)",
        (int)process->pid, search.version, MT_LAYOUT_VERSION);
  else
    message(
        "nothing to show of process %d: it does not use libmltp, or an older one (this "
        "command lists threads of libmltp)",
        (int)process->pid);
  layout_free(layout);
  return false;
}

void layout_free(struct layout *layout) {
  free(layout->rows);
  free(layout->kinds.texts);
  free(layout->states.texts);
  free(layout->reasons.texts);
  memset(layout, 0, sizeof *layout);
}

/* ---- asking it */

const struct mt_layout_row *layout_find(const struct layout *layout, const char *name) {
  for (size_t i = 0; i < layout->row_count; i++)
    if (strncmp(layout->rows[i].name, name, sizeof layout->rows[i].name) == 0)
      return &layout->rows[i];
  return NULL;
}

static const struct mt_layout_row *must_find(const struct layout *layout, const char *name) {
  const struct mt_layout_row *row = layout_find(layout, name);
  if (row != NULL) return row;
  message("cannot read that libmltp: it says nothing of %s (use the mltp command of that library)",
          name);
  exit(1); /* the kernel lets the process continue */
}

uint32_t layout_value(const struct layout *layout, const char *name) {
  return must_find(layout, name)->value;
}

uint64_t layout_field(const struct layout *layout, const char *name, const void *from) {
  const struct mt_layout_row *row = must_find(layout, name);
  uint64_t number = 0; /* little-endian, as all processors we run on */
  memcpy(&number, (const char *)from + row->value, row->more < 8 ? row->more : 8);
  return number;
}

const char *layout_word(const struct words *words, uint64_t number) {
  return number < words->count && words->texts[number][0] != '\0' ? words->texts[number] : "?";
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a program a rank is. The module of lines.h reads the program's debug information.
 * Without the module an address is printed as the file's name and an offset, which addr2line takes.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/program.h"
#include "core/internal/locks.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "tmpi/lines/lines.h"
#include "tmpi/loader/program.h"
#include "tmpi/report/location.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/process.h"

enum { FRAMES_MAX = 48, FILES_MAX = 200, SAMPLES = 5 /* of a thread that runs: it may poll */ };

static const struct tm_lines *lines; /* [ilock] NULL: not there */
static uint32_t ilock;               /* libdw is for one at a time; --check has many that tell */

static bool is_rank(const void *address) {
  return tm_program_rank_of(tm_the_program, address) >= 0;
}

static bool is_program(const void *address) {
  return is_rank(address) && !tm_program_in_bindings(tm_the_program, address);
}

/* The same place in the first rank's copy. */
static uintptr_t canonical(uintptr_t address) {
  int rank = tm_program_rank_of(tm_the_program, (const void *)address);
  return rank > 0 ? address - (size_t)rank * tm_the_program->slot : address;
}

/* ---- the module */

struct files {
  struct tm_lines_file of[FILES_MAX];
  size_t count;
};

/* A rank finds its own copies here, too; libdw would forget a file that is named twice. */
static int add_file(struct dl_phdr_info *info, size_t size, void *data) {
  struct files *files = data;
  (void)size;
  if (files->count == FILES_MAX) return 1;
  if (is_rank((const void *)info->dlpi_addr)) return 0;
  const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
  files->of[files->count++] = (struct tm_lines_file){path, info->dlpi_addr};
  return 0;
}

/* The first location to report loads it. The internal lock is held. */
static void find_module(void) {
  static bool tried;
  if (tried) return;
  tried = true;
  struct files files = {.count = 0};
  const struct tm_lines *found = tm_module("lines", "tm_lines");
  for (int i = 0; i < tm_the_program->image_count && files.count < FILES_MAX; i++) {
    const struct link_map *map = tm_program_map(tm_the_program, 0, i);
    files.of[files.count++] = (struct tm_lines_file){map->l_name, map->l_addr};
  }
  dl_iterate_phdr(add_file, &files);
  if (found != NULL && found->open(files.of, files.count)) lines = found;
}

/* ---- names */

/* The last symbol at or before an offset. */
static const struct tm_symbol *symbol_before(const struct tm_image *image, size_t offset) {
  const struct tm_symbol *best = NULL;
  for (size_t i = 0; i < image->export_count; i++) {
    const Elf64_Sym *symbol = image->exports[i].symbol;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_value > offset) continue;
    if (best == NULL || symbol->st_value > best->symbol->st_value) best = &image->exports[i];
  }
  return best;
}

static void name_by_symbols(char *text, size_t size, uintptr_t address) {
  const struct tm_program *program = tm_the_program;
  Dl_info info;
  for (int i = 0; i < program->image_count; i++) {
    const struct tm_image *image = program->images[i];
    size_t offset = address - tm_program_map(program, 0, i)->l_addr;
    if (offset >= image->span) continue;
    const struct tm_symbol *symbol = symbol_before(image, offset);
    const char *slash = strrchr(image->path, '/');
    snprintf(text, size, "%s+0x%zx (%s)", slash != NULL ? slash + 1 : image->path, offset,
             symbol != NULL ? symbol->name : "?");
    return;
  }
  if (dladdr((const void *)address, &info) == 0) info = (Dl_info){.dli_fname = "?"};
  const char *slash = strrchr(info.dli_fname, '/');
  snprintf(text, size, "%s+0x%lx (%s)", slash != NULL ? slash + 1 : info.dli_fname,
           (unsigned long)(address - (uintptr_t)info.dli_fbase),
           info.dli_sname != NULL ? info.dli_sname : "?");
}

static void name(char *text, size_t size, const void *place) {
  uintptr_t address = canonical((uintptr_t)place);
  mti_lock(&ilock);
  find_module();
  bool named = lines != NULL && lines->name(address, text, size);
  mti_unlock(&ilock);
  if (!named) name_by_symbols(text, size, address);
}

/* ---- backtraces */

static bool read_word(uintptr_t address, uintptr_t *word) {
  if (!mti_peek(word, (const void *)address, sizeof *word)) return false;
  *word = canonical(*word);
  return true;
}

/* By frame pointers, as far as they go. */
static int follow(uintptr_t frame, uintptr_t *frames, int most) {
  int count = 0;
  uintptr_t caller, address;
  while (count < most && read_word(frame, &caller) && read_word(frame + sizeof caller, &address) &&
         address != 0) {
    frames[count++] = address;
    if (caller <= frame) break;
    frame = caller;
  }
  return count;
}

/* Where a thread is, and what called it: by libdw, or by frame pointers. */
static int unwind(struct tm_lines_start *start, uintptr_t frame, uintptr_t *frames) {
  int count = 0;
  mti_lock(&ilock);
  find_module();
  if (lines != NULL && start->ip != 0) count = lines->unwind(start, frames, FRAMES_MAX);
  mti_unlock(&ilock);
  return count < 2 ? follow(frame, frames, FRAMES_MAX) : count;
}

static void print_frames(const uintptr_t *frames, int count, int most) {
  for (int i = 0; i < count; i++) {
    char text[256];
    if (i == most) {
      fputs("    ...\n", stderr);
      return;
    }
    name(text, sizeof text, (const void *)frames[i]);
    fprintf(stderr, "    #%-2d %s\n", i, text);
  }
}

/* From a frame of the library on. */
static int unwind_frame(uintptr_t at, uintptr_t *frames) {
  struct tm_lines_start start = {.sp = at + 2 * sizeof at, .read = read_word};
  if (!read_word(at, &start.bp) || !read_word(at + sizeof at, &start.ip)) start.ip = 0;
  return unwind(&start, at, frames);
}

static void trace(const void *frame, int most) {
  uintptr_t frames[FRAMES_MAX];
  int count = unwind_frame((uintptr_t)frame, frames);
  int first = 0; /* what the library does inside is not printed, but for the function called */
  while (first + 1 < count && !is_program((const void *)frames[first + 1])) first++;
  if (first + 1 >= count) first = 0;
  print_frames(frames + first, count - first, most);
}

/* ---- where a thread is now */

/* Of a name such as "PMPI_Test" or "__sleep". */
static void copy_callee(char *callee, size_t size, uintptr_t address) {
  Dl_info info;
  if (dladdr((const void *)(address - 1), &info) == 0 || info.dli_sname == NULL) return;
  const char *plain = info.dli_sname;
  if (strncmp(plain, "PMPI_", 5) == 0) plain++;
  snprintf(callee, size, "%s", plain + strspn(plain, "_"));
}

/* The first frame of the program, and the function that it calls. */
static const void *find_in(const uintptr_t *frames, int count, char *callee, size_t size) {
  for (int i = 0; i < count; i++) {
    if (!is_program((const void *)frames[i])) continue;
    int called = i - 1; /* in a library, perhaps by a subroutine for Fortran */
    while (called > 0 && is_rank((const void *)frames[called])) called--;
    if (called >= 0) copy_callee(callee, size, frames[called]);
    return (const void *)frames[i];
  }
  return NULL;
}

static const void *find(const struct mltp_thread *thread, char *callee, size_t size) {
  uintptr_t frames[FRAMES_MAX];
  struct mti_whereabouts where;
  callee[0] = '\0';
  if (!mti_whereabouts(&where, thread)) return NULL;
  if (where.task == 0)
    return find_in(frames, unwind_frame((uintptr_t)where.frame, frames), callee, size);
  const void *site = NULL;
  for (int i = 0; i < SAMPLES && strncmp(callee, "MPI_", 4) != 0; i++) {
    struct tm_sample sample;
    if (!tm_sample_begin(&sample, where.task)) break;
    struct tm_lines_start start = {canonical((uintptr_t)sample.ip), (uintptr_t)sample.sp,
                                   (uintptr_t)sample.bp, read_word};
    int count = unwind(&start, start.bp, frames);
    tm_sample_end();
    if (count > 0 && frames[0] == start.ip)
      frames[0]++; /* names are of calls, before the address */
    site = find_in(frames, count, callee, size);
  }
  return site;
}

bool tm_print_interrupted(const void *context, int most) {
  uintptr_t frames[FRAMES_MAX], frame = (uintptr_t)mt_arch_interrupted_frame(context), word;
  struct tm_lines_start start = {.ip = canonical((uintptr_t)mt_arch_instruction(context)),
                                 .sp = (uintptr_t)mt_arch_interrupted_stack(context),
                                 .bp = frame,
                                 .read = read_word};
  if (!mti_peek(&word, mt_arch_instruction(context), 1)) { /* it called what is no function */
    if (!read_word(start.sp, &start.ip)) return false;
    start.sp += sizeof word;
  }
  int count = unwind(&start, frame, frames);
  if (count == 0) return false;
  if (frames[0] == start.ip) frames[0]++; /* names are those of calls, before the address */
  print_frames(frames, count, most);
  return true;
}

void tm_locations_start(void) {
  static const struct tm_locations places = {is_program, name, trace, find};
  tm_locations_set(&places);
}

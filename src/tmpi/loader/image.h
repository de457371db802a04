/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file image.h
 * An ELF file of the program: read and checked once, then placed once for each rank.
 *
 * All offsets are from the image's first byte in memory. `pristine` is a copy of the image as it
 * lies there before it runs, with a page of zeroes behind it: tables are read from it, and the
 * writable part of each rank's copy is made from it. Whatever a file says is checked against its
 * bounds before it is followed.
 */
#ifndef TM_LOADER_IMAGE_H
#define TM_LOADER_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TM_SEGMENTS_MAX = 16 };

/** A loadable part of the file. */
struct tm_segment {
  size_t start, file_end, end; /* offsets in memory; from file_end on it is zero */
  size_t file_offset;
  bool writable, executable;
};

/** A table of the dynamic section. */
struct tm_table {
  size_t at, size; /* offset and bytes; size 0: absent */
};

/** A symbol that others may refer to. */
struct tm_symbol {
  const char *name;
  const Elf64_Sym *symbol;
};

struct tm_image {
  char *path;
  int fd;
  char *pristine;
  size_t span; /* bytes in memory, a multiple of the page size */
  struct tm_segment segments[TM_SEGMENTS_MAX];
  int segment_count;
  size_t entry;
  bool is_executable; /* has a program interpreter */

  const Elf64_Dyn *dynamic;
  size_t dynamic_count;
  struct tm_table strings, symbols, relocations, plt_relocations, relative, versions;
  size_t init; /* offset of a function; 0: none */
  size_t fini;
  struct tm_table preinit_array, init_array, fini_array;
  size_t tls_start, tls_file_size, tls_size, tls_align; /* size 0: no thread-locals */
  size_t unwind;                                        /* offset of .eh_frame_hdr; 0: none */
  size_t headers, header_count;                         /* program headers, in memory */

  struct tm_symbol *exports; /* by name */
  size_t export_count;
  size_t symbol_count;
  const char **wanted_versions; /* by the number in `versions`; NULL: any */

  size_t place;     /* offset in a rank's slot */
  size_t tls_place; /* likewise of its thread-locals */
};

/** Reads a file and checks it. @return it, or NULL after a message. */
struct tm_image *tm_image_read(const char *path);

/** Frees it. @return NULL. */
struct tm_image *tm_image_drop(struct tm_image *image);

/** @return the text at an offset of the string table; "" where there is none. */
const char *tm_image_string(const struct tm_image *image, size_t offset);

/** @return whether size bytes at an offset lie inside the image. */
bool tm_image_inside(const struct tm_image *image, size_t offset, size_t size);

/** @return whether they come from the file, in one piece: as tables do, which are searched. */
bool tm_image_in_file(const struct tm_image *image, size_t offset, size_t size);

/** @return whether they lie in one part that the program may write to: what relocations change. */
bool tm_image_writable(const struct tm_image *image, size_t offset, size_t size);

/** @return what the image defines under that name, or NULL. */
const Elf64_Sym *tm_image_find(const struct tm_image *image, const char *name);

/** @return the version of a symbol the image asks others for; NULL: any. */
const char *tm_image_version(const struct tm_image *image, size_t index);

/** @return the function it shows others that an offset lies in; "": none. */
const char *tm_image_name_at(const struct tm_image *image, size_t offset);

/** symbols.c: finds and checks its symbols, when all else has been read. @return false after a
 * message. */
bool tm_image_read_symbols(struct tm_image *image);

/** @return the value of an entry of the dynamic section; 0: it has none. */
size_t tm_image_dynamic(const struct tm_image *image, Elf64_Sxword tag);

/** Says that a file is damaged. @return false. */
bool tm_damaged(const char *path, const char *what);

/** Says why a file cannot be run: what, then in brackets what to do. @return false. */
bool tm_refuse(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

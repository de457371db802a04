/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file image.h
 * An ELF file of the program: read and checked once, then placed once for each rank.
 *
 * All offsets are from the image's first byte in memory. `pristine` shows the image as it lies
 * there before it runs, with a page of zeroes behind it: tables are read from it, and the writable
 * part of each rank's copy is made from it. Its read-only parts are mapped from the file. Whatever
 * a file says is checked against its bounds before it is followed.
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
  const char *version; /* NULL: none */
  bool old;            /* only for callers that ask for its version: there is a newer one */
  uint32_t hash;
  uint32_t next; /* in its bucket: index plus 1; 0: the last one */
};

/** A symbol that is looked for. */
struct tm_wanted {
  const char *name;
  const char *version; /* NULL: any */
  uint32_t hash;
};

struct tm_image;

/** What one entry DT_NEEDED leads to: another image, or a library that all ranks share. */
struct tm_need {
  struct tm_image *image; /* NULL: shared */
  void *shared;           /* of dlopen() */
};

struct tm_image {
  char *path;
  char *name; /* by which it is needed; NULL: by none */
  int fd;
  uint64_t device, inode; /* two spellings of one file are one library */
  uint64_t stamp;         /* of the content that was read */
  char *pristine;
  size_t span;  /* bytes in memory, a multiple of the page size */
  size_t align; /* of its first byte in memory: a page or more */
  struct tm_segment segments[TM_SEGMENTS_MAX];
  int segment_count;
  size_t entry;
  bool is_executable;      /* has a program interpreter */
  bool runs_code_on_stack; /* it asks for executable stacks */
  bool is_symbolic;        /* linked with -Bsymbolic: it looks at itself first */

  const Elf64_Dyn *dynamic;
  size_t dynamic_count;
  struct tm_table strings, symbols, relocations, plt_relocations, relative, versions;
  size_t init; /* offset of a function; 0: none */
  size_t fini;
  struct tm_table preinit_array, init_array, fini_array;
  size_t tls_start, tls_file_size, tls_size, tls_align; /* size 0: no thread-locals */
  size_t unwind;                                        /* offset of .eh_frame_hdr; 0: none */
  size_t headers, header_count;                         /* program headers, in memory */
  size_t bindings, bindings_size; /* code of the subroutines for Fortran; size 0: none */

  struct tm_symbol *exports;
  uint32_t *buckets; /* of exports: index plus 1; 0: empty */
  size_t export_count, bucket_count;
  size_t symbol_count;
  const char **version_names; /* by the number in `versions`; NULL: the file has none */
  size_t version_count;

  const struct tm_image *needed_by; /* the first image that needs it; NULL: the application */
  struct tm_need *needs;            /* in the order of the dynamic section */
  size_t need_count;

  size_t place;          /* offset in a rank's slot */
  size_t tls_place;      /* likewise of its thread-locals */
  struct link_map *maps; /* of its copies, by rank */
  uint8_t *opened; /* [atomic] by rank: whether it has opened the image; NULL: all have it from the
                      start */
  bool placing;    /* open.c: on the way to what it needs */
  bool warned_missing; /* open.c: that it names functions of MPI which tmpi does not have */
};

/** Reads a file and checks it. @return it, or NULL after a message. */
struct tm_image *tm_image_read(const char *path);

/** Gives an image back, unchanged, for the next tm_image_read() of its path: tmpirun looks into the
 * program before it knows that ranks run it. By main, before there are ranks. */
void tm_image_keep(struct tm_image *image);

/** @return whether its file was written to since it was read. Async-signal-safe. */
bool tm_image_has_changed(const struct tm_image *image);

/** Frees it. @return NULL. */
struct tm_image *tm_image_drop(struct tm_image *image);

/** @return the text at an offset of the string table; "" where there is none. */
const char *tm_image_string(const struct tm_image *image, size_t offset);

/** @return whether size bytes at an offset lie inside the image. */
bool tm_image_inside(const struct tm_image *image, size_t offset, size_t size);

/** notes.c: reads a segment of notes; what makes no sense is passed over. */
void tm_image_read_notes(struct tm_image *image, size_t at, size_t size);

/** @return whether they come from the file, in one piece: as tables do, which are searched. */
bool tm_image_in_file(const struct tm_image *image, size_t offset, size_t size);

/** @return whether they lie in one part that the program may write to: what relocations change. */
bool tm_image_writable(const struct tm_image *image, size_t offset, size_t size);

/** @return whether a rank has a copy of the image. */
bool tm_image_is_loaded(const struct tm_image *image, int rank);

/** Prepares a search. version: NULL is any. */
struct tm_wanted tm_want(const char *name, const char *version);

/** Returns the symbol that the image defines, by the rules of ld.so(8) for versions; NULL: none. */
const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted);

/** @return whether the image asks others for a symbol. */
bool tm_image_asks(const struct tm_image *image, const char *name);

/** @return the version of a symbol the image asks others for; NULL: any. */
const char *tm_image_version(const struct tm_image *image, size_t index);

/** @return the function it shows others that an offset lies in; "": none. */
const char *tm_image_name_at(const struct tm_image *image, size_t offset);

/** symbols.c: finds and checks its symbols, when all else has been read. @return false after a
 * message. */
bool tm_image_read_symbols(struct tm_image *image);

/** @return the value of an entry of the dynamic section; 0: it has none. */
size_t tm_image_dynamic(const struct tm_image *image, Elf64_Sxword tag);

/** @return the string that such an entry names; NULL: it has none. */
const char *tm_image_dynamic_string(const struct tm_image *image, Elf64_Sxword tag);

/** @return whether its thread-locals are at fixed distances from the thread pointer. */
bool tm_image_has_static_tls(const struct tm_image *image);

/** Says that a file is damaged. @return false. */
bool tm_damaged(const char *path, const char *what);

/** Says why a file cannot be run: what, then in brackets what to do. @return false. */
bool tm_refuse(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { TM_REFUSAL = 512 };
/** From now on tm_refuse() writes into text, of TM_REFUSAL bytes; NULL: to stderr, as at first. */
void tm_refuse_into(char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file code_note.h
 * Where the subroutines for Fortran lie in the program or library that they are linked into. They
 * are code of ours: a report of a call names the caller in Fortran, not the subroutine, whose lines
 * tell a user nothing.
 *
 * Their code has a section of its own (CMakeLists.txt gives it the name), whose start and end the
 * linker knows. A note holds both as distances from where they are stored. Programs without symbols
 * keep the note. Each object file of the subroutines has one, since a program may need any of them
 * alone; all notes of a program say the same. In a group of sections, of which the linker keeps
 * one, a note would be lost with --gc-sections.
 */
#ifndef TM_BINDINGS_CODE_NOTE_H
#define TM_BINDINGS_CODE_NOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TMF_CODE_OWNER "TMPI"
#define TMF_CODE_TYPE 1

/** The note; sizes: of the owner's name and of the two distances. */
#define TMF_CODE_NOTE()                                                                            \
  __asm__(                                                                                         \
      ".pushsection .note.tmpi, \"a\", @note\n"                                                    \
      ".balign 4\n"                                                                                \
      ".long 5, 8, 1\n"                                                                            \
      ".asciz \"" TMF_CODE_OWNER                                                                   \
      "\"\n"                                                                                       \
      ".balign 4\n"                                                                                \
      ".hidden __start_tmpi_fortran\n"                                                             \
      ".hidden __stop_tmpi_fortran\n"                                                              \
      ".long __start_tmpi_fortran - ., __stop_tmpi_fortran - .\n"                                  \
      ".popsection")

/** Reads the notes of an object that lies at `base`, `size` bytes from `at` on. What makes no sense
 * is passed over. @return whether one is ours; *start and *end: where the code is, counted from
 * base as `at` is. */
static inline bool tmf_code_find(const char *base, size_t at, size_t size, size_t *start,
                                 size_t *end) {
  enum { ALIGN = 4 };
  Elf64_Nhdr note;
  for (size_t last = at + size; last - at >= sizeof note;) {
    memcpy(&note, base + at, sizeof note);
    size_t name = at + sizeof note;
    size_t value = name + ((note.n_namesz + (size_t)ALIGN - 1) & ~(size_t)(ALIGN - 1));
    size_t next = value + ((note.n_descsz + (size_t)ALIGN - 1) & ~(size_t)(ALIGN - 1));
    int32_t distance[2];
    if (next > last || next <= at) return false;
    if (note.n_type == TMF_CODE_TYPE && note.n_namesz == sizeof TMF_CODE_OWNER &&
        note.n_descsz == sizeof distance &&
        memcmp(base + name, TMF_CODE_OWNER, sizeof TMF_CODE_OWNER) == 0) {
      memcpy(distance, base + value, sizeof distance); /* each from where it is stored */
      *start = value + (size_t)(ptrdiff_t)distance[0];
      *end = value + sizeof distance[0] + (size_t)(ptrdiff_t)distance[1];
      return *end > *start;
    }
    at = next;
  }
  return false;
}

#endif

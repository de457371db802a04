/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file code_note.h
 * Where the subroutines for Fortran lie in the program or library that they are linked into. They
 * are code of ours: a report of a call names the caller in Fortran, not the subroutine, whose lines
 * tell a user nothing.
 *
 * Their code has a section of its own (CMakeLists.txt gives it the name), whose start and end the
 * linker knows. A note holds both as distances from where they are stored. Programs without symbols
 * keep the note.
 */
#ifndef TM_BINDINGS_CODE_NOTE_H
#define TM_BINDINGS_CODE_NOTE_H

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

#endif

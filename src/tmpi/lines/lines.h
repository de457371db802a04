/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lines.h
 * Functions, files and lines of addresses, and unwinding, by elfutils' libdw. This module may be
 * absent. tmpirun loads it when there is a location to report, so that no other run pays for it.
 * Each rank's copy of the program is the same, so all addresses are given as those of one copy.
 */
#ifndef TM_LINES_LINES_H
#define TM_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A file, and where it lies. */
struct tm_lines_file {
  const char *path;
  uintptr_t base;
};

/** Where to begin, and how to read. */
struct tm_lines_start {
  uintptr_t ip, sp, bp;
  /** Reads a word of the stack. @return false: it is not there. */
  bool (*read)(uintptr_t address, uintptr_t *word);
};

struct tm_lines {
  /** @return false: libdw cannot read the files. Once. */
  bool (*open)(const struct tm_lines_file *files, size_t count);
  /** Writes "ring.c:12 (main)", or what of it is known, of the call that returns to an address.
   * @return false: nothing is. */
  bool (*name)(uintptr_t address, char *text, size_t size);
  /** Fills frames with return addresses, the given one first. @return how many. */
  int (*unwind)(const struct tm_lines_start *start, uintptr_t *frames, int most);
};

/** The module's one symbol. */
extern __attribute__((visibility("default"))) const struct tm_lines tm_lines;

#endif

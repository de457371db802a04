/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file location.h
 * Locations in a program: which address is the program's, its function and line, and its backtrace.
 * The loader of the program knows best: tmpirun, or the dynamic linker for a program that started
 * by itself.
 */
#ifndef TM_REPORT_LOCATION_H
#define TM_REPORT_LOCATION_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/rank/rank.h"

struct tm_locations {
  /** @return whether an address lies in the program, or in a library of its own, and not in our
   * subroutines for Fortran. */
  bool (*is_program)(const void *address);
  /** Writes where a call that returns to an address is: "ring.c:12 (main)". */
  void (*name)(char *text, size_t size, const void *address);
  /** Prints the frames from one on, each with four spaces before it. */
  void (*trace)(const void *frame, int most);
  /** Finds where in the program a thread is that no call of MPI makes wait, and writes the name of
   * the function of a library that it calls there: "" for none. @return that address, as of a call;
   * NULL: not known. Not in a signal handler. */
  const void *(*find)(const struct mltp_thread *thread, char *callee, size_t size);
};

/** From now on these know. */
TM_EXPORT void tm_locations_set(const struct tm_locations *places);

/** @return the address in the program that a call of the library returns to; frame: of the
 * library. NULL: not found. */
const void *tm_location_call_site(const void *frame);

/** @return site, where a call returns to; if that is a subroutine for Fortran, where this returns
 * to. frame: of the library, in that call. */
TM_EXPORT const void *tm_location_caller(const void *site, const void *frame);

TM_EXPORT void tm_location_name(char *text, size_t size, const void *address);
void tm_location_trace(const void *frame, int most);

/** As of struct tm_locations; NULL where the loader does not know. */
const void *tm_location_find(const struct mltp_thread *thread, char *callee, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file place.h
 * Places in a program: which address is the program's, what is there, and the way to it. Who has
 * loaded the program knows best: tmpirun says it; of a program that started by itself the dynamic
 * linker does.
 */
#ifndef TM_RANK_PLACE_H
#define TM_RANK_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/rank/rank.h"

struct tm_places {
  /** @return whether an address lies in the program, or in a library of its own. */
  bool (*is_program)(const void *address);
  /** Writes where a call that returns to an address is: "ring.c:12 (main)". */
  void (*name)(char *text, size_t size, const void *address);
  /** Prints the frames from one on, each with four spaces before it. */
  void (*trace)(const void *frame);
};

/** From now on these know. */
TM_SHOWN void tm_places_are(const struct tm_places *places);

/** @return the address in the program that a call of the library returns to; frame: of the
 * library. NULL: not found. */
const void *tm_place_site(const void *frame);

TM_SHOWN void tm_place_name(char *text, size_t size, const void *address);
void tm_place_trace(const void *frame);

#endif

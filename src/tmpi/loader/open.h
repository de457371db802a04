/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file open.h
 * dlopen() and variants for ranks: a library that a rank opens is one more image in its slot.
 *
 * An image has the same place in the slots of all ranks, whichever opens it first. It stays until
 * the rank ends: dlclose() only counts, as POSIX allows.
 *
 * Protocol: images are added, and copies placed, under one lock. Others may look at the first
 * visible_count images at any time (OB-2), and at a rank's copy once opened[rank] is set (OB-4).
 */
#ifndef TM_LOADER_OPEN_H
#define TM_LOADER_OPEN_H

#include "tmpi/loader/program.h"

enum { TM_OPEN_LOCALS = 64 << 10 /* bytes for thread-locals of objects that are opened */ };

/** What a rank has opened. */
struct tm_opened {
  int *order; /* [lock] numbers of images, in the order of their constructors */
  int count, room;
  char error[TM_REFUSAL]; /* of dlerror(), for the rank's own thread; "": none */
};

/** Prepares for objects that ranks open, if the program calls dlopen(). @return false after a
 * message. */
bool tm_open_prepare(struct tm_program *program);

/** @return bytes of address space that a slot has for them. */
size_t tm_open_room(int ranks);

/** Opens an object for a rank and runs its constructors. from: the image that asks. @return the
 * handle; NULL, and why[] says why; *shared: ranks share it, and its path is in where. */
struct link_map *tm_open(struct tm_program *program, int rank, struct tm_image *from,
                         const char *name, int mode, bool *shared, char *where,
                         char why[TM_REFUSAL]);

/** @return the image of a rank's handle; NULL: it is none of the rank's. */
struct tm_image *tm_open_image(const struct tm_program *program, int rank, const void *handle);

/** A search for a symbol: in the images that a rank has from the start and in those it has opened
 * with RTLD_GLOBAL; after: only behind this image; NULL: in all. */
void *tm_open_find_global(const struct tm_program *program, int rank, const struct tm_image *after,
                          const struct tm_wanted *wanted);

/** The same, in an image and what it needs. */
void *tm_open_find_in(const struct tm_program *program, int rank, const struct tm_image *image,
                      const struct tm_wanted *wanted);

/** Makes the copies of ranks that are to be added to the job, while no rank opens an object. If
 * they are not added after all, others may get their numbers. present: how many ranks have copies.
 * @return false: why says what failed. */
bool tm_open_place_ranks(struct tm_program *program, int first, int count, int present,
                         char why[TM_REFUSAL]);

/** The rank is added: lists its copies for debuggers. */
void tm_open_list_rank(const struct tm_program *program, int rank);

/** Runs the destructors of what a rank has opened, the last one first. */
void tm_open_destruct(const struct tm_program *program, int rank);

#endif

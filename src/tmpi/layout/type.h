/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file type.h
 * Datatypes: where the bytes of an element are. A type is flattened when it is made, into pieces
 * in the order of its type map; neighbours that touch are one piece, and pieces of one length at
 * equal distances are one block, so that a vector is one, however long. Many elements of several
 * blocks, such as structures, are the blocks of one, repeated. Packed, an element is its pieces one
 * after the other. Types are never changed once made, but for name and attributes, so
 * that ranks may copy from type to type; a type is freed when its last user is gone.
 *
 * Rejected: a tree of loops (smaller for vectors of vectors, slower for all others).
 */
#ifndef TM_LAYOUT_TYPE_H
#define TM_LAYOUT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tmpi/mpi.h"
#include "tmpi/rank/export.h"
#include "tmpi/rank/handle.h"

/** What a predefined type is to an operation. */
enum tm_basic {
  TM_NO_BASIC, /**< a derived type */
  TM_INT8,
  TM_INT16,
  TM_INT32,
  TM_INT64,
  TM_INT128,
  TM_UINT8,
  TM_UINT16,
  TM_UINT32,
  TM_UINT64,
  TM_FLOAT,
  TM_DOUBLE,
  TM_LONG_DOUBLE,
  TM_QUAD, /**< IEEE's quadruple precision: Fortran's REAL*16 */
  TM_COMPLEX,
  TM_DOUBLE_COMPLEX,
  TM_LONG_DOUBLE_COMPLEX,
  TM_QUAD_COMPLEX,
  TM_BOOL,    /**< one byte, C's */
  TM_LOGICAL, /**< four bytes, Fortran's */
  TM_BYTE,
  TM_CHARACTER, /**< text: no arithmetic */
  TM_FLOAT_INT,
  TM_DOUBLE_INT,
  TM_LONG_INT,
  TM_INT_INT,
  TM_SHORT_INT,
  TM_LONG_DOUBLE_INT,
  TM_FLOAT_FLOAT,
  TM_DOUBLE_DOUBLE
};

/** Pieces: bytes that lie together. */
struct tm_block {
  ptrdiff_t at;     /* of the first, from the address given for the element */
  size_t length;    /* of each */
  size_t count;     /* of pieces */
  ptrdiff_t stride; /* from one to the next; 0 if there is one only */
};

/** How the numbers of a basic element are written outside of memory; external.c. */
enum tm_external {
  TM_EXT_1, /**< as many bytes as in memory */
  TM_EXT_2,
  TM_EXT_4,
  TM_EXT_8,
  TM_EXT_16,
  TM_EXT_LONG,
  TM_EXT_ULONG,
  TM_EXT_WCHAR,
  TM_EXT_QUAD /**< a long double */
};

/** A run of basic elements of one size, which MPI_Get_elements() counts. */
struct tm_run {
  size_t size, count;
  enum tm_external external;
};

/** How a type was made: MPI_Type_get_contents() tells it. derive.h fills it. */
struct tm_recipe {
  bool failed; /* there was no memory for some of it */
  MPI_Count integer_count, address_count, large_count, type_count;
  int *integers;
  MPI_Aint *addresses;
  MPI_Count *large_counts;
  struct tm_type **types; /* each holds a reference */
};

struct tm_type {
  uint32_t magic; /* TM_TYPE_MAGIC */
  uint32_t refs;  /* [atomic] of derived ones: handles, requests, types made of it */
  bool predefined;
  bool committed;
  bool lasting;              /* derived, and never freed: MPI_Type_create_f90_real() and variants */
  bool dense;                /* one piece, and the next element's follows at once */
  bool too_large;            /* while it is made: its size would wrap */
  bool lb_marked, ub_marked; /* the program has given the bound: MPI_Type_create_resized(), MPI_LB
                                and MPI_UB. A type made of it has only such bounds. */
  uint8_t basic;             /* enum tm_basic */
  size_t size;               /* bytes of data in an element */
  ptrdiff_t lb, ub;          /* bounds; ub - lb is the extent */
  ptrdiff_t true_lb, true_ub;
  size_t align;
  struct tm_block *blocks;
  size_t block_count, block_room;
  size_t repeats;   /* of all blocks, each `period` bytes after the last */
  ptrdiff_t period; /* if it repeats */
  struct tm_run *runs;
  size_t run_count, run_room;
  size_t run_repeats; /* of all runs */
  const char *predefined_name;
  char *name;                       /* [rank] given by MPI_Type_set_name(); NULL: none */
  struct tm_attributes *attributes; /* [rank] */

  int combiner;
  struct tm_recipe recipe;
};

enum { TM_TYPE_MAGIC = 0x717e };

/** @return bytes of data in one repetition of the runs. */
static inline size_t tm_type_run_bytes(const struct tm_type *type) {
  return type->size / type->run_repeats;
}

/** Numbers of the ABI that are handles of predefined types. */
enum { TM_PREDEFINED_FIRST = 0x200, TM_PREDEFINED_COUNT = 0x100 };

/** The predefined types, by handle; without a magic number there is none. predefined.c has them. */
TM_EXPORT extern struct tm_type tm_predefined[TM_PREDEFINED_COUNT];

/** @return the type of a handle, NULL: no valid one. Inline: each message looks for its type. */
static inline struct tm_type *tm_type_of(MPI_Datatype handle) {
  uintptr_t index = (uintptr_t)handle - TM_PREDEFINED_FIRST;
  struct tm_type *type = (struct tm_type *)handle;
  if (index < TM_PREDEFINED_COUNT)
    type = &tm_predefined[index];
  else if (!tm_handle_is_address(handle))
    return NULL;
  return type->magic == TM_TYPE_MAGIC ? type : NULL;
}
/** @return the handle of a type. */
TM_EXPORT MPI_Datatype tm_type_handle(const struct tm_type *type);

void tm_type_hold(struct tm_type *type);
void tm_type_release(struct tm_type *type);

/** A derived type to be filled by tm_type_add(). NULL: no memory. */
struct tm_type *tm_type_new(int combiner);
/** Adds count elements of old, the first at displacement at. @return false: no memory. */
bool tm_type_add(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t count);
/** Adds rows of `length` elements each, `stride` bytes from one to the next. @return false: no
 * memory. */
bool tm_type_add_rows(struct tm_type *type, const struct tm_type *old, ptrdiff_t at, size_t length,
                      size_t rows, ptrdiff_t stride);
/** No more elements will come: what follows from them is computed. pad: as a C structure's. */
void tm_type_finish(struct tm_type *type, bool pad);

static inline ptrdiff_t tm_type_extent(const struct tm_type *type) { return type->ub - type->lb; }

/* ---- copy.c; all sizes are of packed data, in bytes */

/** tm_type_copy() where one of the types has gaps. */
void tm_type_copy_pieces(void *to, const struct tm_type *to_type, const void *from,
                         const struct tm_type *from_type, size_t bytes);
/** Copies bytes from elements of one type to elements of another. */
static inline void tm_type_copy(void *to, const struct tm_type *to_type, const void *from,
                                const struct tm_type *from_type, size_t bytes) {
  if (bytes == 0) return;
  if (to_type->dense && from_type->dense)
    memmove((char *)to + to_type->blocks[0].at, (const char *)from + from_type->blocks[0].at,
            bytes);
  else
    tm_type_copy_pieces(to, to_type, from, from_type, bytes);
}
/** Packs bytes, leaving out the first `skip`. */
void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes);
void tm_type_unpack(void *to, const struct tm_type *type, size_t skip, const void *from,
                    size_t bytes);
/** @return whether the data of elements lie in one piece that begins at the buffer's address. */
static inline bool tm_type_is_flat(const struct tm_type *type) {
  return type->dense && type->true_lb == 0;
}

/** A piece of the bytes of elements. */
struct tm_piece {
  uint64_t at, bytes;
};

/** Lists the pieces of elements at an address from packed byte `skip` on, up to `room` of them.
 * *bytes: how many to cover; gets how many are. @return the number of pieces. */
size_t tm_type_pieces(struct tm_piece *pieces, size_t room, const void *address,
                      const struct tm_type *type, size_t skip, size_t *bytes);

/** @return the number of basic elements in `bytes`; *rest: bytes of one that is not complete. */
size_t tm_type_elements(const struct tm_type *type, size_t bytes, size_t *rest);

#endif

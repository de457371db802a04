/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles as numbers, for languages whose handles are ints.
 *
 * A predefined handle is its own number. Any other handle is an address. It gets the next number at
 * its first conversion, and keeps that for good. So freeing an object needs no call here; a new
 * object at its address takes over its number. All ranks share one table, since objects are in one
 * heap. The table is as large as the largest number of addresses that were ever converted.
 *
 * A conversion of a handle that has a number takes no lock: each call of a Fortran program converts
 * several. An address that has a number does not move, since a full block of addresses is followed
 * by one of twice the size. The table of numbers by address is replaced by a larger one, and the
 * smaller ones stay, because a reader may be in one. It then misses numbers that are new, and looks
 * again under the lock. mpi.handles explores this, by ranks and threads at once.
 *
 * A request keeps its number, since programs convert most of all requests.
 *
 * Relaxed: under ilock, or behind an acquire of the same slot (FH-1); a request's number, which
 * each thread would find anew.
 *
 * Rejected: a number in each object, given back when it is freed (nine kinds of objects would have
 * to do so, and their constructors would have to look for a free number).
 */
#include "tmpi/fortran/handles.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/mailbox.h"

enum { PREDEFINED = 0x1000, FIRST_ROOM_LOG2 = 10, FIRST_ROOM = 1 << FIRST_ROOM_LOG2, BLOCKS = 20 };

/* By address. */
struct table {
  const struct table *smaller; /* [const] the one before */
  uint32_t mask;               /* [const] slots, less 1: more than twice the room for addresses */
  uint32_t slots[];            /* [atomic] index + 1; 0: free */
};

static uint32_t ilock;
static void **blocks[BLOCKS]; /* [ilock] addresses by index: the first 1024, then twice as many */
static uint32_t room;         /* [ilock] addresses that fit into the blocks */
static uint32_t count;        /* [atomic] addresses that have an index; written under ilock */
static struct table *table;   /* [atomic] written under ilock; NULL: none yet */

/* The place of an address: block b begins at index FIRST_ROOM * (2^b - 1). */
static void **place(uint32_t index) {
  uint32_t from_first = index + FIRST_ROOM;
  int block = 31 - __builtin_clz(from_first) - FIRST_ROOM_LOG2;
  return &blocks[block][from_first - ((uint32_t)FIRST_ROOM << block)];
}

static uint32_t hash(const void *address) {
  return (uint32_t)(((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u >> 32);
}

/* The slot that has the address, or the free one where it belongs. *taken: what it held, since
 * without the lock a free one may be another address's a moment later. */
static uint32_t *find(struct table *in, const void *address, uint32_t *taken) {
  for (uint32_t at = hash(address) & in->mask;; at = (at + 1) & in->mask) {
    *taken = mt_load_acquire(&in->slots[at]); /* FH-1 acquire: pairs FH-2 */
    if (*taken == 0 || *place(*taken - 1) == address) return &in->slots[at];
  }
}

/* Makes room for another address. Under ilock. @return false: no memory. */
static bool grow(void) {
  const struct table *old = mt_load_relaxed(&table);
  int block = 0;
  while (block < BLOCKS && blocks[block] != NULL) block++;
  if (block == BLOCKS) return false;
  uint32_t added = (uint32_t)FIRST_ROOM << block, slots = 4 * added;
  struct table *larger = calloc(1, sizeof *larger + slots * sizeof larger->slots[0]);
  void **more = malloc(added * sizeof *more);
  if (larger == NULL || more == NULL) {
    free(larger);
    free(more);
    return false;
  }
  blocks[block] = more;
  room += added;
  larger->smaller = old;
  larger->mask = slots - 1;
  for (uint32_t i = 0, held; i < mt_load_relaxed(&count); i++)
    mt_store_relaxed(find(larger, *place(i), &held), i + 1);
  mt_store_release(&table, larger); /* FH-4 release: its slots, a block; pairs FH-3 */
  return true;
}

/* Under ilock. @return the index of an address, which gets one if it has none; UINT32_MAX: no
 * memory. */
static uint32_t add(void *handle) {
  uint32_t index = mt_load_relaxed(&count);
  struct table *in = mt_load_relaxed(&table);
  uint32_t taken = 0;
  if (in != NULL) find(in, handle, &taken);
  if (taken != 0) return taken - 1;
  if (index == room && !grow()) return UINT32_MAX;
  *place(index) = handle;
  uint32_t *slot = find(mt_load_relaxed(&table), handle, &taken);
  mt_store_release(slot, index + 1);   /* FH-2 release: the address; pairs FH-1 */
  mt_store_release(&count, index + 1); /* FH-5 release: the address; pairs FH-6 */
  return index;
}

int tm_handle_number(const char *call, void *handle) {
  if ((uintptr_t)handle < PREDEFINED) return (int)(uintptr_t)handle;
  struct table *in = mt_load_acquire(&table); /* FH-3 acquire: pairs FH-4 */
  uint32_t taken = 0;
  if (in != NULL) find(in, handle, &taken);
  if (mt_likely(taken != 0)) return (int)(taken - 1 + PREDEFINED);
  mti_lock(&ilock);
  uint32_t index = add(handle);
  mti_unlock(&ilock);
  if (index != UINT32_MAX) return (int)(index + PREDEFINED);
  tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  return 0;
}

int tm_handle_number_of_request(const char *call, MPI_Request handle) {
  struct tm_request *request = (struct tm_request *)handle;
  if ((uintptr_t)handle < PREDEFINED) return (int)(uintptr_t)handle;
  uint32_t number = mt_load_relaxed(&request->handle);
  if (mt_likely(number != 0)) return (int)number;
  number = (uint32_t)tm_handle_number(call, request);
  mt_store_relaxed(&request->handle, number);
  return (int)number;
}

void *tm_handle_of(int number) {
  if ((uint32_t)number < PREDEFINED) return (void *)(uintptr_t)number;
  uint32_t index = (uint32_t)number - PREDEFINED;
  return index < mt_load_acquire(&count) ? *place(index) : NULL; /* FH-6 acquire: pairs FH-5 */
}

/* In Fortran a status is an array of as many ints, in the same order. */
_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "a status is copied");

#pragma weak MPI_Status_c2f = PMPI_Status_c2f
int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status) {
  if (c_status == MPI_STATUS_IGNORE)
    return tm_fail(NULL, "MPI_Status_c2f", MPI_ERR_ARG, "MPI_STATUS_IGNORE is no status");
  memcpy(f_status, c_status, sizeof *c_status);
  return MPI_SUCCESS;
}

#pragma weak MPI_Status_f2c = PMPI_Status_f2c
int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status) {
  memcpy(c_status, f_status, sizeof *c_status);
  return MPI_SUCCESS;
}

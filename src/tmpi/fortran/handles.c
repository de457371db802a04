/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles as numbers, for languages whose handles are ints.
 *
 * A predefined handle is its own number. Any other handle is an address. It gets the next number at
 * its first conversion, and keeps that for good. So freeing an object needs no call here; a new
 * object at its address takes over its number. All ranks share one table, since objects are in one
 * heap. The table is as large as the largest number of addresses that were ever converted.
 *
 * Rejected: a number in each object, given back when it is freed (nine kinds of objects would have
 * to do so, and their constructors would have to look for a free number).
 */
#include "tmpi/fortran/handles.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"

enum { PREDEFINED = 0x1000, FIRST_ROOM = 1024 };

static uint32_t ilock;
static void **addresses;      /* [ilock] by number, less PREDEFINED */
static uint32_t count, room;  /* [ilock] of them; of addresses */
static uint32_t *slots, mask; /* [ilock] by address: index + 1; 0: free. Twice the room */

static uint32_t hash(const void *address) {
  return (uint32_t)(((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u >> 32);
}

/* The slot that has the address, or the free one where it belongs. */
static uint32_t *find(const void *address) {
  uint32_t at = hash(address) & mask;
  while (slots[at] != 0 && addresses[slots[at] - 1] != address) at = (at + 1) & mask;
  return &slots[at];
}

static bool grow(void) {
  uint32_t wanted = room == 0 ? FIRST_ROOM : 2 * room;
  void **more = realloc(addresses, wanted * sizeof *more);
  if (more == NULL) return false;
  addresses = more;
  uint32_t *fresh = calloc((size_t)2 * wanted, sizeof *fresh);
  if (fresh == NULL) return false;
  free(slots);
  slots = fresh;
  mask = 2 * wanted - 1;
  room = wanted;
  for (uint32_t i = 0; i < count; i++) *find(addresses[i]) = i + 1;
  return true;
}

int tm_handle_number(const char *call, void *handle) {
  if ((uintptr_t)handle < PREDEFINED) return (int)(uintptr_t)handle;
  mti_lock(&ilock);
  uint32_t index = UINT32_MAX;
  if (room > 0) index = *find(handle) - 1;
  if (index == UINT32_MAX && (count < room || grow())) {
    index = count++;
    addresses[index] = handle;
    *find(handle) = index + 1;
  }
  mti_unlock(&ilock);
  if (index != UINT32_MAX) return (int)(index + PREDEFINED);
  tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  return 0;
}

void *tm_handle_of(int number) {
  if (number >= 0 && number < PREDEFINED) return (void *)(uintptr_t)number;
  mti_lock(&ilock);
  uint32_t index = (uint32_t)number - PREDEFINED;
  void *handle = index < count ? addresses[index] : NULL;
  mti_unlock(&ilock);
  return handle;
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

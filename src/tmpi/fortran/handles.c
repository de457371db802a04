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

#pragma weak MPI_Comm_toint = PMPI_Comm_toint
int PMPI_Comm_toint(MPI_Comm comm) { return number_of("MPI_Comm_toint", comm); }

#pragma weak MPI_Comm_c2f = PMPI_Comm_c2f
MPI_Fint PMPI_Comm_c2f(MPI_Comm comm) { return number_of("MPI_Comm_c2f", comm); }

#pragma weak MPI_Comm_fromint = PMPI_Comm_fromint
MPI_Comm PMPI_Comm_fromint(int comm) { return handle_of(comm); }

#pragma weak MPI_Comm_f2c = PMPI_Comm_f2c
MPI_Comm PMPI_Comm_f2c(MPI_Fint comm) { return handle_of(comm); }

#pragma weak MPI_Group_toint = PMPI_Group_toint
int PMPI_Group_toint(MPI_Group group) { return number_of("MPI_Group_toint", group); }

#pragma weak MPI_Group_c2f = PMPI_Group_c2f
MPI_Fint PMPI_Group_c2f(MPI_Group group) { return number_of("MPI_Group_c2f", group); }

#pragma weak MPI_Group_fromint = PMPI_Group_fromint
MPI_Group PMPI_Group_fromint(int group) { return handle_of(group); }

#pragma weak MPI_Group_f2c = PMPI_Group_f2c
MPI_Group PMPI_Group_f2c(MPI_Fint group) { return handle_of(group); }

#pragma weak MPI_Type_toint = PMPI_Type_toint
int PMPI_Type_toint(MPI_Datatype type) { return number_of("MPI_Type_toint", type); }

#pragma weak MPI_Type_c2f = PMPI_Type_c2f
MPI_Fint PMPI_Type_c2f(MPI_Datatype type) { return number_of("MPI_Type_c2f", type); }

#pragma weak MPI_Type_fromint = PMPI_Type_fromint
MPI_Datatype PMPI_Type_fromint(int type) { return handle_of(type); }

#pragma weak MPI_Type_f2c = PMPI_Type_f2c
MPI_Datatype PMPI_Type_f2c(MPI_Fint type) { return handle_of(type); }

#pragma weak MPI_Request_toint = PMPI_Request_toint
int PMPI_Request_toint(MPI_Request request) { return number_of("MPI_Request_toint", request); }

#pragma weak MPI_Request_c2f = PMPI_Request_c2f
MPI_Fint PMPI_Request_c2f(MPI_Request request) { return number_of("MPI_Request_c2f", request); }

#pragma weak MPI_Request_fromint = PMPI_Request_fromint
MPI_Request PMPI_Request_fromint(int request) { return handle_of(request); }

#pragma weak MPI_Request_f2c = PMPI_Request_f2c
MPI_Request PMPI_Request_f2c(MPI_Fint request) { return handle_of(request); }

#pragma weak MPI_Message_toint = PMPI_Message_toint
int PMPI_Message_toint(MPI_Message message) { return number_of("MPI_Message_toint", message); }

#pragma weak MPI_Message_c2f = PMPI_Message_c2f
MPI_Fint PMPI_Message_c2f(MPI_Message message) { return number_of("MPI_Message_c2f", message); }

#pragma weak MPI_Message_fromint = PMPI_Message_fromint
MPI_Message PMPI_Message_fromint(int message) { return handle_of(message); }

#pragma weak MPI_Message_f2c = PMPI_Message_f2c
MPI_Message PMPI_Message_f2c(MPI_Fint message) { return handle_of(message); }

#pragma weak MPI_Op_toint = PMPI_Op_toint
int PMPI_Op_toint(MPI_Op op) { return number_of("MPI_Op_toint", op); }

#pragma weak MPI_Op_c2f = PMPI_Op_c2f
MPI_Fint PMPI_Op_c2f(MPI_Op op) { return number_of("MPI_Op_c2f", op); }

#pragma weak MPI_Op_fromint = PMPI_Op_fromint
MPI_Op PMPI_Op_fromint(int op) { return handle_of(op); }

#pragma weak MPI_Op_f2c = PMPI_Op_f2c
MPI_Op PMPI_Op_f2c(MPI_Fint op) { return handle_of(op); }

#pragma weak MPI_Errhandler_toint = PMPI_Errhandler_toint
int PMPI_Errhandler_toint(MPI_Errhandler handler) {
  return number_of("MPI_Errhandler_toint", handler);
}

#pragma weak MPI_Errhandler_c2f = PMPI_Errhandler_c2f
MPI_Fint PMPI_Errhandler_c2f(MPI_Errhandler handler) {
  return number_of("MPI_Errhandler_c2f", handler);
}

#pragma weak MPI_Errhandler_fromint = PMPI_Errhandler_fromint
MPI_Errhandler PMPI_Errhandler_fromint(int handler) { return handle_of(handler); }

#pragma weak MPI_Errhandler_f2c = PMPI_Errhandler_f2c
MPI_Errhandler PMPI_Errhandler_f2c(MPI_Fint handler) { return handle_of(handler); }

#pragma weak MPI_Info_toint = PMPI_Info_toint
int PMPI_Info_toint(MPI_Info info) { return number_of("MPI_Info_toint", info); }

#pragma weak MPI_Info_c2f = PMPI_Info_c2f
MPI_Fint PMPI_Info_c2f(MPI_Info info) { return number_of("MPI_Info_c2f", info); }

#pragma weak MPI_Info_fromint = PMPI_Info_fromint
MPI_Info PMPI_Info_fromint(int info) { return handle_of(info); }

#pragma weak MPI_Info_f2c = PMPI_Info_f2c
MPI_Info PMPI_Info_f2c(MPI_Fint info) { return handle_of(info); }

#pragma weak MPI_Session_toint = PMPI_Session_toint
int PMPI_Session_toint(MPI_Session session) { return number_of("MPI_Session_toint", session); }

#pragma weak MPI_Session_c2f = PMPI_Session_c2f
MPI_Fint PMPI_Session_c2f(MPI_Session session) { return number_of("MPI_Session_c2f", session); }

#pragma weak MPI_Session_fromint = PMPI_Session_fromint
MPI_Session PMPI_Session_fromint(int session) { return handle_of(session); }

#pragma weak MPI_Session_f2c = PMPI_Session_f2c
MPI_Session PMPI_Session_f2c(MPI_Fint session) { return handle_of(session); }

#pragma weak MPI_Win_toint = PMPI_Win_toint
int PMPI_Win_toint(MPI_Win win) { return number_of("MPI_Win_toint", win); }

#pragma weak MPI_Win_c2f = PMPI_Win_c2f
MPI_Fint PMPI_Win_c2f(MPI_Win win) { return number_of("MPI_Win_c2f", win); }

#pragma weak MPI_Win_fromint = PMPI_Win_fromint
MPI_Win PMPI_Win_fromint(int win) { return handle_of(win); }

#pragma weak MPI_Win_f2c = PMPI_Win_f2c
MPI_Win PMPI_Win_f2c(MPI_Fint win) { return handle_of(win); }

#pragma weak MPI_File_toint = PMPI_File_toint
int PMPI_File_toint(MPI_File file) { return number_of("MPI_File_toint", file); }

#pragma weak MPI_File_c2f = PMPI_File_c2f
MPI_Fint PMPI_File_c2f(MPI_File file) { return number_of("MPI_File_c2f", file); }

#pragma weak MPI_File_fromint = PMPI_File_fromint
MPI_File PMPI_File_fromint(int file) { return handle_of(file); }

#pragma weak MPI_File_f2c = PMPI_File_f2c
MPI_File PMPI_File_f2c(MPI_Fint file) { return handle_of(file); }

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

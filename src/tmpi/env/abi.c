/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of the ABI and of the machine, as infos. */
#include <stdio.h>
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/info.h"

#pragma weak MPI_Abi_get_version = PMPI_Abi_get_version
int PMPI_Abi_get_version(int *major, int *minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

static bool put_size(struct tm_info *info, const char *key, size_t size) {
  char text[24];
  snprintf(text, sizeof text, "%zu", size);
  return tm_info_put(info, key, text);
}

/* info NULL, or not ok: there was no memory. */
static int give(const char *call, struct tm_info *info, bool ok, MPI_Info *result) {
  if (info == NULL || !ok) {
    tm_info_free(info);
    return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Abi_get_info = PMPI_Abi_get_info
int PMPI_Abi_get_info(MPI_Info *result) {
  struct tm_info *info = tm_info_copy(NULL);
  bool ok = info != NULL && put_size(info, "mpi_aint_size", sizeof(MPI_Aint)) &&
            put_size(info, "mpi_count_size", sizeof(MPI_Count)) &&
            put_size(info, "mpi_offset_size", sizeof(MPI_Offset));
  return give("MPI_Abi_get_info", info, ok, result);
}

/* The sizes of Fortran's types are fixed: those of the compilers there are. */
#pragma weak MPI_Abi_get_fortran_info = PMPI_Abi_get_fortran_info
int PMPI_Abi_get_fortran_info(MPI_Info *result) {
  static const struct {
    const char *key;
    MPI_Datatype type;
  } sizes[] = {{"mpi_logical_size", MPI_LOGICAL},
               {"mpi_integer_size", MPI_INTEGER},
               {"mpi_real_size", MPI_REAL},
               {"mpi_double_precision_size", MPI_DOUBLE_PRECISION}};
  static const struct {
    const char *key;
    uintptr_t handle; /* not all have a name in the header */
  } optional[] = {{"mpi_logical1_supported", 0x2c0},      {"mpi_integer1_supported", 0x2c1},
                  {"mpi_logical2_supported", 0x2c8},      {"mpi_integer2_supported", 0x2c9},
                  {"mpi_real2_supported", 0x2ca},         {"mpi_logical4_supported", 0x2d0},
                  {"mpi_integer4_supported", 0x2d1},      {"mpi_real4_supported", 0x2d2},
                  {"mpi_complex4_supported", 0x2d3},      {"mpi_logical8_supported", 0x2d8},
                  {"mpi_integer8_supported", 0x2d9},      {"mpi_real8_supported", 0x2da},
                  {"mpi_complex8_supported", 0x2db},      {"mpi_logical16_supported", 0x2e0},
                  {"mpi_integer16_supported", 0x2e1},     {"mpi_real16_supported", 0x2e2},
                  {"mpi_complex16_supported", 0x2e3},     {"mpi_complex32_supported", 0x2eb},
                  {"mpi_double_complex_supported", 0x21d}};
  struct tm_info *info = tm_info_copy(NULL);
  bool ok = info != NULL;
  for (size_t i = 0; ok && i < sizeof sizes / sizeof sizes[0]; i++)
    ok = put_size(info, sizes[i].key, tm_type_of(sizes[i].type)->size);
  for (size_t i = 0; ok && i < sizeof optional / sizeof optional[0]; i++) {
    bool there = tm_type_of((MPI_Datatype)optional[i].handle) != NULL;
    ok = tm_info_put(info, optional[i].key, there ? "true" : "false");
  }
  return give("MPI_Abi_get_fortran_info", info, ok, result);
}

/* What another library for Fortran says of its compiler has to agree with ours. */
#pragma weak MPI_Abi_set_fortran_info = PMPI_Abi_set_fortran_info
int PMPI_Abi_set_fortran_info(MPI_Info given) {
  MPI_Info ours = MPI_INFO_NULL;
  char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL], own[MPI_MAX_INFO_VAL];
  int count = 0, length, flag, same = 1;
  int error = PMPI_Abi_get_fortran_info(&ours);
  if (error != MPI_SUCCESS) return error;
  error = PMPI_Info_get_nkeys(given, &count);
  for (int i = 0; error == MPI_SUCCESS && same && i < count; i++) {
    length = sizeof value;
    PMPI_Info_get_nthkey(given, i, key);
    PMPI_Info_get_string(given, key, &length, value, &flag);
    length = sizeof own;
    PMPI_Info_get_string(ours, key, &length, own, &flag);
    same = !flag || strcmp(value, own) == 0;
  }
  PMPI_Info_free(&ours);
  if (error != MPI_SUCCESS || same) return error;
  return tm_fail(NULL, "MPI_Abi_set_fortran_info", MPI_ERR_ABI,
                 "%s is %s here, not %s (compile with default kinds)", key, own, value);
}

/* @return whether a logical of this size has a value: its first byte, and the others are zero. */
static bool is_logical(const void *logical, int size, char value) {
  const char *bytes = logical;
  for (int i = 1; i < size; i++)
    if (bytes[i] != 0) return false;
  return bytes[0] == value;
}

static int check_size(const char *call, int size) {
  if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ARG, "no logical has %d bytes", size);
}

/* .true. is 1 and .false. is 0, as gfortran and flang have them. */
#pragma weak MPI_Abi_set_fortran_booleans = PMPI_Abi_set_fortran_booleans
int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false) {
  static const char call[] = "MPI_Abi_set_fortran_booleans";
  int error = check_size(call, logical_size);
  if (error != MPI_SUCCESS) return error;
  if (is_logical(logical_true, logical_size, 1) && is_logical(logical_false, logical_size, 0))
    return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ABI, "only 1 for .true. and 0 for .false. are known");
}

#pragma weak MPI_Abi_get_fortran_booleans = PMPI_Abi_get_fortran_booleans
int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false,
                                  int *is_set) {
  int error = check_size("MPI_Abi_get_fortran_booleans", logical_size);
  if (error != MPI_SUCCESS) return error;
  memset(logical_true, 0, (size_t)logical_size);
  memset(logical_false, 0, (size_t)logical_size);
  *(char *)logical_true = 1;
  *is_set = 1;
  return MPI_SUCCESS;
}

/* Ranks share all the hardware: none of it restricts one, so that there is nothing to name. */
#pragma weak MPI_Get_hw_resource_info = PMPI_Get_hw_resource_info
int PMPI_Get_hw_resource_info(MPI_Info *result) {
  tm_enter("MPI_Get_hw_resource_info");
  return give("MPI_Get_hw_resource_info", tm_info_copy(NULL), true, result);
}

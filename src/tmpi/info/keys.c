/* SPDX-License-Identifier: Apache-2.0 */
/* Infos. Programs may use them before MPI_Init() and after MPI_Finalize(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

static int get(const char *call, MPI_Info handle, struct tm_info **info) {
  *info = tm_info_of(handle);
  return *info != NULL ? MPI_SUCCESS
                       : tm_fail(NULL, call, MPI_ERR_INFO, "the info is %s",
                                 handle == MPI_INFO_NULL ? "MPI_INFO_NULL"
                                                         : "not valid: freed, or never made");
}

static int get_key(const char *call, MPI_Info handle, const char *key, struct tm_info **info) {
  int error = get(call, handle, info);
  if (error != MPI_SUCCESS) return error;
  if (key != NULL && key[0] != '\0' && strlen(key) < MPI_MAX_INFO_KEY) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_INFO_KEY, "the key is empty, or longer than %d",
                 MPI_MAX_INFO_KEY - 1);
}

#pragma weak MPI_Info_create = PMPI_Info_create
int PMPI_Info_create(MPI_Info *handle) {
  if (handle == NULL) return tm_fail(NULL, "MPI_Info_create", MPI_ERR_ARG, "no place for the info");
  struct tm_info *info = tm_info_copy(NULL);
  if (info == NULL) return tm_fail_code(NULL, "MPI_Info_create", MPI_ERR_NO_MEM);
  *handle = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_create_env = PMPI_Info_create_env
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info) {
  (void)argc, (void)argv; /* ranks have no arguments to report */
  return PMPI_Info_create(info);
}

#pragma weak MPI_Info_dup = PMPI_Info_dup
int PMPI_Info_dup(MPI_Info handle, MPI_Info *copy) {
  struct tm_info *info;
  int error = get("MPI_Info_dup", handle, &info);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *new = tm_info_copy(info);
  if (new == NULL) return tm_fail_code(NULL, "MPI_Info_dup", MPI_ERR_NO_MEM);
  *copy = (MPI_Info) new;
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_free = PMPI_Info_free
int PMPI_Info_free(MPI_Info *handle) {
  struct tm_info *info;
  int error = get("MPI_Info_free", *handle, &info);
  if (error != MPI_SUCCESS) return error;
  tm_info_free(info);
  *handle = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_set = PMPI_Info_set
int PMPI_Info_set(MPI_Info handle, const char *key, const char *value) {
  struct tm_info *info;
  int error = get_key("MPI_Info_set", handle, key, &info);
  if (error != MPI_SUCCESS) return error;
  if (value == NULL || value[0] == '\0' || strlen(value) >= MPI_MAX_INFO_VAL)
    return tm_fail(NULL, "MPI_Info_set", MPI_ERR_INFO_VALUE,
                   "the value is empty, or longer than %d", MPI_MAX_INFO_VAL - 1);
  return tm_info_put(info, key, value) ? MPI_SUCCESS
                                       : tm_fail_code(NULL, "MPI_Info_set", MPI_ERR_NO_MEM);
}

#pragma weak MPI_Info_delete = PMPI_Info_delete
int PMPI_Info_delete(MPI_Info handle, const char *key) {
  struct tm_info *info;
  int error = get_key("MPI_Info_delete", handle, key, &info);
  if (error != MPI_SUCCESS) return error;
  struct tm_info_entry *entry = tm_info_find(info, key);
  if (entry == NULL)
    return tm_fail(NULL, "MPI_Info_delete", MPI_ERR_INFO_NOKEY, "there is no key '%s'", key);
  tm_info_remove(info, entry);
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_get = PMPI_Info_get
int PMPI_Info_get(MPI_Info handle, const char *key, int length, char *value, int *flag) {
  struct tm_info *info;
  int error = get_key("MPI_Info_get", handle, key, &info);
  if (error != MPI_SUCCESS) return error;
  if (length < 0)
    return tm_fail(NULL, "MPI_Info_get", MPI_ERR_INFO_VALUE, "length %d is negative", length);
  const struct tm_info_entry *entry = tm_info_find(info, key);
  *flag = entry != NULL;
  if (entry != NULL) snprintf(value, (size_t)length + 1, "%s", entry->value);
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_get_string = PMPI_Info_get_string
int PMPI_Info_get_string(MPI_Info handle, const char *key, int *length, char *value, int *flag) {
  struct tm_info *info;
  int error = get_key("MPI_Info_get_string", handle, key, &info);
  if (error != MPI_SUCCESS) return error;
  const struct tm_info_entry *entry = tm_info_find(info, key);
  *flag = entry != NULL;
  if (entry == NULL) return MPI_SUCCESS;
  if (*length > 0) snprintf(value, (size_t)*length, "%s", entry->value);
  *length = (int)strlen(entry->value) + 1;
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_get_valuelen = PMPI_Info_get_valuelen
int PMPI_Info_get_valuelen(MPI_Info handle, const char *key, int *length, int *flag) {
  struct tm_info *info;
  int error = get_key("MPI_Info_get_valuelen", handle, key, &info);
  if (error != MPI_SUCCESS) return error;
  const struct tm_info_entry *entry = tm_info_find(info, key);
  *flag = entry != NULL;
  if (entry != NULL) *length = (int)strlen(entry->value);
  return MPI_SUCCESS;
}

#pragma weak MPI_Info_get_nkeys = PMPI_Info_get_nkeys
int PMPI_Info_get_nkeys(MPI_Info handle, int *count) {
  struct tm_info *info;
  int error = get("MPI_Info_get_nkeys", handle, &info);
  if (error == MPI_SUCCESS) *count = info->count;
  return error;
}

#pragma weak MPI_Info_get_nthkey = PMPI_Info_get_nthkey
int PMPI_Info_get_nthkey(MPI_Info handle, int n, char *key) {
  struct tm_info *info;
  int error = get("MPI_Info_get_nthkey", handle, &info);
  if (error != MPI_SUCCESS) return error;
  if (n < 0 || n >= info->count)
    return tm_fail(NULL, "MPI_Info_get_nthkey", MPI_ERR_ARG,
                   "key %d is not one of the %d there are", n, info->count);
  strcpy(key, tm_info_nth(info, n)->key);
  return MPI_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of a file: group, access mode, hints, atomicity, extents. */
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/object/info.h"

#pragma weak MPI_File_get_group = PMPI_File_get_group
int PMPI_File_get_group(MPI_File handle, MPI_Group *group) {
  struct tm_file *file;
  int error = tm_get_file("MPI_File_get_group", handle, &file);
  if (error != MPI_SUCCESS) return error;
  tm_group_hold(file->group);
  *group = (MPI_Group)file->group;
  return MPI_SUCCESS;
}

#pragma weak MPI_File_get_amode = PMPI_File_get_amode
int PMPI_File_get_amode(MPI_File handle, int *amode) {
  struct tm_file *file;
  int error = tm_get_file("MPI_File_get_amode", handle, &file);
  if (error == MPI_SUCCESS) *amode = file->common->amode;
  return error;
}

/* ---- hints: kept, and none changes what is done */

#pragma weak MPI_File_set_info = PMPI_File_set_info
int PMPI_File_set_info(MPI_File handle, MPI_Info info_handle) {
  static const char call[] = "MPI_File_set_info";
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_of(info_handle);
  if (tm_info_is_wrong(info_handle))
    return tm_file_fail(file, call, MPI_ERR_INFO, "the info is not valid");
  bool ok = file->info != NULL || (file->info = tm_info_copy(NULL)) != NULL;
  for (int i = 0; ok && info != NULL && i < info->count; i++) {
    const struct tm_info_entry *entry = tm_info_nth(info, i);
    ok = tm_info_put(file->info, entry->key, entry->value);
  }
  return ok ? MPI_SUCCESS : tm_file_fail(file, call, MPI_ERR_NO_MEM, "no memory");
}

#pragma weak MPI_File_get_info = PMPI_File_get_info
int PMPI_File_get_info(MPI_File handle, MPI_Info *result) {
  static const char call[] = "MPI_File_get_info";
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_copy(file->info);
  if (info == NULL) return tm_file_fail(file, call, MPI_ERR_NO_MEM, "no memory");
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

/* ---- atomic mode */

#pragma weak MPI_File_set_atomicity = PMPI_File_set_atomicity
int PMPI_File_set_atomicity(MPI_File handle, int flag) {
  static const char call[] = "MPI_File_set_atomicity";
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  tm_barrier(file->comm, call); /* transfers before and after are of one mode each */
  file->atomic = flag != 0;
  tm_barrier(file->comm, call);
  return MPI_SUCCESS;
}

#pragma weak MPI_File_get_atomicity = PMPI_File_get_atomicity
int PMPI_File_get_atomicity(MPI_File handle, int *flag) {
  struct tm_file *file;
  int error = tm_get_file("MPI_File_get_atomicity", handle, &file);
  if (error == MPI_SUCCESS) *flag = file->atomic;
  return error;
}

/* ---- data representations */

int tm_call_file_type_extent(const char *call, MPI_File handle, MPI_Datatype type_handle,
                             MPI_Count *extent) {
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  const struct tm_type *type = tm_type_of(type_handle);
  if (type == NULL) return tm_file_fail(file, call, MPI_ERR_TYPE, "the datatype is not valid");
  size_t outside;
  bool same;
  if (!tm_view_element(file->view, type, &outside, &same))
    return tm_file_fail_errno(file, call, TM_NOT_CONVERTED, file->common->name);
  if (!same && !type->dense)
    return tm_file_fail(file, call, MPI_ERR_UNSUPPORTED_DATAREP,
                        "%s with gaps between types that have another size there",
                        file->view->datarep);
  *extent = type->dense ? (MPI_Count)outside : tm_type_extent(type);
  return MPI_SUCCESS;
}

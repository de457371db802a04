/* SPDX-License-Identifier: Apache-2.0 */
/* File pointers, and offsets in the view. */
#include "tmpi/coll/coll.h"
#include "tmpi/io/file.h"

static int get(const char *call, MPI_File handle, bool own_pointer, struct tm_file **file) {
  int error = tm_get_file(call, handle, file);
  if (error != MPI_SUCCESS) return error;
  if (!own_pointer || ((*file)->common->amode & MPI_MODE_SEQUENTIAL) == 0) return MPI_SUCCESS;
  return tm_file_fail(*file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                      "MPI_MODE_SEQUENTIAL allows the shared pointer only");
}

/* Etypes that begin before a number of visible bytes. */
static MPI_Offset etypes(const struct tm_view *view, MPI_Offset bytes) {
  MPI_Offset unit = view->unit > 0 ? (MPI_Offset)view->unit : 1;
  return bytes / unit + (bytes % unit != 0);
}

/* The new position, in visible bytes. */
static int seek(struct tm_file *file, const char *call, MPI_Offset offset, int whence,
                MPI_Offset now, MPI_Offset *position) {
  int failed;
  MPI_Offset from = 0, size = 0, unit = (MPI_Offset)file->view->unit;
  switch (whence) {
    case MPI_SEEK_SET: break;
    case MPI_SEEK_CUR: from = now; break;
    case MPI_SEEK_END:
      failed = tm_file_size(file->common, &size);
      if (failed != 0) return tm_file_fail_errno(file, call, failed, file->common->name);
      from = etypes(file->view, tm_view_before(file->view, size)) * unit;
      break;
    default: return tm_file_fail(file, call, MPI_ERR_ARG, "%d is no way to seek", whence);
  }
  if (__builtin_mul_overflow(offset, unit, position) ||
      __builtin_add_overflow(*position, from, position) || *position < 0)
    return tm_file_fail(file, call, MPI_ERR_ARG, "offset %lld leads out of the file",
                        (long long)offset);
  return MPI_SUCCESS;
}

#pragma weak MPI_File_seek = PMPI_File_seek
int PMPI_File_seek(MPI_File handle, MPI_Offset offset, int whence) {
  static const char call[] = "MPI_File_seek";
  struct tm_file *file;
  MPI_Offset position = 0;
  int error = get(call, handle, true, &file);
  if (error == MPI_SUCCESS) error = seek(file, call, offset, whence, file->position, &position);
  if (error == MPI_SUCCESS) file->position = position;
  return error;
}

#pragma weak MPI_File_get_position = PMPI_File_get_position
int PMPI_File_get_position(MPI_File handle, MPI_Offset *offset) {
  struct tm_file *file;
  int error = get("MPI_File_get_position", handle, true, &file);
  if (error == MPI_SUCCESS) *offset = etypes(file->view, file->position);
  return error;
}

#pragma weak MPI_File_get_byte_offset = PMPI_File_get_byte_offset
int PMPI_File_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset *disp) {
  static const char call[] = "MPI_File_get_byte_offset";
  struct tm_file *file;
  int error = get(call, handle, true, &file);
  if (error != MPI_SUCCESS) return error;
  MPI_Offset position = 0;
  if (offset < 0 || __builtin_mul_overflow(offset, (MPI_Offset)file->view->unit, &position))
    return tm_file_fail(file, call, MPI_ERR_ARG, "offset %lld is negative, or too large",
                        (long long)offset);
  if (file->view->filetype->size == 0) {
    *disp = file->view->disp;
    return MPI_SUCCESS;
  }
  struct tm_view_cursor c = tm_view_start(file->view, position);
  tm_view_segment(&c, 1, disp);
  return MPI_SUCCESS;
}

/* ---- the shared pointer */

#pragma weak MPI_File_seek_shared = PMPI_File_seek_shared
int PMPI_File_seek_shared(MPI_File handle, MPI_Offset offset, int whence) {
  static const char call[] = "MPI_File_seek_shared";
  struct tm_file *file;
  MPI_Offset position = 0;
  int error = get(call, handle, false, &file);
  if (error != MPI_SUCCESS) return error;
  tm_barrier(file->comm, call); /* other members' accesses before are done */
  error = seek(file, call, offset, whence, tm_file_claim(file->common, call, 0), &position);
  tm_barrier(file->comm, call);
  if (error == MPI_SUCCESS && file->comm->rank == 0) file->common->shared = position;
  tm_barrier(file->comm, call);
  return error;
}

#pragma weak MPI_File_get_position_shared = PMPI_File_get_position_shared
int PMPI_File_get_position_shared(MPI_File handle, MPI_Offset *offset) {
  static const char call[] = "MPI_File_get_position_shared";
  struct tm_file *file;
  int error = get(call, handle, false, &file);
  if (error != MPI_SUCCESS) return error;
  *offset = etypes(file->view, tm_file_claim(file->common, call, 0));
  return MPI_SUCCESS;
}

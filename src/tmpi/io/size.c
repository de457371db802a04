/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of files, and what makes them last. Rank 0 acts for all; each node writes its own data. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tmpi/coll/coll.h"
#include "tmpi/io/file.h"

static int get_writable(const char *call, MPI_File handle, MPI_Offset size, struct tm_file **file) {
  int error = tm_get_file(call, handle, file);
  if (error != MPI_SUCCESS) return error;
  if (size < 0)
    return tm_file_fail(*file, call, MPI_ERR_ARG, "size %lld is negative", (long long)size);
  if (((*file)->common->amode & MPI_MODE_RDONLY) != 0)
    return tm_file_fail(*file, call, MPI_ERR_READ_ONLY, "the file was opened to be read only");
  return MPI_SUCCESS;
}

#pragma weak MPI_File_set_size = PMPI_File_set_size
int PMPI_File_set_size(MPI_File handle, MPI_Offset size) {
  static const char call[] = "MPI_File_set_size";
  struct tm_file *file;
  int error = get_writable(call, handle, size, &file);
  if (error != MPI_SUCCESS) return error;
  tm_barrier(file->comm, call);
  int failed = 0;
  if (file->comm->rank == 0 && ftruncate(file->common->fd, size) != 0) failed = errno;
  return tm_file_agree(file, call, failed);
}

#pragma weak MPI_File_preallocate = PMPI_File_preallocate
int PMPI_File_preallocate(MPI_File handle, MPI_Offset size) {
  static const char call[] = "MPI_File_preallocate";
  struct tm_file *file;
  int error = get_writable(call, handle, size, &file);
  if (error != MPI_SUCCESS) return error;
  tm_barrier(file->comm, call);
  int failed = 0;
  if (file->comm->rank == 0 && size > 0) failed = posix_fallocate(file->common->fd, 0, size);
  return tm_file_agree(file, call, failed);
}

#pragma weak MPI_File_get_size = PMPI_File_get_size
int PMPI_File_get_size(MPI_File handle, MPI_Offset *size) {
  static const char call[] = "MPI_File_get_size";
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  int failed = tm_file_size(file->common, size);
  if (failed == 0) return MPI_SUCCESS;
  return tm_file_fail_errno(file, call, failed, file->common->name);
}

#pragma weak MPI_File_sync = PMPI_File_sync
int PMPI_File_sync(MPI_File handle) {
  static const char call[] = "MPI_File_sync";
  struct tm_file *file;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  tm_barrier(file->comm, call); /* all have written before */
  int failed = 0;
  if (tm_file_acts(file)) {
    mltp_blocking_begin();
    /* a pipe or a device may have nothing to make last */
    if (fsync(file->common->fd) != 0 && errno != EINVAL && errno != EROFS) failed = errno;
    mltp_blocking_end();
  }
  return tm_file_agree(file, call, failed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Data access at explicit offsets: the calls. */
#include "tmpi/io/file.h"

#pragma weak MPI_File_read_at = PMPI_File_read_at
int PMPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
                      MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_at",
                                             .writes = false,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_read_at_all = PMPI_File_read_at_all
int PMPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                          MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_at_all",
                                             .writes = false,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread_at = PMPI_File_iread_at
int PMPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
                       MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_at",
                                          .writes = false,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iread_at_all = PMPI_File_iread_at_all
int PMPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                           MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_at_all",
                                          .writes = false,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_read_at_c = PMPI_File_read_at_c
int PMPI_File_read_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_at_c",
                                             .writes = false,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_read_at_all_c = PMPI_File_read_at_all_c
int PMPI_File_read_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_at_all_c",
                                             .writes = false,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread_at_c = PMPI_File_iread_at_c
int PMPI_File_iread_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_at_c",
                                          .writes = false,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iread_at_all_c = PMPI_File_iread_at_all_c
int PMPI_File_iread_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_at_all_c",
                                          .writes = false,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write_at = PMPI_File_write_at
int PMPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                       MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_at",
                                             .writes = true,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_at_all = PMPI_File_write_at_all
int PMPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                           MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_at_all",
                                             .writes = true,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite_at = PMPI_File_iwrite_at
int PMPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                        MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_at",
                                          .writes = true,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iwrite_at_all = PMPI_File_iwrite_at_all
int PMPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                            MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_at_all",
                                          .writes = true,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write_at_c = PMPI_File_write_at_c
int PMPI_File_write_at_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_at_c",
                                             .writes = true,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_at_all_c = PMPI_File_write_at_all_c
int PMPI_File_write_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_at_all_c",
                                             .writes = true,
                                             .pointer = TM_AT,
                                             .file = fh,
                                             .offset = offset,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite_at_c = PMPI_File_iwrite_at_c
int PMPI_File_iwrite_at_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_at_c",
                                          .writes = true,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iwrite_at_all_c = PMPI_File_iwrite_at_all_c
int PMPI_File_iwrite_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_at_all_c",
                                          .writes = true,
                                          .pointer = TM_AT,
                                          .file = fh,
                                          .offset = offset,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Data access by the shared pointer: the calls. */
#include "tmpi/io/file.h"

#pragma weak MPI_File_read_shared = PMPI_File_read_shared
int PMPI_File_read_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                          MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_shared",
                                             .writes = false,
                                             .pointer = TM_SHARED,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread_shared = PMPI_File_iread_shared
int PMPI_File_iread_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                           MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_shared",
                                          .writes = false,
                                          .pointer = TM_SHARED,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_read_ordered = PMPI_File_read_ordered
int PMPI_File_read_ordered(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                           MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_ordered",
                                             .writes = false,
                                             .pointer = TM_ORDERED,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_read_shared_c = PMPI_File_read_shared_c
int PMPI_File_read_shared_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                            MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_shared_c",
                                             .writes = false,
                                             .pointer = TM_SHARED,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread_shared_c = PMPI_File_iread_shared_c
int PMPI_File_iread_shared_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_shared_c",
                                          .writes = false,
                                          .pointer = TM_SHARED,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_read_ordered_c = PMPI_File_read_ordered_c
int PMPI_File_read_ordered_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_ordered_c",
                                             .writes = false,
                                             .pointer = TM_ORDERED,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_shared = PMPI_File_write_shared
int PMPI_File_write_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                           MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_shared",
                                             .writes = true,
                                             .pointer = TM_SHARED,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite_shared = PMPI_File_iwrite_shared
int PMPI_File_iwrite_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                            MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_shared",
                                          .writes = true,
                                          .pointer = TM_SHARED,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write_ordered = PMPI_File_write_ordered
int PMPI_File_write_ordered(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                            MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_ordered",
                                             .writes = true,
                                             .pointer = TM_ORDERED,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_shared_c = PMPI_File_write_shared_c
int PMPI_File_write_shared_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_shared_c",
                                             .writes = true,
                                             .pointer = TM_SHARED,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite_shared_c = PMPI_File_iwrite_shared_c
int PMPI_File_iwrite_shared_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                              MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_shared_c",
                                          .writes = true,
                                          .pointer = TM_SHARED,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write_ordered_c = PMPI_File_write_ordered_c
int PMPI_File_write_ordered_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                              MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_ordered_c",
                                             .writes = true,
                                             .pointer = TM_ORDERED,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

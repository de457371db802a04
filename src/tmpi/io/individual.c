/* SPDX-License-Identifier: Apache-2.0 */
/* Data access by the individual pointer: the calls. */
#include "tmpi/io/file.h"

#pragma weak MPI_File_read = PMPI_File_read
int PMPI_File_read(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read",
                                             .writes = false,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_read_all = PMPI_File_read_all
int PMPI_File_read_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                       MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_all",
                                             .writes = false,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread = PMPI_File_iread
int PMPI_File_iread(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                    MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread",
                                          .writes = false,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iread_all = PMPI_File_iread_all
int PMPI_File_iread_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                        MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_all",
                                          .writes = false,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_read_c = PMPI_File_read_c
int PMPI_File_read_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_c",
                                             .writes = false,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_read_all_c = PMPI_File_read_all_c
int PMPI_File_read_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_read_all_c",
                                             .writes = false,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iread_c = PMPI_File_iread_c
int PMPI_File_iread_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_c",
                                          .writes = false,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iread_all_c = PMPI_File_iread_all_c
int PMPI_File_iread_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iread_all_c",
                                          .writes = false,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write = PMPI_File_write
int PMPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                    MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write",
                                             .writes = true,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_all = PMPI_File_write_all
int PMPI_File_write_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                        MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_all",
                                             .writes = true,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite = PMPI_File_iwrite
int PMPI_File_iwrite(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                     MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite",
                                          .writes = true,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iwrite_all = PMPI_File_iwrite_all
int PMPI_File_iwrite_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                         MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_all",
                                          .writes = true,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_write_c = PMPI_File_write_c
int PMPI_File_write_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_c",
                                             .writes = true,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_write_all_c = PMPI_File_write_all_c
int PMPI_File_write_all_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Status *status) {
  return tm_io_blocking(&(struct tm_io_call){.call = "MPI_File_write_all_c",
                                             .writes = true,
                                             .pointer = TM_INDIVIDUAL,
                                             .file = fh,
                                             .buffer = (void *)(uintptr_t)buf,
                                             .count = count,
                                             .type = datatype},
                        status);
}

#pragma weak MPI_File_iwrite_c = PMPI_File_iwrite_c
int PMPI_File_iwrite_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_c",
                                          .writes = true,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

#pragma weak MPI_File_iwrite_all_c = PMPI_File_iwrite_all_c
int PMPI_File_iwrite_all_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                           MPI_Request *request) {
  return tm_io_start(&(struct tm_io_call){.call = "MPI_File_iwrite_all_c",
                                          .writes = true,
                                          .pointer = TM_INDIVIDUAL,
                                          .file = fh,
                                          .buffer = (void *)(uintptr_t)buf,
                                          .count = count,
                                          .type = datatype},
                     request);
}

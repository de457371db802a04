/* SPDX-License-Identifier: Apache-2.0 */
/* Data access by split collectives: the calls. */
#include "tmpi/io/file.h"

#pragma weak MPI_File_read_at_all_begin = PMPI_File_read_at_all_begin
int PMPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, int count,
                                MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_at_all_begin",
                                                .writes = false,
                                                .pointer = TM_AT,
                                                .file = fh,
                                                .offset = offset,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_AT);
}

#pragma weak MPI_File_read_all_begin = PMPI_File_read_all_begin
int PMPI_File_read_all_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_all_begin",
                                                .writes = false,
                                                .pointer = TM_INDIVIDUAL,
                                                .file = fh,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ALL);
}

#pragma weak MPI_File_read_ordered_begin = PMPI_File_read_ordered_begin
int PMPI_File_read_ordered_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_ordered_begin",
                                                .writes = false,
                                                .pointer = TM_ORDERED,
                                                .file = fh,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ORDERED);
}

#pragma weak MPI_File_read_at_all_begin_c = PMPI_File_read_at_all_begin_c
int PMPI_File_read_at_all_begin_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                                  MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_at_all_begin_c",
                                                .writes = false,
                                                .pointer = TM_AT,
                                                .file = fh,
                                                .offset = offset,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_AT);
}

#pragma weak MPI_File_read_all_begin_c = PMPI_File_read_all_begin_c
int PMPI_File_read_all_begin_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_all_begin_c",
                                                .writes = false,
                                                .pointer = TM_INDIVIDUAL,
                                                .file = fh,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ALL);
}

#pragma weak MPI_File_read_ordered_begin_c = PMPI_File_read_ordered_begin_c
int PMPI_File_read_ordered_begin_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_read_ordered_begin_c",
                                                .writes = false,
                                                .pointer = TM_ORDERED,
                                                .file = fh,
                                                .buffer = buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ORDERED);
}

#pragma weak MPI_File_read_at_all_end = PMPI_File_read_at_all_end
int PMPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_read_at_all_end", .writes = false, .file = fh},
      TM_SPLIT_AT, status);
}

#pragma weak MPI_File_read_all_end = PMPI_File_read_all_end
int PMPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_read_all_end", .writes = false, .file = fh},
      TM_SPLIT_ALL, status);
}

#pragma weak MPI_File_read_ordered_end = PMPI_File_read_ordered_end
int PMPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_read_ordered_end", .writes = false, .file = fh},
      TM_SPLIT_ORDERED, status);
}

#pragma weak MPI_File_write_at_all_begin = PMPI_File_write_at_all_begin
int PMPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                                 MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_at_all_begin",
                                                .writes = true,
                                                .pointer = TM_AT,
                                                .file = fh,
                                                .offset = offset,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_AT);
}

#pragma weak MPI_File_write_all_begin = PMPI_File_write_all_begin
int PMPI_File_write_all_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_all_begin",
                                                .writes = true,
                                                .pointer = TM_INDIVIDUAL,
                                                .file = fh,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ALL);
}

#pragma weak MPI_File_write_ordered_begin = PMPI_File_write_ordered_begin
int PMPI_File_write_ordered_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_ordered_begin",
                                                .writes = true,
                                                .pointer = TM_ORDERED,
                                                .file = fh,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ORDERED);
}

#pragma weak MPI_File_write_at_all_begin_c = PMPI_File_write_at_all_begin_c
int PMPI_File_write_at_all_begin_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                                   MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_at_all_begin_c",
                                                .writes = true,
                                                .pointer = TM_AT,
                                                .file = fh,
                                                .offset = offset,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_AT);
}

#pragma weak MPI_File_write_all_begin_c = PMPI_File_write_all_begin_c
int PMPI_File_write_all_begin_c(MPI_File fh, const void *buf, MPI_Count count,
                                MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_all_begin_c",
                                                .writes = true,
                                                .pointer = TM_INDIVIDUAL,
                                                .file = fh,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ALL);
}

#pragma weak MPI_File_write_ordered_begin_c = PMPI_File_write_ordered_begin_c
int PMPI_File_write_ordered_begin_c(MPI_File fh, const void *buf, MPI_Count count,
                                    MPI_Datatype datatype) {
  return tm_io_split_begin(&(struct tm_io_call){.call = "MPI_File_write_ordered_begin_c",
                                                .writes = true,
                                                .pointer = TM_ORDERED,
                                                .file = fh,
                                                .buffer = (void *)(uintptr_t)buf,
                                                .count = count,
                                                .type = datatype},
                           TM_SPLIT_ORDERED);
}

#pragma weak MPI_File_write_at_all_end = PMPI_File_write_at_all_end
int PMPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_write_at_all_end", .writes = true, .file = fh},
      TM_SPLIT_AT, status);
}

#pragma weak MPI_File_write_all_end = PMPI_File_write_all_end
int PMPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_write_all_end", .writes = true, .file = fh},
      TM_SPLIT_ALL, status);
}

#pragma weak MPI_File_write_ordered_end = PMPI_File_write_ordered_end
int PMPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status) {
  (void)buf;
  return tm_io_split_end(
      &(struct tm_io_call){.call = "MPI_File_write_ordered_end", .writes = true, .file = fh},
      TM_SPLIT_ORDERED, status);
}

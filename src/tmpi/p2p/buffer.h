/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file buffer.h
 * Buffers for MPI_Bsend() and its variants: what calls.table calls. Each function returns
 * MPI_SUCCESS or what tm_fail() returned.
 */
#ifndef TM_P2P_BUFFER_H
#define TM_P2P_BUFFER_H

#include "tmpi/mpi.h"

/** Where a buffer is attached. */
enum tm_buffer_kind { TM_BUFFER_OF_RANK, TM_BUFFER_OF_COMM, TM_BUFFER_OF_SESSION };

/** The handles are as the program gave them. */
struct tm_buffer_owner {
  enum tm_buffer_kind kind;
  MPI_Comm comm;
  MPI_Session session;
};

int tm_call_attach(const char *call, struct tm_buffer_owner owner, void *address, MPI_Count size);
/** Waits until the buffer's messages have been received. address: of a pointer. */
int tm_call_detach(const char *call, struct tm_buffer_owner owner, void *address, MPI_Count *size);
int tm_call_flush(const char *call, struct tm_buffer_owner owner);
int tm_call_iflush(const char *call, struct tm_buffer_owner owner, MPI_Request *handle);

#endif

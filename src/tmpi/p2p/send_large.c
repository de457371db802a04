/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving with 64-bit counts: the bodies are those of send.c, persistent.c, probe.c.
 */
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

#pragma weak MPI_Send_c = PMPI_Send_c
int PMPI_Send_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Send_c", buffer, count, type, dest, tag, comm},
                      TM_STANDARD);
}

#pragma weak MPI_Bsend_c = PMPI_Bsend_c
int PMPI_Bsend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Bsend_c", buffer, count, type, dest, tag, comm},
                      TM_BUFFERED);
}

#pragma weak MPI_Ssend_c = PMPI_Ssend_c
int PMPI_Ssend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Ssend_c", buffer, count, type, dest, tag, comm},
                      TM_SYNCHRONOUS);
}

#pragma weak MPI_Rsend_c = PMPI_Rsend_c
int PMPI_Rsend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm) {
  return tm_call_send(&(struct tm_arguments){"MPI_Rsend_c", buffer, count, type, dest, tag, comm},
                      TM_READY);
}

#pragma weak MPI_Recv_c = PMPI_Recv_c
int PMPI_Recv_c(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                MPI_Comm comm, MPI_Status *status) {
  return tm_call_recv(&(struct tm_arguments){"MPI_Recv_c", buffer, count, type, source, tag, comm},
                      status);
}

#pragma weak MPI_Isend_c = PMPI_Isend_c
int PMPI_Isend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm, MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Isend_c", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_STANDARD, request);
}

#pragma weak MPI_Ibsend_c = PMPI_Ibsend_c
int PMPI_Ibsend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Ibsend_c", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_BUFFERED, request);
}

#pragma weak MPI_Issend_c = PMPI_Issend_c
int PMPI_Issend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Issend_c", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_SYNCHRONOUS, request);
}

#pragma weak MPI_Irsend_c = PMPI_Irsend_c
int PMPI_Irsend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request) {
  return tm_call_start(&(struct tm_arguments){"MPI_Irsend_c", buffer, count, type, dest, tag, comm},
                       TM_SEND, TM_READY, request);
}

#pragma weak MPI_Irecv_c = PMPI_Irecv_c
int PMPI_Irecv_c(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                 MPI_Comm comm, MPI_Request *request) {
  return tm_call_start(
      &(struct tm_arguments){"MPI_Irecv_c", buffer, count, type, source, tag, comm}, TM_RECV,
      TM_STANDARD, request);
}

#pragma weak MPI_Send_init_c = PMPI_Send_init_c
int PMPI_Send_init_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request) {
  return tm_call_init(
      &(struct tm_arguments){"MPI_Send_init_c", buffer, count, type, dest, tag, comm}, TM_SEND,
      TM_STANDARD, request);
}

#pragma weak MPI_Bsend_init_c = PMPI_Bsend_init_c
int PMPI_Bsend_init_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request) {
  return tm_call_init(
      &(struct tm_arguments){"MPI_Bsend_init_c", buffer, count, type, dest, tag, comm}, TM_SEND,
      TM_BUFFERED, request);
}

#pragma weak MPI_Ssend_init_c = PMPI_Ssend_init_c
int PMPI_Ssend_init_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request) {
  return tm_call_init(
      &(struct tm_arguments){"MPI_Ssend_init_c", buffer, count, type, dest, tag, comm}, TM_SEND,
      TM_SYNCHRONOUS, request);
}

#pragma weak MPI_Rsend_init_c = PMPI_Rsend_init_c
int PMPI_Rsend_init_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request) {
  return tm_call_init(
      &(struct tm_arguments){"MPI_Rsend_init_c", buffer, count, type, dest, tag, comm}, TM_SEND,
      TM_READY, request);
}

#pragma weak MPI_Recv_init_c = PMPI_Recv_init_c
int PMPI_Recv_init_c(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                     MPI_Comm comm, MPI_Request *request) {
  return tm_call_init(
      &(struct tm_arguments){"MPI_Recv_init_c", buffer, count, type, source, tag, comm}, TM_RECV,
      TM_STANDARD, request);
}

#pragma weak MPI_Mrecv_c = PMPI_Mrecv_c
int PMPI_Mrecv_c(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                 MPI_Status *status) {
  MPI_Request request;
  int error = tm_call_receive("MPI_Mrecv_c", buffer, count, type, message, &request);
  return error != MPI_SUCCESS ? error : PMPI_Wait(&request, status);
}

#pragma weak MPI_Imrecv_c = PMPI_Imrecv_c
int PMPI_Imrecv_c(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                  MPI_Request *request) {
  return tm_call_receive("MPI_Imrecv_c", buffer, count, type, message, request);
}

#pragma weak MPI_Sendrecv_c = PMPI_Sendrecv_c
int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  static const char call[] = "MPI_Sendrecv_c";
  return tm_call_exchange(
      &(struct tm_arguments){call, sendbuf, sendcount, sendtype, dest, sendtag, comm},
      &(struct tm_arguments){call, recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}

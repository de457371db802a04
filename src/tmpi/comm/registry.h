/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file registry.h
 * The registry: which ports are open, and which services have a name (MPI 11.4). A job has one, on
 * the node of its first rank. The ranks of other nodes ask it by notes.
 */
#ifndef TM_COMM_REGISTRY_H
#define TM_COMM_REGISTRY_H

#include <stddef.h>
#include <stdint.h>
#include <tmpi/mpi.h>

enum tm_registry_step {
  TM_PORT_OPEN, /**< in: owner. out: port, context */
  TM_PORT_CLOSE,
  TM_PORT_FIND,    /**< out: owner, context */
  TM_SERVICE_NAME, /**< a service gets a port */
  TM_SERVICE_FORGET,
  TM_SERVICE_FIND /**< out: port */
};

/** What is asked for, and the answer. */
struct tm_registry_entry {
  int owner;                    /**< of a port: the rank in the job that opened it */
  uint64_t context;             /**< of a port: where roots meet */
  char port[MPI_MAX_PORT_NAME]; /**< its name; of TM_SERVICE_FORGET "": any port */
};

/** Takes one step in the registry. service: NULL for a port. call: for reports; a caller on another
 * node waits for the answer.
 * @return MPI_SUCCESS or a class: MPI_ERR_PORT, MPI_ERR_SERVICE and MPI_ERR_NAME where the entry is
 * not there, MPI_ERR_SERVICE where a service has its name already, MPI_ERR_NO_MEM. */
int tm_registry(enum tm_registry_step step, const char *call, const char *service,
                struct tm_registry_entry *entry);

/** A note of another node: a question, or the answer. */
void tm_registry_take(int source, const void *data, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file intercomm.h
 * Intercommunicators between leaders that know each other.
 */
#ifndef TM_COMM_INTERCOMM_H
#define TM_COMM_INTERCOMM_H

#include "tmpi/object/comm.h"

/** MPI_Intercomm_create() with arguments known to be good. peer: of the local leader, where the
 * remote leader is a rank; NULL: the caller is not the leader. */
int tm_intercomm_make(struct tm_comm *local, const char *call, int local_leader,
                      struct tm_comm *peer, int remote_leader, int tag, MPI_Comm *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file drop.h
 * tm_request_empty() and tm_request_drop() without a call, for functions that nearly all messages
 * go through.
 */
#ifndef TM_MATCH_DROP_H
#define TM_MATCH_DROP_H

#include "base/atomic.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/match.h"
#include "tmpi/object/comm.h"

static inline void tm_request_empty_here(struct tm_request *request) {
  if (request->borrows) return;
  struct tm_type *type = request->type;
  struct tm_comm *comm = request->comm;
  if (type != NULL && !type->predefined) tm_type_release(type);
  if (comm != NULL && !comm->lasting) tm_comm_release(comm);
}

static inline void tm_request_drop_here(struct tm_request *request) {
  if (mt_unlikely(request->kind > TM_RECV)) {
    tm_request_drop(request);
    return;
  }
  tm_request_empty_here(request);
  tm_request_free(request);
}

#endif

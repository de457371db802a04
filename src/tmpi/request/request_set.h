/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file request_set.h
 * The requests that a call waits for or tests. A null handle, and a persistent request that has
 * not been started, is complete with an empty status; in a set it is NULL.
 */
#ifndef TM_REQUEST_REQUEST_SET_H
#define TM_REQUEST_REQUEST_SET_H

#include "tmpi/request/request.h"

enum { TM_SET_FEW = 64 }; /* requests looked up without allocating */

struct tm_request_set {
  int count;
  struct tm_request **of;
  struct tm_request *few[TM_SET_FEW];
};

/** Looks one up. @return MPI_SUCCESS or what tm_fail() returned; likewise all below. */
int tm_set_get_one(const char *call, MPI_Request handle, struct tm_request **request);
int tm_set_get(const char *call, int count, const MPI_Request handles[],
               struct tm_request_set *set);
void tm_set_drop(struct tm_request_set *set);

/** @return the first that is complete; -1: none is yet; MPI_UNDEFINED: there are none. */
int tm_set_first_done(const struct tm_request_set *set);

/** Looks for the first complete request of a call's, before it looks all of them up. @return
 * false: there is none, or an invalid handle comes first. */
bool tm_set_find_done(int count, const MPI_Request handles[], int *index,
                      struct tm_request **request);

/** Writes a complete request's status and frees it, or makes it inactive if it is persistent. A set
 * is dropped. */
int tm_set_finish_one(const char *call, MPI_Request *handle, struct tm_request *request,
                      MPI_Status *status);
int tm_set_finish_all(const char *call, struct tm_request_set *set, MPI_Request handles[],
                      MPI_Status statuses[]);
/** The same, and waits until all are complete. A request that ends early is finished early. */
int tm_set_wait_all(const char *call, struct tm_request_set *set, MPI_Request handles[],
                    MPI_Status statuses[]);
int tm_set_finish_any(const char *call, struct tm_request_set *set, int index,
                      MPI_Request handles[], MPI_Status *status);
int tm_set_finish_some(const char *call, struct tm_request_set *set, MPI_Request handles[],
                       int *done, int indices[], MPI_Status statuses[]);

#endif

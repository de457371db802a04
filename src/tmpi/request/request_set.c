/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a call looked up, and reported when they are complete. */
#include "tmpi/request/request_set.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/drop.h"
#include "tmpi/rank/handle.h"

__attribute__((cold)) static void note_unstarted(const struct tm_request *request) {
  /* relaxed: a report wants any of them */
  mt_store_relaxed(
      &tm_rank_self()->unstarted,
      tm_unstarted_word(request->kind == TM_SEND, request->peer, request->entry.envelope.tag));
}

/* @return the request of a handle that can still complete; NULL: empty. *error: not valid. */
static inline struct tm_request *active(MPI_Request handle, bool *valid) {
  *valid = true;
  if (handle == MPI_REQUEST_NULL) return NULL;
  struct tm_request *request = (struct tm_request *)handle;
  *valid = tm_handle_is_address(handle) && request->magic == TM_REQUEST_MAGIC;
  if (mt_unlikely(!*valid)) return NULL;
  if (!request->persistent || request->active) return request;
  note_unstarted(request);
  return NULL;
}

/* Null handles cost a load each: a program that waits for one of many until all are complete goes
 * over them again and again. */
bool tm_set_find_done(int count, const MPI_Request handles[], int *index,
                      struct tm_request **request) {
  for (int i = 0; i < count; i++) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    bool valid;
    *request = active(handles[i], &valid);
    if (!valid) return false;
    if (*request == NULL || !tm_request_done(*request)) continue;
    *index = i;
    return true;
  }
  return false;
}

__attribute__((cold)) static int refuse(const char *call) {
  return tm_fail(NULL, call, MPI_ERR_REQUEST,
                 "the request is not valid: complete already, or never made");
}

int tm_set_get_one(const char *call, MPI_Request handle, struct tm_request **request) {
  bool valid;
  tm_enter(call);
  *request = active(handle, &valid);
  return mt_likely(valid) ? MPI_SUCCESS : refuse(call);
}

void tm_set_drop(struct tm_request_set *set) {
  if (set->of != set->few) free(set->of);
}

int tm_set_get(const char *call, int count, const MPI_Request handles[],
               struct tm_request_set *set) {
  tm_enter(call);
  set->count = 0;
  set->of = set->few;
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_COUNT, "count %d is negative", count);
  set->count = count;
  set->of = count <= TM_SET_FEW ? set->few : malloc((size_t)count * sizeof *set->of);
  if (set->of == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  for (int i = 0; i < count; i++) {
    bool valid;
    set->of[i] = active(handles[i], &valid);
    if (mt_likely(valid)) continue;
    tm_set_drop(set);
    return refuse(call);
  }
  return MPI_SUCCESS;
}

/* @return the error of a generalized request's functions. */
static int query(const struct tm_request *request, MPI_Status *status) {
  MPI_Status own;
  MPI_Status *filled = status != MPI_STATUS_IGNORE ? status : &own;
  tm_status_set(filled, NULL);
  int queried = request->query(request->extra, filled);
  int released = request->release(request->extra);
  return queried != MPI_SUCCESS ? queried : released;
}

/* A request is complete: tells its status and gives it back, or makes it inactive. @return its
 * error. */
static inline int finish(MPI_Request *handle, struct tm_request *request, MPI_Status *status) {
  int error = request->error;
  if (mt_unlikely(request->kind == TM_GENERALIZED))
    error = query(request, status);
  else if (status != MPI_STATUS_IGNORE)
    tm_status_set(status, request);
  if (request->persistent) {
    request->active = false;
  } else {
    tm_request_drop_here(request);
    *handle = MPI_REQUEST_NULL;
  }
  return error;
}

/* The same for the one request of a call. */
int tm_set_finish_one(const char *call, MPI_Request *handle, struct tm_request *request,
                      MPI_Status *status) {
  struct tm_comm *comm = request->comm;
  if (comm != NULL) tm_comm_hold(comm);
  int error = finish(handle, request, status);
  if (error != MPI_SUCCESS) error = tm_fail_code(comm, call, error);
  if (comm != NULL) tm_comm_release(comm);
  return error;
}

/* All requests of a call are finished. */
struct finishing {
  struct tm_taker taker; /* first */
  const struct tm_request_set *set;
  MPI_Request *handles;
  MPI_Status *statuses;
  struct tm_comm *comm; /* of the first that has one, held; NULL: none yet */
  bool failed;
};

static inline void finish_at(struct finishing *all, int i) {
  struct tm_request *request = all->set->of[i];
  MPI_Status *status = all->statuses != MPI_STATUSES_IGNORE ? &all->statuses[i] : MPI_STATUS_IGNORE;
  int error = MPI_SUCCESS;
  if (request == NULL) {
    tm_status_set(status, NULL);
  } else {
    if (all->comm == NULL && (all->comm = request->comm) != NULL) tm_comm_hold(all->comm);
    error = finish(&all->handles[i], request, status);
  }
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
  all->failed |= error != MPI_SUCCESS;
}

/* @return what the call returns. */
static int finish_rest(const char *call, struct finishing *all, struct tm_request_set *set) {
  for (int i = all->taker.taken; i < set->count; i++) finish_at(all, i);
  tm_set_drop(set);
  int result = all->failed ? tm_fail_code(all->comm, call, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
  if (all->comm != NULL) tm_comm_release(all->comm);
  return result;
}

int tm_set_finish_all(const char *call, struct tm_request_set *set, MPI_Request handles[],
                      MPI_Status statuses[]) {
  struct finishing all = {.set = set, .handles = handles, .statuses = statuses};
  return finish_rest(call, &all, set);
}

/* Messages only: the end of other requests may call functions of the program. */
static void take(struct tm_taker *taker) {
  struct finishing *all = (struct finishing *)taker;
  const struct tm_request *request = all->set->of[taker->taken];
  if (request == NULL || request->kind <= TM_RECV) finish_at(all, taker->taken++);
}

int tm_set_wait_all(const char *call, struct tm_request_set *set, MPI_Request handles[],
                    MPI_Status statuses[]) {
  struct finishing all = {.taker = {take, 0}, .set = set, .handles = handles, .statuses = statuses};
  tm_requests_wait_all(set->of, set->count, &all.taker, call);
  return finish_rest(call, &all, set);
}

/* @return the first that is complete; -1: none is yet; MPI_UNDEFINED: there are none. */
int tm_set_first_done(const struct tm_request_set *set) {
  bool any = false;
  for (int i = 0; i < set->count; i++) {
    if (set->of[i] == NULL) continue;
    if (tm_request_done(set->of[i])) return i;
    any = true;
  }
  return any ? -1 : MPI_UNDEFINED;
}

int tm_set_finish_any(const char *call, struct tm_request_set *set, int index,
                      MPI_Request handles[], MPI_Status *status) {
  int error = MPI_SUCCESS;
  if (index >= 0)
    error = tm_set_finish_one(call, &handles[index], set->of[index], status);
  else
    tm_status_set(status, NULL);
  tm_set_drop(set);
  return error;
}

/* Finishes all that are complete. */
int tm_set_finish_some(const char *call, struct tm_request_set *set, MPI_Request handles[],
                       int *done, int indices[], MPI_Status statuses[]) {
  bool failed = false;
  struct tm_comm *comm = NULL;
  *done = tm_set_first_done(set) == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  for (int i = 0; i < set->count; i++) {
    struct tm_request *request = set->of[i];
    if (request == NULL || !tm_request_done(request)) continue;
    MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[*done] : MPI_STATUS_IGNORE;
    if (comm == NULL && (comm = request->comm) != NULL) tm_comm_hold(comm);
    int error = finish(&handles[i], request, status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    failed |= error != MPI_SUCCESS;
    indices[(*done)++] = i;
  }
  tm_set_drop(set);
  int result = failed ? tm_fail_code(comm, call, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
  if (comm != NULL) tm_comm_release(comm);
  return result;
}

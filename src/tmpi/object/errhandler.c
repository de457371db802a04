/* SPDX-License-Identifier: Apache-2.0 */
/* Error handlers: the predefined ones, and those a program makes. */
#include "tmpi/object/errhandler.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/rank/handle.h"

static struct tm_errhandler fatal = {TM_ERRHANDLER_MAGIC, 1, TM_HANDLES_ALL, NULL};
static struct tm_errhandler ends = {TM_ERRHANDLER_MAGIC, 1, TM_HANDLES_ALL, NULL};
static struct tm_errhandler returns = {TM_ERRHANDLER_MAGIC, 1, TM_HANDLES_ALL, NULL};

struct tm_errhandler *tm_errhandler_fatal(void) { return &fatal; }

struct tm_errhandler *tm_errhandler_returning(void) { return &returns; }

static bool is_predefined(const struct tm_errhandler *handler) {
  return handler == &fatal || handler == &ends || handler == &returns;
}

void tm_errhandler_hold(struct tm_errhandler *handler) {
  if (!is_predefined(handler)) mt_add_relaxed(&handler->refs, 1); /* relaxed: the caller has one */
}

void tm_errhandler_release(struct tm_errhandler *handler) {
  /* EH-1 acq_rel: all uses are over; pairs EH-1 */
  if (is_predefined(handler) || mt_add_acq_rel(&handler->refs, (uint32_t)-1) != 1) return;
  handler->magic = 0;
  free(handler);
}

struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle) {
  if (handle == MPI_ERRORS_ARE_FATAL) return &fatal;
  if (handle == MPI_ERRORS_ABORT) return &ends;
  if (handle == MPI_ERRORS_RETURN) return &returns;
  if (!tm_handle_is_address(handle)) return NULL;
  struct tm_errhandler *handler = (struct tm_errhandler *)handle;
  return handler->magic == TM_ERRHANDLER_MAGIC ? handler : NULL;
}

MPI_Errhandler tm_errhandler_handle(struct tm_errhandler *handler) {
  if (handler == &fatal) return MPI_ERRORS_ARE_FATAL;
  if (handler == &ends) return MPI_ERRORS_ABORT;
  if (handler == &returns) return MPI_ERRORS_RETURN;
  return (MPI_Errhandler)handler;
}

bool tm_errhandler_ends(const struct tm_errhandler *handler) {
  return handler == &fatal || handler == &ends;
}

bool tm_errhandler_fits(const struct tm_errhandler *handler, enum tm_errhandler_of of) {
  return handler != NULL && (handler->of == TM_HANDLES_ALL || handler->of == of);
}

struct tm_errhandler *tm_errhandler_new(enum tm_errhandler_of of, tm_error_function *function) {
  struct tm_errhandler *handler = function != NULL ? malloc(sizeof *handler) : NULL;
  if (handler != NULL) *handler = (struct tm_errhandler){TM_ERRHANDLER_MAGIC, 1, of, function};
  return handler;
}

struct tm_errhandler *tm_errhandler_get(uint32_t *ilock, struct tm_errhandler *const *at) {
  mti_lock(ilock);
  struct tm_errhandler *handler = *at;
  tm_errhandler_hold(handler);
  mti_unlock(ilock);
  return handler;
}

void tm_errhandler_set(uint32_t *ilock, struct tm_errhandler **at, struct tm_errhandler *handler) {
  tm_errhandler_hold(handler);
  mti_lock(ilock);
  struct tm_errhandler *old = *at;
  *at = handler;
  mti_unlock(ilock);
  tm_errhandler_release(old);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses are checked: a wrong one would overwrite memory of another rank without a trace.
 *
 * Relaxed: a mark of the owner's.
 */
#include "tmpi/rma/access.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/request/request.h"

void (*tm_access_hook)(const struct tm_access_call *c, const struct tm_access *access,
                       const char *low, const char *high);

/* Both kinds of access, to this node and to another, have these inline: a call costs a tenth of
 * what an access within a node does. */
#define INLINE __attribute__((always_inline)) static inline

/* Checks that the origin has an access epoch to the target. */
INLINE int check_epoch(const struct tm_access_call *c, struct tm_win *win) {
  bool locked = win->all_locked || (win->access[c->target] & TM_LOCKED) != 0;
  if (locked) return MPI_SUCCESS;
  if (c->request != NULL)
    return tm_win_sync_error(win, c->call, "calls that make requests need MPI_Win_lock()");
  if (win->access[c->target] != 0) return MPI_SUCCESS;
  if (!win->fenced)
    return tm_win_sync_error(win, c->call,
                             "no epoch is open to this target (MPI_Win_fence(), "
                             "MPI_Win_start() or MPI_Win_lock())");
  if (mt_load_relaxed(&win->fence_used) == 0) mt_store_relaxed(&win->fence_used, 1);
  return MPI_SUCCESS;
}

/* The bytes that elements at an address touch. @return false: no address is that large. */
INLINE bool range_of(const char *at, MPI_Count count, const struct tm_type *type, const char **low,
                     const char **high) {
  ptrdiff_t across, first = type->true_lb, end = type->true_ub;
  if (__builtin_mul_overflow((ptrdiff_t)(count - 1), tm_type_extent(type), &across)) return false;
  if (__builtin_add_overflow(across < 0 ? first : end, across, across < 0 ? &first : &end))
    return false;
  uintptr_t from, to;
  if (__builtin_add_overflow((intptr_t)at, first, (intptr_t *)&from) ||
      __builtin_add_overflow((intptr_t)at, end, (intptr_t *)&to))
    return false;
  *low = (const char *)from;
  *high = (const char *)to;
  return true;
}

/* Finds the target's memory, all of which has to lie in the window. Of a dynamic window on another
 * node, that node sees whether it does. */
INLINE int find_memory(const struct tm_access_call *c, struct tm_access *access) {
  struct tm_win *win = access->win, *target = access->target;
  const char *low = NULL, *high = NULL;
  ptrdiff_t offset;
  bool fits = !__builtin_mul_overflow(c->disp, (ptrdiff_t)target->disp_unit, &offset);
  access->memory.at = (void *)((uintptr_t)target->base + (uintptr_t)offset);
  if (access->memory.bytes == 0) return MPI_SUCCESS;
  fits = fits && range_of(access->memory.at, c->target_count, access->memory.type, &low, &high);
  if (fits && win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
    fits = target->magic != TM_WIN_MAGIC || tm_win_is_attached(target, low, high);
  else if (fits)
    fits = low >= target->base && high <= target->base + target->bytes;
  if (!fits)
    return tm_win_fail(win, c->call, MPI_ERR_RMA_RANGE,
                       "displacement %td and %lld elements are not all in the %td bytes of rank %d",
                       c->disp, (long long)c->target_count, target->bytes, c->target);
  if (mt_unlikely(tm_access_hook != NULL)) tm_access_hook(c, access, low, high);
  return MPI_SUCCESS;
}

int tm_access_refuse(const struct tm_access_call *c, struct tm_win *win, MPI_Count count,
                     MPI_Datatype type) {
  if (count < 0)
    return tm_win_fail(win, c->call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  const struct tm_type *known = tm_type_of(type);
  if (known != NULL && !known->committed)
    return tm_win_fail(win, c->call, MPI_ERR_TYPE,
                       "the datatype is not committed (MPI_Type_commit())");
  if (known != NULL)
    return tm_win_fail(win, c->call, MPI_ERR_COUNT,
                       "%lld elements of %zu bytes are more than an address space has",
                       (long long)count, known->size);
  return tm_win_fail(
      win, c->call, MPI_ERR_TYPE, "the datatype is %s",
      type == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : "not valid: freed, or never made");
}

INLINE int check_access(const struct tm_access_call *c, struct tm_access *access) {
  struct tm_win *win = access->win;
  int error = check_epoch(c, win);
  if (error == MPI_SUCCESS && c->disp < 0 && win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
    error = tm_win_fail(win, c->call, MPI_ERR_DISP, "displacement %td is negative", c->disp);
  if (error == MPI_SUCCESS)
    error = tm_access_part(c, access, NULL, c->target_count, c->target_type, &access->memory);
  return error == MPI_SUCCESS ? find_memory(c, access) : error;
}

/* Of a target on another node, for which a view without a magic number stands; or of MPI_PROC_NULL.
 */
__attribute__((noinline)) static int begin_elsewhere(const struct tm_access_call *c,
                                                     struct tm_access *access) {
  access->far = NULL;
  if (c->target == MPI_PROC_NULL) return MPI_SUCCESS;
  const struct tm_win_member *far = access->far = &access->win->common->far[c->target];
  struct tm_win view = {
      .base = (char *)(uintptr_t)far->base, .bytes = far->bytes, .disp_unit = far->disp_unit};
  access->target = &view;
  int error = check_access(c, access);
  access->target = NULL;
  return error;
}

int tm_access_begin(const struct tm_access_call *c, struct tm_access *access) {
  struct tm_win *win;
  int error = tm_get_win(c->call, c->win, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_target(win, c->call, c->target);
  if (error != MPI_SUCCESS) return error;
  access->win = win;
  access->target = c->target != MPI_PROC_NULL ? win->common->views[c->target] : NULL;
  return access->target != NULL ? check_access(c, access) : begin_elsewhere(c, access);
}

int tm_access_too_long(const struct tm_access_call *c, const struct tm_access *access, size_t sent,
                       size_t room) {
  return tm_win_fail(access->win, c->call, MPI_ERR_TRUNCATE,
                     "%zu bytes are transferred to elements of %zu bytes", sent, room);
}

int tm_access_make_request(const struct tm_access_call *c, const struct tm_access *access) {
  struct tm_request *request = tm_request_new_of(TM_COLLECTIVE);
  if (request == NULL) return tm_win_fail_code(access->win, c->call, MPI_ERR_NO_MEM);
  request->owner = access->win->comm->owner;
  request->source = MPI_ANY_SOURCE;
  request->tag = MPI_ANY_TAG;
  *c->request = (MPI_Request)request;
  tm_request_complete(request);
  return MPI_SUCCESS;
}

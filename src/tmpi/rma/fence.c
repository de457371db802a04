/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences: all members end their epochs and begin the next ones together. Accesses are complete, or
 * are when other nodes have answered, so a fence is a barrier of the window's own communicator.
 *
 * Relaxed: a mark of the owner's.
 */
#include "base/atomic.h"
#include "tmpi/coll/coll.h"
#include "tmpi/rma/win.h"

enum {
  FENCE_ASSERTIONS = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED
};

bool tm_win_fence_in_use(const struct tm_win *win) {
  return win->fenced && mt_load_relaxed(&win->fence_used) != 0;
}

#pragma weak MPI_Win_fence = PMPI_Win_fence
int PMPI_Win_fence(int assertion, MPI_Win handle) {
  static const char call[] = "MPI_Win_fence";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_assert(win, call, assertion, FENCE_ASSERTIONS);
  if (error != MPI_SUCCESS) return error;
  if (tm_win_has_locks(win)) return tm_win_sync_error(win, call, "the origin still holds a lock");
  if (win->start != NULL)
    return tm_win_sync_error(win, call, "MPI_Win_start() has no MPI_Win_complete() yet");
  if (win->post != NULL)
    return tm_win_sync_error(win, call, "MPI_Win_post() has no MPI_Win_wait() yet");
  if ((assertion & MPI_MODE_NOPRECEDE) != 0 && tm_win_fence_in_use(win))
    return tm_win_sync_error(win, call, "MPI_MODE_NOPRECEDE, but there were accesses before");
  tm_win_settle_all(win, call);
  tm_barrier(win->comm, call);
  win->fenced = (assertion & MPI_MODE_NOSUCCEED) == 0;
  mt_store_relaxed(&win->fence_used, 0);
  return MPI_SUCCESS;
}

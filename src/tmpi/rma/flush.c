/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flushes. An access within a node is complete when its call returns, so a flush waits for other
 * nodes only. It checks that it is in a passive epoch, orders memory, and lets other ranks run.
 */
#include "tmpi/rma/win.h"

/* Orders the caller's accesses, and the loads and stores of a program that shares memory. */
static void order_memory(void) {
  /* WF-1 seq_cst: what came before is visible to what follows on other ranks; pairs WF-1 */
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int flush(const char *call, MPI_Win handle, int rank) {
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_target(win, call, rank);
  if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) return error;
  if (!win->all_locked && (win->access[rank] & TM_LOCKED) == 0)
    return tm_win_sync_error(win, call, "the origin does not hold the lock of this target");
  tm_win_settle_all(win, call);
  order_memory();
  tm_win_breathe(win);
  return MPI_SUCCESS;
}

static int flush_all(const char *call, MPI_Win handle, bool needs_epoch) {
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (needs_epoch && !tm_win_has_locks(win))
    return tm_win_sync_error(win, call, "the origin holds no lock");
  tm_win_settle_all(win, call);
  order_memory();
  tm_win_breathe(win);
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_flush = PMPI_Win_flush
int PMPI_Win_flush(int rank, MPI_Win win) { return flush("MPI_Win_flush", win, rank); }

#pragma weak MPI_Win_flush_local = PMPI_Win_flush_local
int PMPI_Win_flush_local(int rank, MPI_Win win) { return flush("MPI_Win_flush_local", win, rank); }

#pragma weak MPI_Win_flush_all = PMPI_Win_flush_all
int PMPI_Win_flush_all(MPI_Win win) { return flush_all("MPI_Win_flush_all", win, true); }

#pragma weak MPI_Win_flush_local_all = PMPI_Win_flush_local_all
int PMPI_Win_flush_local_all(MPI_Win win) {
  return flush_all("MPI_Win_flush_local_all", win, true);
}

#pragma weak MPI_Win_sync = PMPI_Win_sync
int PMPI_Win_sync(MPI_Win win) { return flush_all("MPI_Win_sync", win, false); }

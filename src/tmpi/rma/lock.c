/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of windows: passive targets.
 *
 * The lock of a target is in the target's view. Waiters get it in their order, so a stream of
 * shared holders cannot starve an exclusive waiter. The lock of all targets is a counter in the
 * gate, which excludes exclusive locks of single targets. An origin that holds an exclusive lock
 * already passes waiters at the gate, because they may wait for that very lock.
 */
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/error/errors.h"
#include "tmpi/rma/win.h"

bool tm_win_has_locks(const struct tm_win *win) { return win->all_locked || win->locked > 0; }

/* ---- the gate */

/* @return whether the gate is on another node, the first member's. */
static bool is_gate_far(const struct tm_win_common *common) {
  return common->far != NULL && common->views[0] == NULL;
}

/* Lets waiters in from the front as far as they are compatible. The gate's ilock is held. */
static struct tm_win_wait *open_gate(struct tm_win_common *gate) {
  struct tm_win_wait *woken = NULL;
  while (gate->waiters.first != NULL) {
    bool all = gate->waiters.first->what == TM_FOR_ALL;
    if (all ? gate->exclusive > 0 : gate->all > 0) break;
    *(all ? &gate->all : &gate->exclusive) += 1;
    tm_win_take(&gate->waiters, &woken);
  }
  return woken;
}

struct tm_win_wait *tm_win_gate_leave(struct tm_win_common *gate, bool all) {
  mti_lock(&gate->ilock);
  --*(all ? &gate->all : &gate->exclusive);
  struct tm_win_wait *woken = open_gate(gate);
  mti_unlock(&gate->ilock);
  return woken;
}

static void leave_gate(struct tm_win *win, bool all) {
  if (mt_unlikely(is_gate_far(win->common)))
    tm_win_far_leave_gate(win, all);
  else
    tm_win_wake(tm_win_gate_leave(win->common, all), false);
}

bool tm_win_gate_try(struct tm_win_common *gate, struct tm_win_wait *wait, bool passes) {
  bool all = wait->what == TM_FOR_ALL;
  if ((all ? gate->exclusive : gate->all) == 0 && (gate->waiters.first == NULL || passes)) {
    ++*(all ? &gate->all : &gate->exclusive);
    return true;
  }
  tm_win_enqueue(&gate->waiters, wait);
  return false;
}

static void enter_gate(struct tm_win_wait *wait, bool passes, const char *call) {
  struct tm_win_common *gate = wait->win->common;
  if (mt_unlikely(is_gate_far(gate))) {
    tm_win_far_gate(wait, passes, call);
    return;
  }
  wait->thread = mti_self(call);
  mti_lock(&gate->ilock);
  if (tm_win_gate_try(gate, wait, passes))
    mti_unlock(&gate->ilock);
  else
    tm_win_park(wait, &gate->ilock, call);
}

static void enter_gate_exclusive(struct tm_win *win, int target, const char *call) {
  struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_GATE);
  wait.target = target;
  wait.exclusive = true;
  enter_gate(&wait, win->exclusives > 0, call);
}

static void enter_gate_all(struct tm_win *win, const char *call) {
  struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_ALL);
  enter_gate(&wait, false, call);
}

/* ---- the lock of one target */

static bool can_have(const struct tm_win *target, bool exclusive) {
  return target->exclusive_holder < 0 && (!exclusive || target->shared_holders == 0);
}

static void take(struct tm_win *target, bool exclusive, int origin) {
  if (exclusive)
    target->exclusive_holder = origin;
  else
    target->shared_holders++;
}

bool tm_win_lock_try(struct tm_win *target, struct tm_win_wait *wait) {
  if (target->waiters.first == NULL && can_have(target, wait->exclusive)) {
    take(target, wait->exclusive, wait->origin);
    return true;
  }
  tm_win_enqueue(&target->waiters, wait);
  return false;
}

static void acquire(struct tm_win *win, int rank, bool exclusive, const char *call) {
  struct tm_win *target = win->common->views[rank];
  struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_LOCK);
  if (exclusive) enter_gate_exclusive(win, rank, call);
  wait.target = rank;
  wait.exclusive = exclusive;
  if (mt_unlikely(target == NULL)) {
    tm_win_far_lock(&wait, call);
    return;
  }
  wait.thread = mti_self(call);
  mti_lock(&target->ilock);
  if (tm_win_lock_try(target, &wait))
    mti_unlock(&target->ilock);
  else
    tm_win_park(&wait, &target->ilock, call);
}

struct tm_win_wait *tm_win_lock_release(struct tm_win *target, bool exclusive) {
  struct tm_win_wait *woken = NULL, *first;
  mti_lock(&target->ilock);
  if (exclusive)
    target->exclusive_holder = -1;
  else
    target->shared_holders--;
  while ((first = target->waiters.first) != NULL && can_have(target, first->exclusive)) {
    take(target, first->exclusive, first->origin);
    tm_win_take(&target->waiters, &woken);
  }
  mti_unlock(&target->ilock);
  return woken;
}

static void release(struct tm_win *win, int rank, bool exclusive) {
  struct tm_win *target = win->common->views[rank];
  if (mt_unlikely(target == NULL))
    tm_win_far_unlock(win, rank, exclusive);
  else
    tm_win_wake(tm_win_lock_release(target, exclusive), false);
  if (exclusive) leave_gate(win, false);
}

/* ---- the calls */

/* @return MPI_SUCCESS if the origin may open an access epoch by a lock. */
static int check_no_epoch(struct tm_win *win, const char *call) {
  if (win->start != NULL)
    return tm_win_sync_error(win, call, "MPI_Win_start() has no MPI_Win_complete() yet");
  if (win->all_locked)
    return tm_win_sync_error(win, call, "MPI_Win_lock_all() has no MPI_Win_unlock_all() yet");
  if (tm_win_fence_in_use(win))
    return tm_win_sync_error(win, call, "there were accesses since the last MPI_Win_fence()");
  return MPI_SUCCESS;
}

static void count_lock(struct tm_win *win, bool exclusive, int change) {
  mti_lock(&win->ilock);
  win->locked += change;
  if (exclusive) win->exclusives += change;
  mti_unlock(&win->ilock);
}

#pragma weak MPI_Win_lock = PMPI_Win_lock
int PMPI_Win_lock(int lock_type, int rank, int assertion, MPI_Win handle) {
  static const char call[] = "MPI_Win_lock";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS && lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED)
    error = tm_win_fail(win, call, MPI_ERR_LOCKTYPE, "%d is no type of lock", lock_type);
  if (error == MPI_SUCCESS) error = tm_win_check_target(win, call, rank);
  if (error == MPI_SUCCESS) error = tm_win_check_assert(win, call, assertion, MPI_MODE_NOCHECK);
  if (error == MPI_SUCCESS) error = check_no_epoch(win, call);
  if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) return error;
  if (win->access[rank] != 0)
    return tm_win_sync_error(win, call, "the origin holds the lock of this target already");
  bool exclusive = lock_type == MPI_LOCK_EXCLUSIVE, nocheck = assertion != 0;
  mti_preempt(call);
  if (!nocheck) acquire(win, rank, exclusive, call);
  count_lock(win, exclusive && !nocheck, 1);
  win->fenced = false;
  win->access[rank] = nocheck     ? TM_LOCKED_NOCHECK
                      : exclusive ? TM_LOCKED_EXCLUSIVE
                                  : TM_LOCKED_SHARED;
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_unlock = PMPI_Win_unlock
int PMPI_Win_unlock(int rank, MPI_Win handle) {
  static const char call[] = "MPI_Win_unlock";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_target(win, call, rank);
  if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) return error;
  int held = win->access[rank] & TM_LOCKED;
  if (held == 0)
    return tm_win_sync_error(win, call, "the origin does not hold the lock of this target");
  bool exclusive = held == TM_LOCKED_EXCLUSIVE;
  tm_win_settle_all(win, call);
  win->access[rank] = 0;
  count_lock(win, exclusive, -1);
  if (held != TM_LOCKED_NOCHECK) release(win, rank, exclusive);
  tm_win_breathe(win);
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_lock_all = PMPI_Win_lock_all
int PMPI_Win_lock_all(int assertion, MPI_Win handle) {
  static const char call[] = "MPI_Win_lock_all";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_assert(win, call, assertion, MPI_MODE_NOCHECK);
  if (error == MPI_SUCCESS) error = check_no_epoch(win, call);
  if (error != MPI_SUCCESS) return error;
  if (win->locked > 0)
    return tm_win_sync_error(win, call, "the origin holds the lock of a single target");
  mti_preempt(call);
  win->all_nocheck = assertion != 0;
  if (!win->all_nocheck) enter_gate_all(win, call);
  win->fenced = false;
  win->all_locked = true;
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_unlock_all = PMPI_Win_unlock_all
int PMPI_Win_unlock_all(MPI_Win handle) {
  static const char call[] = "MPI_Win_unlock_all";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (!win->all_locked) return tm_win_sync_error(win, call, "there was no MPI_Win_lock_all()");
  tm_win_settle_all(win, call);
  win->all_locked = false;
  if (!win->all_nocheck) leave_gate(win, true);
  tm_win_breathe(win);
  return MPI_SUCCESS;
}

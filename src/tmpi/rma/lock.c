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

/* What a lock that is free costs; calls would add a tenth. */
#define INLINE __attribute__((always_inline)) static inline

bool tm_win_has_locks(const struct tm_win *win) { return win->all_locked || win->locked > 0; }

/* The only test for nodes on the way of a window that has none: the others are in functions of
 * their own. */
static inline bool spans_nodes(const struct tm_win *win) {
  return MLTP_NODES && mt_unlikely(win->common->far != NULL);
}

/* ---- the gate */

/* @return whether the gate is on another node, the first member's. */
static bool is_gate_far(const struct tm_win *win) {
  return spans_nodes(win) && win->common->views[0] == NULL;
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

INLINE struct tm_win_wait *gate_leave(struct tm_win_common *gate, bool all) {
  mti_lock(&gate->ilock);
  --*(all ? &gate->all : &gate->exclusive);
  struct tm_win_wait *woken = open_gate(gate);
  mti_unlock(&gate->ilock);
  return woken;
}

struct tm_win_wait *tm_win_gate_leave(struct tm_win_common *gate, bool all) {
  return gate_leave(gate, all);
}

INLINE void leave_near_gate(struct tm_win *win, bool all) {
  struct tm_win_wait *woken = gate_leave(win->common, all);
  if (woken != NULL) tm_win_wake(woken, false);
}

static void leave_gate(struct tm_win *win, bool all) {
  if (is_gate_far(win))
    tm_win_far_leave_gate(win, all);
  else
    leave_near_gate(win, all);
}

static inline bool try_gate(struct tm_win_common *gate, bool all, bool passes) {
  if ((all ? gate->exclusive : gate->all) > 0) return false;
  if (gate->waiters.first != NULL && !passes) return false;
  ++*(all ? &gate->all : &gate->exclusive);
  return true;
}

bool tm_win_gate_try(struct tm_win_common *gate, bool all, bool passes) {
  return try_gate(gate, all, passes);
}

/* The gate's ilock is held, and released, if it is here. */
__attribute__((noinline)) static void wait_at_gate(struct tm_win *win, bool all, int target,
                                                   const char *call) {
  struct tm_win_common *gate = win->common;
  struct tm_win_wait wait = tm_win_waiter(win, all ? TM_FOR_ALL : TM_FOR_GATE);
  wait.target = target;
  wait.exclusive = !all;
  if (is_gate_far(win)) {
    tm_win_far_gate(&wait, !all && win->exclusives > 0, call);
    return;
  }
  wait.thread = mti_self(call);
  tm_win_enqueue(&gate->waiters, &wait);
  tm_win_park(&wait, &gate->ilock, call);
}

/* target: of an exclusive lock. */
INLINE void enter_near_gate(struct tm_win *win, bool all, int target, const char *call) {
  struct tm_win_common *gate = win->common;
  mti_lock(&gate->ilock);
  if (try_gate(gate, all, !all && win->exclusives > 0))
    mti_unlock(&gate->ilock);
  else
    wait_at_gate(win, all, target, call);
}

static void enter_gate(struct tm_win *win, bool all, int target, const char *call) {
  if (is_gate_far(win))
    wait_at_gate(win, all, target, call);
  else
    enter_near_gate(win, all, target, call);
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

static inline bool try_lock(struct tm_win *target, bool exclusive, int origin) {
  if (target->waiters.first != NULL || !can_have(target, exclusive)) return false;
  take(target, exclusive, origin);
  return true;
}

bool tm_win_lock_try(struct tm_win *target, bool exclusive, int origin) {
  return try_lock(target, exclusive, origin);
}

/* The target's ilock is held, and released, if the target is here. */
__attribute__((noinline)) static void wait_for_lock(struct tm_win *win, int rank, bool exclusive,
                                                    const char *call) {
  struct tm_win *target = win->common->views[rank];
  struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_LOCK);
  wait.target = rank;
  wait.exclusive = exclusive;
  if (target == NULL) {
    tm_win_far_lock(&wait, call);
    return;
  }
  wait.thread = mti_self(call);
  tm_win_enqueue(&target->waiters, &wait);
  tm_win_park(&wait, &target->ilock, call);
}

/* The target is on this node. */
INLINE void acquire_near(struct tm_win *win, int rank, bool exclusive, const char *call) {
  struct tm_win *target = win->common->views[rank];
  mti_lock(&target->ilock);
  if (try_lock(target, exclusive, win->comm->rank))
    mti_unlock(&target->ilock);
  else
    wait_for_lock(win, rank, exclusive, call);
}

__attribute__((noinline)) static void acquire_over_nodes(struct tm_win *win, int rank,
                                                         bool exclusive, const char *call) {
  tm_win_far_lock_now(win->comm->owner, call);
  if (exclusive) enter_gate(win, false, rank, call);
  if (win->common->views[rank] != NULL)
    acquire_near(win, rank, exclusive, call);
  else if (!tm_win_far_defer(win, rank, exclusive))
    wait_for_lock(win, rank, exclusive, call);
}

static void acquire(struct tm_win *win, int rank, bool exclusive, const char *call) {
  if (spans_nodes(win)) {
    acquire_over_nodes(win, rank, exclusive, call);
    return;
  }
  if (exclusive) enter_near_gate(win, false, rank, call);
  acquire_near(win, rank, exclusive, call);
}

INLINE struct tm_win_wait *lock_release(struct tm_win *target, bool exclusive) {
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

struct tm_win_wait *tm_win_lock_release(struct tm_win *target, bool exclusive) {
  return lock_release(target, exclusive);
}

/* The target is on this node. */
INLINE void release_near(struct tm_win *win, int rank, bool exclusive) {
  struct tm_win_wait *woken = lock_release(win->common->views[rank], exclusive);
  if (woken != NULL) tm_win_wake(woken, false);
}

__attribute__((noinline)) static void release_over_nodes(struct tm_win *win, int rank,
                                                         bool exclusive) {
  if (win->common->views[rank] == NULL)
    tm_win_far_unlock(win, rank, exclusive);
  else
    release_near(win, rank, exclusive);
  if (exclusive) leave_gate(win, false);
}

static void release(struct tm_win *win, int rank, bool exclusive) {
  if (spans_nodes(win)) {
    release_over_nodes(win, rank, exclusive);
    return;
  }
  release_near(win, rank, exclusive);
  if (exclusive) leave_near_gate(win, false);
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
  win->access[rank] |= nocheck     ? TM_LOCKED_NOCHECK
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
  win->access[rank] = 0;
  count_lock(win, exclusive, -1);
  if (held != TM_LOCKED_NOCHECK)
    release(win, rank, exclusive);
  else
    tm_win_settle_all(win, call);
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
  if (spans_nodes(win)) tm_win_far_lock_now(win->comm->owner, call);
  win->all_nocheck = assertion != 0;
  if (!win->all_nocheck) enter_gate(win, true, -1, call);
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

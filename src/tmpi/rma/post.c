/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs between some members: a target posts its memory to a group of origins, an origin starts
 * towards a group of targets. MPI_Win_start() waits for the posts, so accesses need no test.
 */
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/rma/win.h"

/* Checks that a group is one of members. */
static int check_group(struct tm_win *win, const char *call, MPI_Group handle,
                       struct tm_group **group) {
  *group = tm_group_of(handle);
  if (*group == NULL) return tm_win_fail(win, call, MPI_ERR_GROUP, "the group is not valid");
  for (int i = 0; i < (*group)->size; i++)
    if (tm_group_find(win->group, (*group)->ranks[i]) == MPI_UNDEFINED)
      return tm_win_fail(win, call, MPI_ERR_GROUP, "rank %d of the group is no member", i);
  return MPI_SUCCESS;
}

static int member(const struct tm_win *win, const struct tm_group *group, int i) {
  return tm_group_find(win->group, group->ranks[i]);
}

/* ---- the target */

struct tm_win_wait *tm_win_posted(struct tm_win *origin, int target) {
  struct tm_win_wait *woken = NULL;
  mti_lock(&origin->ilock);
  if (origin->posts[target] != TM_AWAITED) {
    origin->posts[target] = TM_POSTED;
  } else {
    origin->posts[target] = TM_NOT_POSTED;
    if (--origin->unposted == 0) {
      woken = origin->starts;
      origin->starts = NULL;
    }
  }
  mti_unlock(&origin->ilock);
  return woken;
}

static void notify_origin(struct tm_win *win, int origin) {
  struct tm_win *view = win->common->views[origin];
  if (view != NULL)
    tm_win_wake(tm_win_posted(view, win->comm->rank), false);
  else
    tm_win_far_posted(win, origin);
}

#pragma weak MPI_Win_post = PMPI_Win_post
int PMPI_Win_post(MPI_Group group_handle, int assertion, MPI_Win handle) {
  static const char call[] = "MPI_Win_post";
  struct tm_win *win;
  struct tm_group *group;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS)
    error = tm_win_check_assert(win, call, assertion,
                                MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
  if (error == MPI_SUCCESS) error = check_group(win, call, group_handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (win->post != NULL)
    return tm_win_sync_error(win, call, "MPI_Win_post() has no MPI_Win_wait() yet");
  if (tm_win_fence_in_use(win))
    return tm_win_sync_error(win, call, "there were accesses since the last MPI_Win_fence()");
  win->fenced = false;
  tm_group_hold(group);
  win->post = group;
  win->exposures++;
  mti_lock(&win->ilock);
  win->incomplete = group->size;
  for (int i = 0; i < group->size; i++) win->exposed[member(win, group, i)] = 1;
  mti_unlock(&win->ilock);
  for (int i = 0; i < group->size; i++) notify_origin(win, member(win, group, i));
  return MPI_SUCCESS;
}

static void end_post(struct tm_win *win) {
  tm_group_release(win->post);
  win->post = NULL;
}

#pragma weak MPI_Win_wait = PMPI_Win_wait
int PMPI_Win_wait(MPI_Win handle) {
  static const char call[] = "MPI_Win_wait";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (win->post == NULL) return tm_win_sync_error(win, call, "there was no MPI_Win_post()");
  mti_preempt(call);
  mti_lock(&win->ilock);
  if (win->incomplete > 0) {
    struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_COMPLETE);
    wait.thread = mti_self(call);
    win->completes = &wait;
    tm_win_park(&wait, &win->ilock, call);
  } else {
    mti_unlock(&win->ilock);
  }
  end_post(win);
  return MPI_SUCCESS;
}

#pragma weak MPI_Win_test = PMPI_Win_test
int PMPI_Win_test(MPI_Win handle, int *flag) {
  static const char call[] = "MPI_Win_test";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (win->post == NULL) return tm_win_sync_error(win, call, "there was no MPI_Win_post()");
  mti_lock(&win->ilock);
  *flag = win->incomplete == 0;
  mti_unlock(&win->ilock);
  if (*flag)
    end_post(win);
  else
    tm_win_breathe(win);
  return MPI_SUCCESS;
}

/* ---- the origin */

#pragma weak MPI_Win_start = PMPI_Win_start
int PMPI_Win_start(MPI_Group group_handle, int assertion, MPI_Win handle) {
  static const char call[] = "MPI_Win_start";
  struct tm_win *win;
  struct tm_group *group;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_assert(win, call, assertion, MPI_MODE_NOCHECK);
  if (error == MPI_SUCCESS) error = check_group(win, call, group_handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (win->start != NULL)
    return tm_win_sync_error(win, call, "MPI_Win_start() has no MPI_Win_complete() yet");
  if (tm_win_has_locks(win)) return tm_win_sync_error(win, call, "the origin still holds a lock");
  if (tm_win_fence_in_use(win))
    return tm_win_sync_error(win, call, "there were accesses since the last MPI_Win_fence()");
  win->fenced = false;
  tm_group_hold(group);
  win->start = group;
  for (int i = 0; i < group->size; i++) win->access[member(win, group, i)] |= TM_STARTED;
  mti_preempt(call);
  mti_lock(&win->ilock);
  for (int i = 0; i < group->size; i++) {
    uint8_t *post = &win->posts[member(win, group, i)];
    if (*post != TM_POSTED) win->unposted++;
    *post = *post == TM_POSTED ? TM_NOT_POSTED : TM_AWAITED;
  }
  if (win->unposted > 0) {
    struct tm_win_wait wait = tm_win_waiter(win, TM_FOR_POST);
    wait.thread = mti_self(call);
    win->starts = &wait;
    tm_win_park(&wait, &win->ilock, call);
  } else {
    mti_unlock(&win->ilock);
  }
  return MPI_SUCCESS;
}

struct tm_win_wait *tm_win_completed(struct tm_win *target, int origin) {
  struct tm_win_wait *woken = NULL;
  mti_lock(&target->ilock);
  target->exposed[origin] = 0;
  if (--target->incomplete == 0) {
    woken = target->completes;
    target->completes = NULL;
  }
  mti_unlock(&target->ilock);
  return woken;
}

static void notify_target(struct tm_win *win, int target) {
  struct tm_win *view = win->common->views[target];
  if (view != NULL)
    tm_win_wake(tm_win_completed(view, win->comm->rank), false);
  else
    tm_win_far_completed(win, target);
}

#pragma weak MPI_Win_complete = PMPI_Win_complete
int PMPI_Win_complete(MPI_Win handle) {
  static const char call[] = "MPI_Win_complete";
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  struct tm_group *group = win->start;
  if (group == NULL) return tm_win_sync_error(win, call, "there was no MPI_Win_start()");
  for (int i = 0; i < group->size; i++) {
    int target = member(win, group, i);
    win->access[target] = 0;
    notify_target(win, target);
  }
  tm_win_settle_all(win, call);
  win->start = NULL;
  tm_group_release(group);
  return MPI_SUCCESS;
}

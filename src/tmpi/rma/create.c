/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows are made and freed. Rank 0 makes what all members have in common and tells the others its
 * address; then each member enters its view, and a barrier follows before any may be used. Of
 * members on several nodes the first one of each node does so.
 *
 * Relaxed: only members hold references.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/rma/win.h"

static int check(const struct tm_win_making *m, struct tm_comm **comm) {
  int error = tm_get_comm(m->call, m->comm, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->inter) return tm_fail(*comm, m->call, MPI_ERR_COMM, "it is an intercommunicator");
  if (m->flavor == MPI_WIN_FLAVOR_SHARED && tm_comm_spans(*comm))
    return tm_fail(*comm, m->call, MPI_ERR_RMA_SHARED,
                   "ranks of several nodes share no memory (MPI_Comm_split_type() with "
                   "MPI_COMM_TYPE_SHARED)");
  if (m->bytes < 0) return tm_fail(*comm, m->call, MPI_ERR_SIZE, "size %td is negative", m->bytes);
  if (m->disp_unit <= 0 || m->disp_unit > INT32_MAX)
    return tm_fail(*comm, m->call, MPI_ERR_DISP, "displacement unit %td is not positive, or large",
                   m->disp_unit);
  return tm_check_info(*comm, m->call, m->info);
}

/* ---- what members have in common */

static void release_common(struct tm_win_common *common) {
  /* WC-1 acq_rel: all members' use of it; pairs WC-1 */
  if (mt_add_acq_rel(&common->refs, (uint32_t)-1) != 1) return;
  free(common->memory);
  free(common->far);
  free(common);
}

static size_t rounded(size_t bytes) { return (bytes + TM_LINE - 1) & -(size_t)TM_LINE; }

/* The members that share memory. */
static struct tm_comm *members_here(struct tm_comm *comm) {
  return tm_comm_spans(comm) ? comm->local_comm : comm;
}

/* By rank 0 of the members here. @return NULL: no memory; likewise for the others. */
static struct tm_win_common *share_common(struct tm_comm *comm, const char *call) {
  struct tm_comm *here = members_here(comm);
  struct tm_coll coll = tm_coll_begin(here, call);
  struct tm_win_common *common = NULL;
  size_t bytes = sizeof *common + (size_t)comm->size * sizeof *common->views;
  if (here->rank == 0 && (common = aligned_alloc(TM_LINE, rounded(bytes))) != NULL) {
    memset(common, 0, bytes);
    common->size = comm->size;
    common->refs = (uint32_t)here->size;
  }
  uintptr_t address = (uintptr_t)common;
  tm_bcast(&coll, &address, sizeof address, tm_type_of(MPI_BYTE), 0);
  return (struct tm_win_common *)address;
}

/* ---- views */

static void free_view(struct tm_win *win) {
  win->magic = 0;
  tm_win_regions_free(win);
  if (win->handler != NULL) tm_errhandler_release(win->handler);
  if (win->group != NULL) tm_group_release(win->group);
  tm_info_free(win->info);
  free(win->memory);
  tm_win_notes_free(win->notes);
  free(win);
}

/* A communicator for fences, which reports show by the name of the one the window was made from. */
static struct tm_comm *make_comm(struct tm_comm *parent, const char *call) {
  uint64_t context = tm_context_agree(parent, call);
  tm_group_hold(parent->group);
  struct tm_comm *comm = tm_comm_new(context, parent->group, NULL);
  if (comm == NULL) return NULL;
  tm_comm_inherit(comm, parent);
  snprintf(comm->name, sizeof comm->name, "a window of %.100s",
           parent->name[0] != '\0' ? parent->name : "a communicator");
  return comm;
}

/* @return a view without memory of its own; NULL: no memory. */
static struct tm_win *make_view(struct tm_comm *comm, const struct tm_win_making *m) {
  size_t marks = (size_t)comm->size, bytes = sizeof(struct tm_win) + 3 * marks;
  struct tm_win *win = aligned_alloc(TM_LINE, rounded(bytes));
  if (win == NULL) return NULL;
  memset(win, 0, bytes);
  win->posts = (uint8_t *)(win + 1);
  win->exposed = win->posts + marks;
  win->access = win->exposed + marks;
  win->magic = TM_WIN_MAGIC;
  win->exclusive_holder = -1;
  win->flavor = m->flavor;
  win->model = MPI_WIN_UNIFIED;
  win->disp_unit = (int)m->disp_unit;
  win->bytes = m->bytes;
  win->base = m->base;
  win->handler = tm_errhandler_fatal();
  win->comm = comm;
  win->group = comm->group;
  tm_group_hold(win->group);
  if (m->info != MPI_INFO_NULL) win->info = tm_info_copy(tm_info_of(m->info));
  return win;
}

/* ---- memory */

/* Zeroed, since programs that ran on other libraries may expect it, and in lines of its own.
 * *memory is to be freed. @return NULL: no memory. */
static char *allocate(size_t bytes, void **memory) {
  *memory = calloc(1, bytes + TM_LINE);
  return *memory != NULL ? (char *)rounded((uintptr_t)*memory) : NULL;
}

static bool wants_apart(const struct tm_win *win) {
  const struct tm_info_entry *entry =
      win->info != NULL ? tm_info_find(win->info, "alloc_shared_noncontig") : NULL;
  return entry != NULL && strcmp(entry->value, "true") == 0;
}

/* Lays members' memory out in one piece, or (apart) each from the beginning of a line. Members
 * without memory have no base. By rank 0, when the views have their sizes. */
static void lay_out(struct tm_win_common *common, bool apart) {
  size_t all = 0;
  for (int i = 0; i < common->size; i++) {
    size_t bytes = (size_t)common->views[i]->bytes;
    all += apart ? rounded(bytes) : bytes;
  }
  char *at = allocate(all, &common->memory);
  for (int i = 0; at != NULL && i < common->size; i++) {
    size_t bytes = (size_t)common->views[i]->bytes;
    if (bytes > 0) common->views[i]->base = at;
    at += apart ? rounded(bytes) : bytes;
  }
}

/* @return false: no memory. */
static bool give_memory(struct tm_win *win, const char *call) {
  if (win->flavor == MPI_WIN_FLAVOR_ALLOCATE)
    return (win->base = allocate((size_t)win->bytes, &win->memory)) != NULL;
  if (win->flavor != MPI_WIN_FLAVOR_SHARED) return true;
  tm_barrier(win->comm, call);
  if (win->comm->rank == 0) lay_out(win->common, wants_apart(win));
  tm_barrier(win->comm, call);
  return win->common->memory != NULL;
}

/* Members on several nodes tell each other where their memory is. */
static void exchange_members(struct tm_win *win, const char *call) {
  struct tm_comm *comm = win->comm;
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct tm_win_member own = {(uintptr_t)win, (uintptr_t)win->common, (uintptr_t)win->base,
                              win->bytes, win->disp_unit};
  struct tm_win_member *all = calloc((size_t)comm->size, sizeof *all);
  if (all == NULL) tm_panic("no memory for a window of %d ranks", comm->size);
  win->notes = tm_win_notes_new();
  tm_allgather(&coll, &(struct tm_part){&own, sizeof own, byte},
               &(struct tm_parts){.base = all, .count = sizeof own, .type = byte});
  if (comm->local_comm->rank == 0)
    win->common->far = all;
  else
    free(all);
}

/* ---- the calls */

static int make(const struct tm_win_making *m, struct tm_win **result) {
  struct tm_comm *parent;
  int error = check(m, &parent);
  if (error != MPI_SUCCESS) return error;
  struct tm_comm *comm = make_comm(parent, m->call);
  struct tm_win_common *common = comm != NULL ? share_common(comm, m->call) : NULL;
  struct tm_win *win = common != NULL ? make_view(comm, m) : NULL;
  /* The other members wait for this one, so it cannot return an error alone. */
  if (win == NULL) tm_panic("no memory for a window of %d ranks", parent->size);
  win->common = common;
  common->views[comm->rank] = win;
  if (!give_memory(win, m->call))
    tm_panic("no memory for a window of %td bytes (a smaller one)", m->bytes);
  if (tm_comm_spans(comm))
    exchange_members(win, m->call);
  else
    mt_add_relaxed(&comm->owner->windows_within, 1); /* relaxed: see there */
  tm_barrier(comm, m->call);
  *result = win;
  return MPI_SUCCESS;
}

int tm_call_win_create(const struct tm_win_making *m, MPI_Win *result) {
  struct tm_win *win;
  int error = make(m, &win);
  if (error == MPI_SUCCESS) *result = (MPI_Win)win;
  return error;
}

int tm_call_win_allocate(const struct tm_win_making *m, void *base, MPI_Win *result) {
  struct tm_win *win;
  int error = make(m, &win);
  if (error != MPI_SUCCESS) return error;
  memcpy(base, &win->base, sizeof win->base);
  *result = (MPI_Win)win;
  return MPI_SUCCESS;
}

/* @return why a window cannot be freed; NULL: it can. */
static const char *open_epoch(const struct tm_win *win) {
  if (win->locked > 0) return "the origin still holds a lock (MPI_Win_unlock())";
  if (win->all_locked) return "the origin still holds a lock (MPI_Win_unlock_all())";
  if (win->start != NULL) return "MPI_Win_start() has no MPI_Win_complete() yet";
  if (win->post != NULL) return "MPI_Win_post() has no MPI_Win_wait() yet";
  if (tm_win_fence_in_use(win)) return "there were accesses since the last MPI_Win_fence()";
  return NULL;
}

#pragma weak MPI_Win_free = PMPI_Win_free
int PMPI_Win_free(MPI_Win *handle) {
  static const char call[] = "MPI_Win_free";
  struct tm_win *win;
  int error = tm_get_win(call, *handle, &win);
  if (error != MPI_SUCCESS) return error;
  const char *open = open_epoch(win);
  if (open != NULL) return tm_win_sync_error(win, call, open);
  error = tm_attributes_delete(&win->attributes, *handle);
  if (error != MPI_SUCCESS) return tm_win_fail_code(win, call, error);
  struct tm_comm *comm = win->comm;
  tm_win_settle_all(win, call);
  if (!tm_comm_spans(comm))
    mt_add_relaxed(&comm->owner->windows_within, -1); /* relaxed: see there */
  tm_barrier(comm, call); /* the others' accesses and unlocks have returned */
  release_common(win->common);
  free_view(win);
  tm_comm_release(comm);
  *handle = MPI_WIN_NULL;
  return MPI_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of dynamic windows, and where other members' memory is. */
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/rma/win.h"

/* ---- lists; the ilock is held */

static bool overlaps(const struct tm_win_region *region, const char *low, size_t bytes) {
  return bytes > 0 && low < region->base + region->bytes && region->base < low + bytes;
}

/* @return false: it overlaps a region that is attached. */
static bool insert(struct tm_win *win, struct tm_win_region *region) {
  for (const struct tm_win_region *r = win->regions; r != NULL; r = r->next)
    if (overlaps(r, region->base, region->bytes)) return false;
  region->next = win->regions;
  win->regions = region;
  return true;
}

bool tm_win_is_attached(struct tm_win *win, const char *low, const char *high) {
  mti_lock(&win->ilock);
  bool found = true;
  while (found && low < high) { /* regions that touch are as good as one */
    found = false;
    for (const struct tm_win_region *r = win->regions; r != NULL && !found; r = r->next) {
      if (low < r->base || low >= r->base + r->bytes) continue;
      low = r->base + r->bytes;
      found = true;
    }
  }
  mti_unlock(&win->ilock);
  return found;
}

void tm_win_regions_free(struct tm_win *win) {
  for (struct tm_win_region *r = win->regions, *next; r != NULL; r = next) {
    next = r->next;
    free(r);
  }
  win->regions = NULL;
}

/* ---- the calls */

static int get_dynamic(const char *call, MPI_Win handle, struct tm_win **win) {
  int error = tm_get_win(call, handle, win);
  if (error != MPI_SUCCESS || (*win)->flavor == MPI_WIN_FLAVOR_DYNAMIC) return error;
  return tm_win_fail(*win, call, MPI_ERR_RMA_FLAVOR,
                     "the window was not made by MPI_Win_create_dynamic()");
}

#pragma weak MPI_Win_attach = PMPI_Win_attach
int PMPI_Win_attach(MPI_Win handle, void *base, MPI_Aint size) {
  static const char call[] = "MPI_Win_attach";
  struct tm_win *win;
  int error = get_dynamic(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  if (size < 0) return tm_win_fail(win, call, MPI_ERR_SIZE, "size %td is negative", size);
  struct tm_win_region *region = malloc(sizeof *region);
  if (region == NULL) return tm_win_fail_code(win, call, MPI_ERR_NO_MEM);
  *region = (struct tm_win_region){NULL, base, (size_t)size};
  mti_lock(&win->ilock);
  bool fits = insert(win, region);
  mti_unlock(&win->ilock);
  if (fits) return MPI_SUCCESS;
  free(region);
  return tm_win_fail(win, call, MPI_ERR_RMA_ATTACH, "some of the memory is attached already");
}

#pragma weak MPI_Win_detach = PMPI_Win_detach
int PMPI_Win_detach(MPI_Win handle, const void *base) {
  static const char call[] = "MPI_Win_detach";
  struct tm_win *win;
  int error = get_dynamic(call, handle, &win);
  if (error != MPI_SUCCESS) return error;
  mti_lock(&win->ilock);
  struct tm_win_region **link = &win->regions;
  while (*link != NULL && (*link)->base != base) link = &(*link)->next;
  struct tm_win_region *region = *link;
  if (region != NULL) *link = region->next;
  mti_unlock(&win->ilock);
  free(region);
  if (region != NULL) return MPI_SUCCESS;
  return tm_win_fail(win, call, MPI_ERR_RMA_ATTACH, "no memory at this address is attached");
}

/* ---- other members' memory, which every rank of the node can reach */

static bool has_memory(const struct tm_win_common *common, int rank) {
  const struct tm_win *view = common->views[rank];
  return view != NULL ? view->bytes > 0 : common->far[rank].bytes > 0;
}

/* @return the view that the query means: of MPI_PROC_NULL, the first that has memory; NULL: none,
 * or its memory is on another node. The next member's would be other memory than ranks of that node
 * get. */
static const struct tm_win *queried(const struct tm_win *win, int rank) {
  const struct tm_win_common *common = win->common;
  if (rank != MPI_PROC_NULL) return common->views[rank];
  for (int i = 0; i < common->size; i++)
    if (has_memory(common, i)) return common->views[i];
  return NULL;
}

int tm_call_win_query(const char *call, MPI_Win handle, int rank, MPI_Aint *bytes,
                      MPI_Aint *disp_unit, void *base) {
  struct tm_win *win;
  int error = tm_get_win(call, handle, &win);
  if (error == MPI_SUCCESS) error = tm_win_check_target(win, call, rank);
  if (error != MPI_SUCCESS) return error;
  if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
    return tm_win_fail(win, call, MPI_ERR_RMA_FLAVOR, "a dynamic window has no base");
  const struct tm_win *view = queried(win, rank);
  void *at = view != NULL ? view->base : NULL;
  *bytes = view != NULL ? view->bytes : 0;
  *disp_unit = view != NULL ? view->disp_unit : win->disp_unit;
  memcpy(base, &at, sizeof at);
  return MPI_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See blas.h. Another BLAS than OpenBLAS, BLIS and MKL is left alone. */
#include "teams/blas.h"

#include <stdbool.h>
#include <stddef.h>

#include "teams/teams.h"

static bool is_found(const struct mt_blas_size *size) {
  return size->get != NULL || size->wide_get != NULL;
}

static bool find_pair(void **get, const char *get_name, void **set, const char *set_name,
                      const void *caller) {
  *set = mt_team_find_any(set_name, caller);
  *get = *set != NULL ? mt_team_find_any(get_name, caller) : NULL;
  return *get != NULL;
}

/* BLIS and MKL have the same names of functions in each build. */
static void find(struct mt_blas *blas, const void *caller) {
  struct mt_blas_size *size = &blas->size;
  void **get = (void **)&size->get, **set = (void **)&size->set;
  if (find_pair(get, blas->get_name, set, blas->set_name, caller)) return;
  if (find_pair(get, "MKL_Get_Max_Threads", set, "MKL_Set_Num_Threads", caller)) return;
  find_pair((void **)&size->wide_get, "bli_thread_get_num_threads", (void **)&size->wide_set,
            "bli_thread_set_num_threads", caller);
}

static int get_size(const struct mt_blas_size *size) {
  return size->get != NULL ? size->get() : (int)size->wide_get();
}

static void set_size(const struct mt_blas_size *size, int threads) {
  if (size->get != NULL)
    size->set(threads);
  else
    size->wide_set(threads);
}

/* Only while no other team works, because a call that is under way keeps its threads. BLIS tells -1
 * where nobody gave it a number; then it uses one thread. */
void mt_blas_begin(struct mt_blas *blas, const void *caller) {
  mt_team_begin();
  unsigned granted = mt_team_grant();
  mt_ilock_lock(&blas->lock);
  if (!is_found(&blas->size)) find(blas, caller);
  if (is_found(&blas->size) && blas->own == 0) blas->own = blas->now = get_size(&blas->size);
  int size = blas->own > 0 && granted < (unsigned)blas->own ? (int)granted : blas->own;
  bool set = size != blas->now && mt_team_is_alone();
  if (set) blas->now = size;
  mt_ilock_unlock(&blas->lock);
  if (set) set_size(&blas->size, size);
}

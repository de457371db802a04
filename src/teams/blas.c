/* SPDX-License-Identifier: Apache-2.0 */
/* See blas.h. Another BLAS than OpenBLAS is left alone. */
#include "teams/blas.h"

#include <stdbool.h>
#include <stddef.h>

#include "teams/teams.h"

/* Only while no other team works, because a call that is under way keeps its threads. */
void mt_blas_begin(struct mt_blas *blas, const void *caller) {
  mt_team_begin();
  int granted = (int)mt_team_grant();
  mt_ilock_lock(&blas->lock);
  if (blas->get == NULL) {
    *(void **)&blas->set = mt_team_find_any(blas->set_name, caller);
    if (blas->set != NULL) *(void **)&blas->get = mt_team_find_any(blas->get_name, caller);
  }
  bool known = blas->get != NULL;
  if (known && blas->own == 0) blas->own = blas->now = blas->get();
  int size = granted < blas->own ? granted : blas->own;
  bool set = known && size != blas->now && mt_team_is_alone();
  if (set) blas->now = size;
  mt_ilock_unlock(&blas->lock);
  if (set) blas->set(size);
}

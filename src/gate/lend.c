/* SPDX-License-Identifier: Apache-2.0 */
/* A seeded run keeps the permit: no seed says when something comes from outside. */
#include "gate/lend.h"

#include <errno.h>

#include "gate/seed.h"

struct gt_thread *gt_lend(bool waits) {
  struct gt_thread *me = gt_enter();
  if (me == NULL || !waits || gt_seeded) return NULL;
  if (gt_is_back(me)) return me; /* it has none to lend, and needs none yet */
  gt_point(me, "call");
  /* GT-17 seq_cst: before the look for eager threads; pairs GT-18 */
  mt_store_seq_cst(&me->lent, 1);
  return me;
}

void gt_take_back(struct gt_thread **me) {
  if (*me == NULL) return;
  int saved = errno;
  /* Relaxed: a thread that misses it takes the permit, and the caller's next call tells. */
  mt_store_relaxed(&(*me)->lent, 0);
  /* relaxed: a hint */
  if (mt_load_relaxed(&(*me)->open) == 0) gt_attend(*me, "call");
  errno = saved;
}

void gt_give(struct gt_thread *me) {
  gt_lock(me);
  gt_grant();
  gt_unlock(me);
}

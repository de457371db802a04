/* SPDX-License-Identifier: Apache-2.0 */
/* What alternatives keep with a VP. */
#include "alternatives/spin/vp_state.h"

#include <stdlib.h>

#include "core/vp/alternative.h"

bool mt_alternative_vp_begin(struct mt_vp *vp) {
  vp->alternative = calloc(1, sizeof *vp->alternative);
  return vp->alternative != NULL;
}

void mt_alternative_vp_end(struct mt_vp *vp) {
  if (vp->alternative != NULL) mt_spin_node_end(&vp->alternative->spin);
  free(vp->alternative);
  vp->alternative = NULL;
}

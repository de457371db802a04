/* SPDX-License-Identifier: Apache-2.0 */
/* No alternative unless one is chosen; what a build without alternatives does in their place. */
#include "core/vp/alternative.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "mltp/alternatives.h"

const struct mt_alternative *mt_alternative;
struct mt_cache_limits mt_cache_limits = {MT_CACHE_MAX, MT_CACHE_MAX, true};

#if !MLTP_ALTERNATIVES
int mt_alternative_init(void) {
  const char *option = mt_options.sched != MT_SCHED_DEFAULT        ? "MLTP_SCHED"
                       : mt_options.lock >= MLTP_LOCK_ALT_EXCHANGE ? "MLTP_LOCK"
                       : mt_options.probe != MT_PROBE_EAGER        ? "MLTP_PROBE"
                                                                   : NULL;
  if (option == NULL) return 0;
  mt_message(
      "%s: this libmltp was built without alternatives (unset %s, or build it with "
      "-DMLTP_ALTERNATIVES=ON)",
      option, option);
  return EINVAL;
}

bool mt_alternative_vp_begin(struct mt_vp *vp) {
  (void)vp;
  return true;
}

void mt_alternative_vp_end(struct mt_vp *vp) { (void)vp; }
#endif

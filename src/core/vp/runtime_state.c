/* SPDX-License-Identifier: Apache-2.0 */
/* The one runtime of the process. */
#include "core/vp/runtime_state.h"

struct mt_runtime mt_rt;

const char *mt_not_running(void) {
  return mt_rt.forked
             ? "the runtime is not running in this child of fork() (call mltp_init() first)"
             : "the runtime is not running (call mltp_init() first)";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of this process. */
#include "core/vp/tuned.h"

#include "base/options.h"

struct mt_tuning mt_tuning;

void mt_tuning_init(void) {
  mt_tuning_assume(&mt_tuning);
  mt_tuning.value[MT_IDLE_SPIN_NS] = (uint64_t)mt_options.spin_us * 1000;
  mt_tuning.value[MT_LOCK_SPIN_NS] = (uint64_t)mt_options.lock_spin_ns;
}

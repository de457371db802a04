/* SPDX-License-Identifier: Apache-2.0 */
/* The heavy half of the asymmetric fence, and the choice of its kind. */
#include "base/fence.h"

#include "os/os.h"

bool mt_fence_asymmetric;

void mt_fence_init(bool allow_membarrier) {
  mt_fence_asymmetric = allow_membarrier && os_membarrier_register();
}

void mt_fence_heavy(void) {
  if (mt_fence_asymmetric)
    os_membarrier();
  else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

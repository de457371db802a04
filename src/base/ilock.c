/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a lock that is held for a moment only. */
#include "base/ilock.h"

#include "os/os.h"

#if MLTP_CHECKED
__thread char *mt_ilocks __attribute__((tls_model("initial-exec")));
#endif

enum { PAUSES = 64, YIELDS = 64, NAP_NS = 50000 };

bool mt_relax(unsigned *round) {
  unsigned now = (*round)++;
  if (now < PAUSES)
    mt_arch_pause();
  else if (now < PAUSES + YIELDS)
    os_yield();
  else /* yielding does not get the holder its CPU (other priorities, other policies) */
    os_nap(NAP_NS);
  return now >= PAUSES;
}

bool mt_ilock_take_first(mt_ilock *lock) {
  mt_bias_settle();
  return mt_ilock_take(lock);
}

void mt_ilock_lock_slow(mt_ilock *lock) {
  unsigned round = 0;
  do mt_relax(&round);
  while (!mt_ilock_trylock(lock));
}

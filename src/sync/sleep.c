/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping: waiting, with a deadline, in a queue nobody else knows. */
#include <errno.h>

#include "core/det/det.h"
#include "core/wait/park.h"
#include "mltp/time.h"

/* A waiter that reads the time again and again lets others run in deterministic mode,
 * and lets time pass. */
uint64_t mltp_now(void) {
  if (mt_likely(!mt_det_on)) return os_now();
  mt_det_preempt("mltp_now");
  return mt_det_now();
}

uint64_t mltp_after(uint64_t ns) {
  uint64_t now = mt_now();
  return ns < MLTP_NEVER - now ? now + ns : MLTP_NEVER;
}

int mltp_sleep_until(uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_sleep");
  if (self == NULL) return EPERM;
  mltp_waitq_t nobody = {0};
  struct mt_timer timer;
  mt_timer_arm_to_sleep(&timer, self, deadline);
  mt_ilock_lock(&nobody.ilock_);
  int error = mt_timer_disarm(&timer, mt_wait(self, &nobody, false, MT_WHY_SLEEP, &timer));
  return error == ETIMEDOUT ? 0 : error;
}

int mltp_sleep(uint64_t ns) { return mltp_sleep_until(mltp_after(ns)); }

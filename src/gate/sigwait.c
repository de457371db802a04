/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for signals: others may run meanwhile. In a seeded run the thread keeps its permit until
 * the monitor takes it, since no seed says when a signal comes. */
#include <signal.h>

#include "gate/next.h"
#include "gate/seed.h"

/* @return the calling thread if it gives up its permit, or NULL. */
static struct gt_thread *leaver(void) {
  struct gt_thread *me = gt_enter();
  return gt_seeded ? NULL : me;
}

GT_EXPORT int sigwait(const sigset_t *restrict set, int *restrict signo) {
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = leaver();
  if (away != NULL) gt_leave(away);
  return gt_next.sigwait(set, signo);
}

GT_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = leaver();
  if (away != NULL) gt_leave(away);
  return gt_next.sigwaitinfo(set, info);
}

GT_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                           const struct timespec *restrict time) {
  struct gt_thread *away __attribute__((cleanup(gt_returned))) = leaver();
  if (away != NULL) gt_leave(away);
  return gt_next.sigtimedwait(set, info, time);
}

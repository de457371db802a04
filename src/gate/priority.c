/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time priorities, by which waiters are woken. A thread keeps what the kernel said of it,
 * which spares each wait a system call. It asks again after any thread of the program has set a
 * priority, and after some waits, since other processes may set one.
 *
 * Relaxed: a program that sets another thread's priority orders what the thread does then itself.
 */
#include "gate/priority.h"

#include <sched.h>

#include "gate/next.h"
#include "os/os.h"

enum { ASK_AGAIN = 256 /* waits */ };

static uint32_t changes; /* [atomic] calls that have set a priority */

void gt_priority_refresh(struct gt_thread *me) {
  uint32_t seen = mt_load_relaxed(&changes);
  bool known = me->asked_for != 0 && me->asked_for <= ASK_AGAIN && me->priority_seen == seen;
  if (known) {
    me->asked_for++;
    return;
  }
  me->priority = gt_seeded ? 0 : os_priority();
  me->priority_seen = seen;
  me->asked_for = 1;
}

static int changed(int result) {
  mt_add_relaxed(&changes, 1);
  return result;
}

GT_EXPORT int sched_setscheduler(pid_t tid, int policy, const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_policy(tid, policy, parameters));
}

GT_EXPORT int sched_setparam(pid_t tid, const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_parameters(tid, parameters));
}

GT_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                    const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_thread_policy(thread, policy, parameters));
}

GT_EXPORT int pthread_setschedprio(pthread_t thread, int priority) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_thread_priority(thread, priority));
}
